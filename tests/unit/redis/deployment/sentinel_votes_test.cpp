// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/redirect.h"

#include <doctest/doctest.h>

namespace dlock::redis::sentinel_votes_test {
namespace {

const Endpoint kA{"10.0.0.1", 6379, ""};
const Endpoint kB{"10.0.0.2", 6379, ""};

Endpoint sentinel(std::uint16_t number) { return {"sentinel", static_cast<std::uint16_t>(26379 + number), ""}; }

SentinelVote names(std::uint16_t number, const Endpoint& master) {
  return {sentinel(number), std::optional<Endpoint>(master)};
}
SentinelVote knows_none(std::uint16_t number) { return {sentinel(number), std::optional<Endpoint>()}; }
SentinelVote failed(std::uint16_t number, ErrorCode code, std::string message) {
  return {sentinel(number), Error{code, std::move(message), "do this"}};
}

bool says(const Error& error, std::string_view text) { return error.message.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("the master is the address that more than half of all sentinels name") {
  CHECK(elected({names(0, kA)}, 1) == kA);
  CHECK(elected({names(0, kA), names(1, kA)}, 3) == kA);
  CHECK(elected({names(0, kB), names(1, kA), names(2, kA)}, 3) == kA);
}

TEST_CASE("half of the sentinels, or one that is quick, elects nobody") {
  CHECK_FALSE(elected({names(0, kA)}, 3));
  CHECK_FALSE(elected({names(0, kA), names(1, kA)}, 4));
  CHECK_FALSE(elected({names(0, kA), names(1, kB), knows_none(2)}, 3));
  CHECK_FALSE(elected({knows_none(0), knows_none(1), knows_none(2)}, 3));
  CHECK_FALSE(elected({}, 1));
}

TEST_CASE("without a majority each sentinel's reason is told") {
  const Error error = not_elected(
      {names(0, kA), names(1, kB), failed(2, ErrorCode::kUnavailable, "sentinel:26381: connection refused")}, 3, "mym");
  CHECK(error.code == ErrorCode::kUnavailable);
  CHECK(says(error, "'mym'"));
  CHECK(says(error, "sentinel:26379 names 10.0.0.1:6379"));
  CHECK(says(error, "sentinel:26380 names 10.0.0.2:6379"));
  CHECK(says(error, "sentinel:26381: connection refused"));
}

TEST_CASE("a name that most sentinels do not know is wrong, one that few know may be new") {
  CHECK(not_elected({knows_none(0), knows_none(1), names(2, kA)}, 3, "mym").code == ErrorCode::kMisconfigured);
  CHECK(not_elected({knows_none(0)}, 1, "mym").code == ErrorCode::kMisconfigured);
  CHECK(not_elected({knows_none(0), names(1, kA), failed(2, ErrorCode::kUnavailable, "away")}, 3, "mym").code ==
        ErrorCode::kUnavailable);
}

TEST_CASE("what most sentinels refuse is the error, with its advice") {
  const Error denied = not_elected(
      {failed(0, ErrorCode::kDenied, "NOAUTH"), failed(1, ErrorCode::kDenied, "NOAUTH"), names(2, kA)}, 3, "mym");
  CHECK(denied.code == ErrorCode::kDenied);
  CHECK(denied.next == "do this");
  const Error plain = not_elected({failed(0, ErrorCode::kMisconfigured, "no sentinel")}, 1, "mym");
  CHECK(plain.code == ErrorCode::kMisconfigured);
  CHECK(plain.next == "do this");
}

}  // namespace dlock::redis::sentinel_votes_test
