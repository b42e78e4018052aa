// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/errors.h"

#include <doctest/doctest.h>

namespace dlock::redis::errors_test {
namespace {

Reply error_reply(std::string text) { return {Reply::Kind::kError, std::move(text), 0, {}}; }

}  // namespace

TEST_CASE("each word of the table means the same to every deployment, and only what may pass is an outage") {
  for (const ErrorWord& row : error_words()) {
    CAPTURE(row.word);
    const Reply reply = error_reply(std::string(row.word) + " said by a server");
    const Error error = *error_of(reply, "redis://h");
    CHECK(error.code == row.code);
    if (error.code == ErrorCode::kUnavailable) CHECK(error.outage == Outage::kRefused);
    CHECK(reply_error(reply).code == row.code);
    CHECK(is_for_later(reply) == (row.cure == Cure::kLater));
    CHECK((row.code == ErrorCode::kUnavailable) == (row.cure != Cure::kNone));
    CHECK(error_word(error_reply("ERR " + std::string(row.word))) == nullptr);
  }
  CHECK(error_of(error_reply("ERR unknown command 'EVAL'"), "redis://h")->code == ErrorCode::kUnsupported);
  CHECK(error_of(error_reply("ERR something new"), "redis://h")->code == ErrorCode::kUnavailable);
}

}  // namespace dlock::redis::errors_test
