// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/request_record.h"

#include <doctest/doctest.h>

namespace request_record_test {

using namespace dlock;
using State = RequestRecord::State;

namespace {

const Owner kOwner = *Owner::parse("0123456789abcdef0123456789abcdef");
const Owner kOther = *Owner::parse("00000000000000000000000000000000");
const LockName kId = *LockName::parse("order-1");

StockRequest request(Quantity quantity) { return {*LockName::parse("phone"), kId, quantity}; }

RequestRecord record(State state, Quantity refunded = 0) {
  return {state, 5, {{2, 3}, {0, 2}}, kOwner.text(), refunded};
}

StockRefund refund(std::optional<Quantity> quantity = {}, const char* of = nullptr) {
  StockRefund made{*LockName::parse("phone"), kId, quantity};
  if (of) made.refund_id = *LockName::parse(of);
  return made;
}

template <typename T>
ErrorCode code_of(const Result<T>& answer) {
  return answer ? ErrorCode::kInternal : answer.error().code;
}

}  // namespace

TEST_CASE("A record is written and read back") {
  CHECK(record_text(record(State::kTaken)) == "T 5 2:3,0:2 0123456789abcdef0123456789abcdef 0");
  CHECK(record_text({State::kRefused, 0, {}, {}, 0}) == "X 0 - - 0");
  for (const State state : {State::kReserved, State::kTaken, State::kRefunded, State::kRefused, State::kAdded}) {
    const auto back = parse_record(record_text(record(state, 4)));
    REQUIRE(back);
    CHECK(record_text(*back) == record_text(record(state, 4)));
  }
}

TEST_CASE("What is no record is not taken for one") {
  for (const char* bad :
       {"", "T", "T 5", "Z 5 2:5 - 0", "T x 2:5 - 0", "T 5 2-5 - 0", "T 5 2:5 me 0", "T 5 2:5 - x", "T 5 2:5 - 0 more",
        "TT 5 2:5 - 0", "G 5 2:5 - 1 72:x", "G 5 2:5 - 1 zz:1", "G 5 2:5 - 1 :1"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_record(bad));
  }
}

TEST_CASE("A request that is not known yet goes on") {
  const auto answer = answer_again(nullptr, request(5), nullptr);
  REQUIRE(answer);
  CHECK_FALSE(answer->has_value());
}

TEST_CASE("A request that was served has its answer again, for a taker and for a command") {
  const RequestRecord taken = record(State::kTaken);
  for (const Owner* owner : {static_cast<const Owner*>(nullptr), &kOwner, &kOther}) {
    const auto answer = answer_again(&taken, request(5), owner);
    REQUIRE(answer);
    REQUIRE(answer->has_value());
    const auto& again = std::get<StockTaken>(**answer);
    CHECK(again.repeated);
    CHECK(again.parts == taken.parts);
  }
}

TEST_CASE("Of a reservation its owner hears as before, anybody else that it is in progress") {
  const RequestRecord reserved = record(State::kReserved);
  const auto ours = answer_again(&reserved, request(5), &kOwner);
  CHECK_FALSE(std::get<StockTaken>(**ours).repeated);
  CHECK(std::holds_alternative<StockInProgress>(**answer_again(&reserved, request(5), &kOther)));
  CHECK(std::holds_alternative<StockInProgress>(**answer_again(&reserved, request(5), nullptr)));
}

TEST_CASE("Who asks again for what was refunded in part is told what is still sold, and not to order anew") {
  for (const Quantity refunded : {4, 5}) {
    const RequestRecord before = record(State::kRefunded, refunded);
    const auto again = answer_again(&before, request(5), nullptr);
    REQUIRE_FALSE(again);
    CHECK(again.error().code == ErrorCode::kLost);
    CHECK((again.error().next.find("order again") != std::string::npos) == (refunded == 5));
  }
}

TEST_CASE("What a request id is refused for") {
  struct Row {
    State state;
    Quantity quantity;
    ErrorCode code;
  };
  const Row rows[] = {
      {State::kTaken, 4, ErrorCode::kConflict}, {State::kReserved, 6, ErrorCode::kConflict},
      {State::kRefunded, 5, ErrorCode::kLost},  {State::kRefunded, 4, ErrorCode::kConflict},
      {State::kRefused, 5, ErrorCode::kLost},   {State::kRefused, 1, ErrorCode::kLost},
      {State::kAdded, 5, ErrorCode::kConflict},
  };
  for (const Row& row : rows) {
    CAPTURE(static_cast<char>(row.state));
    CAPTURE(row.quantity);
    const RequestRecord before = record(row.state, row.state == State::kRefunded ? 5 : 0);
    CHECK(code_of(answer_again(&before, request(row.quantity), nullptr)) == row.code);
    CHECK(code_of(answer_again(&before, request(row.quantity), &kOther)) == row.code);
  }
}

TEST_CASE("A refund gives back everything, or the quantity that is named, and is remembered") {
  const RequestRecord taken = record(State::kTaken);
  const auto all = plan_refund(&taken, refund());
  REQUIRE(all);
  CHECK(all->back == taken.parts);
  CHECK(all->answer == taken.parts);
  CHECK(all->record.state == State::kRefunded);
  CHECK(all->record.refunded == 5);
  CHECK(all->record.owner == kOwner.text());
  const auto some = plan_refund(&taken, refund(4));
  REQUIRE(some);
  CHECK(some->back == StockParts{{2, 3}, {0, 1}});
  CHECK(some->record.refunded == 4);
}

TEST_CASE("The same refund again gives nothing back, and says what it said") {
  const RequestRecord refunded = record(State::kRefunded, 4);
  const auto again = plan_refund(&refunded, refund(4));
  REQUIRE(again);
  CHECK(again->back.empty());
  CHECK(sum_of(again->answer) == 4);
  CHECK(record_text(again->record) == record_text(refunded));
}

TEST_CASE("Refunds with ids of their own are written, read back, and each given once") {
  RequestRecord now = record(State::kTaken);
  for (const auto& [of, quantity] : {std::pair{"r", 1}, std::pair{"r 2", 3}}) {
    const auto plan = plan_refund(&now, refund(quantity, of));
    REQUIRE(plan);
    CHECK(plan->back == plan->answer);
    now = *parse_record(record_text(plan->record));
  }
  CHECK(record_text(now) == "G 5 2:3,0:2 0123456789abcdef0123456789abcdef 4 72:1,722032:3");
  const auto again = plan_refund(&now, refund(3, "r 2"));
  REQUIRE(again);
  CHECK(again->back.empty());
  CHECK(again->answer == StockParts{{2, 2}, {0, 1}});
  CHECK(record_text(again->record) == record_text(now));
  CHECK(code_of(plan_refund(&now, refund(2, "r"))) == ErrorCode::kConflict);
  CHECK(code_of(plan_refund(&now, refund({}, "r"))) == ErrorCode::kConflict);
  CHECK(code_of(plan_refund(&now, refund(2, "r3"))) == ErrorCode::kConflict);
  const auto rest = plan_refund(&now, refund());
  REQUIRE(rest);
  CHECK(rest->back == StockParts{{0, 1}});
  CHECK(record_text(rest->record).ends_with(" 5 72:1,722032:3,-:1"));
}

TEST_CASE("A record of an older dlock, refunded in part, goes on with ids") {
  const auto old = parse_record("G 5 2:3,0:2 - 2");
  REQUIRE(old);
  const auto plan = plan_refund(&*old, refund(1, "r"));
  REQUIRE(plan);
  CHECK(plan->back == StockParts{{2, 1}});
  CHECK(record_text(plan->record) == "G 5 2:3,0:2 - 3 -:2,72:1");
}

TEST_CASE("A refund of what was never taken is refused, or closes the id if it is to come before its take") {
  CHECK(code_of(plan_refund(nullptr, refund())) == ErrorCode::kLost);
  StockRefund closes = refund();
  closes.before_take = true;
  const auto first = plan_refund(nullptr, closes);
  REQUIRE(first);
  CHECK(first->back.empty());
  CHECK(first->record.state == State::kRefused);
  CHECK(code_of(plan_refund(&first->record, refund(3))) == ErrorCode::kLost);
  const auto again = plan_refund(&first->record, closes);
  REQUIRE(again);
  CHECK(again->record.state == State::kRefused);
}

TEST_CASE("What cannot be refunded") {
  struct Row {
    State state;
    std::optional<Quantity> quantity;
    ErrorCode code;
  };
  const Row rows[] = {
      {State::kTaken, 6, ErrorCode::kConflict},     {State::kRefunded, 3, ErrorCode::kConflict},
      {State::kRefunded, {}, ErrorCode::kConflict}, {State::kReserved, {}, ErrorCode::kBusy},
      {State::kAdded, {}, ErrorCode::kConflict},
  };
  for (const Row& row : rows) {
    CAPTURE(static_cast<char>(row.state));
    const RequestRecord before = record(row.state, 4);
    const auto plan = plan_refund(&before, refund(row.quantity));
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == row.code);
  }
}

}  // namespace request_record_test
