// SPDX-License-Identifier: Apache-2.0
#include "cmd/batch/step_line.h"

#include <doctest/doctest.h>

#include <vector>

namespace step_line_test {

using namespace dlock;

namespace {

using Kind = StockStep::Kind;

LockName name(const char* text) { return *LockName::parse(text); }

std::string text_of(const StockStep& step, const Result<StepAnswer>& answer) {
  std::string out;
  put_answer(out, step, answer);
  return out;
}

std::string json_of(const StockStep& step, const Result<StepAnswer>& answer) {
  std::string out;
  put_json_answer(out, step, answer);
  return out;
}

constexpr char kHead[] = R"({"schema":"dlock.stock.batch/1",)";

}  // namespace

TEST_CASE("batch: a line is a step") {
  struct Row {
    const char* line;
    Kind kind;
    std::optional<Quantity> quantity;
  };
  for (const Row& row : {
           Row{"take a", Kind::kTake, {}},
           Row{"  take  a  2 ", Kind::kTake, 2},
           Row{"refund a", Kind::kRefund, {}},
           Row{"refund a 3", Kind::kRefund, 3},
           Row{"add a 9007199254740992", Kind::kAdd, kMostItems},
       }) {
    INFO(row.line);
    const auto step = parse_step(row.line);
    REQUIRE(step);
    CHECK(step->kind == row.kind);
    CHECK(step->id == name("a"));
    CHECK(step->quantity == row.quantity);
  }
}

TEST_CASE("batch: a refund may have an id of its own") {
  const auto step = parse_step("refund a 3 r-1");
  REQUIRE(step);
  CHECK(step->quantity == 3);
  CHECK(step->refund_id == name("r-1"));
  CHECK_FALSE(parse_step("refund a 3 r-1 more"));
}

TEST_CASE("batch: a line that is no step says what is wrong with it") {
  struct Row {
    const char* line;
    const char* why;
  };
  for (const Row& row : {
           Row{"", "the line is empty"},
           Row{"   ", "the line is empty"},
           Row{"sell a", "unknown step 'sell'"},
           Row{"take", "'take' needs a request id"},
           Row{"take a 0", "the quantity"},
           Row{"take a -1", "the quantity"},
           Row{"take a 2x", "the quantity"},
           Row{"take a 9007199254740993", "the quantity"},
           Row{"take a 1 2", "unexpected words after the quantity '1'"},
           Row{"take a\r", "the id"},
           Row{"confirm a", "unknown step 'confirm'"},
           Row{"add a", "add needs a quantity"},
       }) {
    INFO(row.line);
    const auto step = parse_step(row.line);
    REQUIRE_FALSE(step);
    CHECK(step.error().code == ErrorCode::kInvalid);
    INFO(step.error().message);
    CHECK(step.error().message.find(row.why) != std::string::npos);
  }
}

TEST_CASE("batch: what is answered, in words and as an object") {
  const StockStep take{.id = name("a")};
  const Error error{ErrorCode::kConflict, "it was \"sold\"", "refund it"};
  struct Row {
    const StockStep& step;
    Result<StepAnswer> answer;
    const char* words;
    const char* object;
  };
  for (
      const Row& row : std::vector<Row>{
          {take, StepAnswer(StockTaken{{{3, 1}, {7, 2}}, {}, false}), "a ok 3:1 7:2\n",
           R"("id":"a","step":"take","answer":"ok","qty":3,"parts":[{"segment":3,"qty":1},{"segment":7,"qty":2}]})"},
          {take, StepAnswer(StockTaken{{{3, 1}}, {}, true}), "a repeated 3:1\n",
           R"("id":"a","step":"take","answer":"repeated","qty":1,"parts":[{"segment":3,"qty":1}]})"},
          {take, StepAnswer(StockShort{2, 5}), "a short 2 5\n",
           R"("id":"a","step":"take","answer":"short","available":2,"reserved":5})"},
          {take, error, "a error conflict it was \"sold\"\n",
           R"("id":"a","step":"take","answer":"error","error":"conflict","message":"it was \"sold\"","next":"refund it"})"},
      }) {
    CHECK(text_of(row.step, row.answer) == row.words);
    CHECK(json_of(row.step, row.answer) == kHead + std::string(row.object) + "\n");
  }
  CHECK(text_of(take, StepAnswer(StockInProgress())).starts_with("a error busy "));
  std::string refused;
  put_refusal(refused, 7, {ErrorCode::kInvalid, "the line is empty"});
  put_json_refusal(refused, 8, {ErrorCode::kInvalid, "no"});
  CHECK(refused == "? error invalid line 7: the line is empty\n" + std::string(kHead) +
                       R"("id":null,"line":8,"answer":"error","error":"invalid","message":"no","next":null})"
                       "\n");
}

TEST_CASE("batch: what stood in a line steers no terminal, and fills none") {
  const std::string line = "take a \x1b]0;owned\x07" + std::string(4000, 'x');
  for (const std::string& one : {line, "\x1b[2Jsell a " + std::string("1")}) {
    const auto step = parse_step(one);
    REQUIRE_FALSE(step);
    std::string refused;
    put_refusal(refused, 1, step.error());
    put_json_refusal(refused, 1, step.error());
    put_answer(refused, {.id = name("a")}, step.error());
    CHECK(refused.find('\x1b') == std::string::npos);
    CHECK(refused.find('\x07') == std::string::npos);
    CHECK(refused.size() < 2000);
  }
}

}  // namespace step_line_test
