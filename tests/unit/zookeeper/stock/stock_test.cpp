// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "backends/zookeeper/stock/stock_nodes.h"
#include "backends/zookeeper/stock/zookeeper_stock.h"
#include "tests/unit/zookeeper/stock/stock_world.h"

namespace dlock::zookeeper::stock_test {
namespace {

using namespace std::chrono_literals;
using namespace testing;

template <typename T>
ErrorCode code_of(const Result<T>& result) {
  return result ? ErrorCode::kInternal : result.error().code;
}

/// A call, what must be there before it, and what it leads to.
struct Case {
  const char* name;
  std::function<void(World&, Stock&)> before;
  std::function<Result<void>(World&, Stock&)> call;
  std::function<void(World&)> after;
};

template <typename T>
Result<void> plain(const Result<T>& result) {
  return result ? Result<void>() : result.error();
}

void reserved(World& w, Stock& stock) { REQUIRE(stock.reserve(order("a", 5), kOwner, 60s, 0, w.limit())); }
void taken(World& w, Stock& stock) { REQUIRE(stock.take(order("a", 5), 0, w.limit())); }
void nothing(World& /*w*/, Stock& /*stock*/) {}

/// What is refused stands between what is not.
Result<void> serve_some(World& w, Stock& stock) {
  const std::vector<StockStep> steps{{.kind = StockStep::Kind::kRefund, .id = id("a")},
                                     {.id = id("b"), .quantity = 100},
                                     {.id = id("a"), .quantity = 5},
                                     {.id = id("c"), .quantity = 2},
                                     {.id = id("c"), .quantity = 3},
                                     {.kind = StockStep::Kind::kAdd, .id = id("truck"), .quantity = 4}};
  const auto answers = stock.serve(kPhone, steps, w.limit());
  REQUIRE(answers.size() == steps.size());
  for (const auto& answer : answers) {
    if (code_of(answer) == ErrorCode::kUnavailable) return answer.error();
  }
  REQUIRE(answers[1]);
  CHECK(std::holds_alternative<StockShort>(*answers[1]));
  CHECK(code_of(answers[2]) == ErrorCode::kLost);
  CHECK(code_of(answers[4]) == ErrorCode::kConflict);
  for (const std::size_t fine : {0, 3, 5}) {
    if (!answers[fine]) return answers[fine].error();
  }
  return {};
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> all{
      {"take", nothing, [](World& w, Stock& s) { return plain(s.take(order("a", 5), 0, w.limit())); },
       [](World& w) {
         CHECK(w.state().taken == 5);
         CHECK(w.state().total() == 4);
       }},
      {"reserve", nothing,
       [](World& w, Stock& s) { return plain(s.reserve(order("a", 5), kOwner, 60s, 0, w.limit())); },
       [](World& w) {
         CHECK(w.state().reserved() == 5);
         CHECK(w.state().open == 1);
       }},
      {"extend", reserved, [](World& w, Stock& s) { return s.extend(order("a", 5), kOwner, 60s, w.limit()); },
       [](World& w) { CHECK(w.state().reserved() == 5); }},
      {"confirm", reserved, [](World& w, Stock& s) { return s.confirm(order("a", 5), kOwner, w.limit()); },
       [](World& w) {
         CHECK(w.state().taken == 5);
         CHECK(w.state().open == 0);
         CHECK(w.state().reserved() == 0);
       }},
      {"cancel", reserved, [](World& w, Stock& s) { return s.cancel(order("a", 5), kOwner, w.limit()); },
       [](World& w) {
         CHECK(w.quantities() == Quantities{3, 3, 3});
         CHECK(w.state().open == 0);
       }},
      {"refund", taken,
       [](World& w, Stock& s) {
         return plain(s.refund({kPhone, id("a")}, w.limit()));
       },
       [](World& w) {
         CHECK(w.quantities() == Quantities{3, 3, 3});
         CHECK(w.state().refunded == 5);
       }},
      {"refund of nothing", nothing,
       [](World& w, Stock& s) {
         return plain(s.refund({kPhone, id("a")}, w.limit()));
       },
       [](World& w) { CHECK(code_of(w.client()->take(order("a", 1), 0, w.limit())) == ErrorCode::kLost); }},
      {"add", taken, [](World& w, Stock& s) { return plain(s.add(kPhone, id("truck"), 4, w.limit())); },
       [](World& w) {
         CHECK(w.state().added == 4);
         CHECK(w.state().total() == 8);
       }},
      {"serve", taken, serve_some,
       [](World& w) {
         CHECK(w.state().taken == 7);
         CHECK(w.state().refunded == 5);
         CHECK(w.state().added == 4);
         CHECK(w.state().total() == 11);
       }},
      {"rebalance", taken, [](World& w, Stock& s) { return s.rebalance(kPhone, w.limit()); },
       [](World& w) {
         CHECK(w.quantities() == Quantities{2, 1, 1});
       }},
      {"resize", reserved, [](World& w, Stock& s) { return s.resize(kPhone, 2, w.limit()); },
       [](World& w) {
         CHECK(w.quantities() == Quantities{2, 2});
         CHECK(w.state().reserved() == 5);
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("Whatever reply is lost, of a request that was carried out or not: a call happens once") {
  for (const Case& one : all_cases()) {
    for (const bool done : {false, true}) {
      bool lost = true;
      for (int n = 1; lost; ++n) {
        INFO(one.name, ", reply ", n, done ? ", carried out" : ", not carried out");
        World w;
        w.create(9, 3);
        const auto stock = w.client();
        one.before(w, *stock);
        w.ensemble.lost_is_done = done;
        w.ensemble.lose_reply_of = w.ensemble.requests + n;
        const int before = w.ensemble.requests;
        const auto called = one.call(w, *stock);
        INFO((called ? std::string() : called.error().message));
        CHECK(called);
        lost = w.ensemble.requests - before >= n;
        w.ensemble.lose_reply_of = 0;
        one.after(w);
        CHECK(one.call(w, *stock));  // and once more
        one.after(w);
      }
    }
  }
}

namespace {

/// One call of somebody who loses every race until he has closed the gate, and is gone after so many requests. How many
/// requests he came to.
int call_of_the_doomed(World& w, const Case& one, int requests) {
  w.create(9, 3);
  const auto stock = w.client();
  one.before(w, *stock);
  const int start = w.ensemble.requests;
  w.ensemble.before_each = [&](FakeEnsemble::FakeSession& session, const Request& request) {
    const bool writes = request.kind == Request::Kind::kChange && request.changes.size() > 1;
    for (int i = 0; writes && w.head().ends_with(" -") && i < 3; ++i) ++w.segment(i).stat.version;
    session.silent = w.ensemble.requests - start >= requests;
  };
  (void)one.call(w, *stock);
  w.ensemble.before_each = nullptr;
  return w.ensemble.requests - start;
}

}  // namespace

TEST_CASE("Who is gone after any request leaves books that balance, and keeps nobody out") {
  for (const Case& one : all_cases()) {
    World whole;
    const int all = call_of_the_doomed(whole, one, 1 << 20);
    // The first try, and what comes of the closed gate; in between all tries are alike.
    for (int n = 1; n <= all; n = n == 20 ? std::max(21, all - 30) : n + 1) {
      INFO(one.name, ", gone after ", n, " of ", all, " requests");
      World w;
      call_of_the_doomed(w, one, n);
      const TimePoint begin = w.clock.now();
      const auto again = w.client();
      CHECK(one.call(w, *again));
      CHECK(w.clock.now() - begin < 1s);
      one.after(w);
    }
  }
}

TEST_CASE("Who loses a race for a segment goes on with the next one") {
  World w;
  w.create(9, 3);
  const auto stock = w.client();
  int races = 0;
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
    if (request.kind == Request::Kind::kChange && request.changes.size() > 1 && races++ == 1) {
      ++w.segment(1).stat.version;
    }
  };
  const auto answer = stock->take(order("a", 2), 1, w.limit());
  w.ensemble.before_each = nullptr;
  REQUIRE(answer);
  CHECK(std::get<StockTaken>(*answer).parts == StockParts{{2, 2}});
}

TEST_CASE("Who has looked before the segments were made anew writes nothing into the new ones") {
  World w;
  w.create(9, 3);
  const auto stock = w.client();
  const auto other = w.client();
  bool raced = false;
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
    const bool has_room = w.ensemble.nodes.contains(parent_of(request_path(w.life(), id("a"))));
    if (request.kind != Request::Kind::kChange || request.changes.size() != 3 || !has_room || raced) return;
    raced = true;
    REQUIRE(other->resize(kPhone, 1, w.limit()));
    REQUIRE(other->take(order("b", 8), 0, w.limit()));
    REQUIRE(other->resize(kPhone, 3, w.limit()));
  };
  const auto answer = stock->take(order("a", 1), 2, w.limit());
  CHECK(raced);
  REQUIRE(answer);
  CHECK(std::get<StockTaken>(*answer).parts == StockParts{{0, 1}});
  CHECK(w.quantities() == Quantities{0, 0, 0});
  CHECK(w.state().taken == 9);
}

TEST_CASE("A server that is behind is not believed that there is too little, or that a request is unknown") {
  World w;
  w.create(9, 3);
  const auto other = w.client();
  REQUIRE(other->take(order("all", 9), 0, w.limit()));
  const auto stock = w.client();
  REQUIRE(stock->show(kPhone, w.limit()));
  w.ensemble.fall_behind(*w.ensemble.sessions.back());
  REQUIRE(other->refund({kPhone, id("all")}, w.limit()));
  REQUIRE(other->reserve(order("a", 5), kOwner, 60s, 0, w.limit()));
  SUBCASE("too little") {
    const auto answer = stock->take(order("b", 4), 0, w.limit());
    REQUIRE(answer);
    CHECK(std::holds_alternative<StockTaken>(*answer));
  }
  SUBCASE("unknown") { CHECK(stock->extend(order("a", 5), kOwner, 60s, w.limit())); }
}

TEST_CASE("All of it is had in the end, though every segment changes all the time") {
  World w;
  w.create(9, 3);
  const auto stock = w.client();
  const auto greedy = w.client();
  bool closed = false;
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& /*request*/) {
    const bool open = w.head().ends_with(" -");
    closed = closed || !open;
    for (int i = 0; open && i < 3; ++i) {
      ++w.segment(i).stat.version;
      ++w.segment(i).stat.mzxid;
    }
  };
  const auto state = stock->show(kPhone, w.limit());
  const auto answer = greedy->take(order("a", 9), 0, w.limit());
  w.ensemble.before_each = nullptr;
  REQUIRE(state);
  CHECK(state->total() == 9);
  REQUIRE(answer);
  CHECK(std::holds_alternative<StockTaken>(*answer));
  CHECK(closed);
  CHECK(w.head().ends_with(" -"));
  CHECK(w.quantities() == Quantities{0, 0, 0});
}

TEST_CASE("Short is not said of what moves to where somebody has looked already") {
  World w;
  w.create(4, 2);
  const auto stock = w.client();
  const auto other = w.client();
  REQUIRE(other->take(order("first", 2), 0, w.limit()));
  bool moved = false;
  const std::string second = segment_path(w.life(), 1);
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
    if (request.path != second || std::exchange(moved, true)) return;
    w.segment(0).data = "2 0 0 0 0";
    w.segment(1).data = "0 0 2 0 0";
    for (int i = 0; i < 2; ++i) ++w.segment(i).stat.version, ++w.segment(i).stat.mzxid;
  };
  const auto answer = stock->take(order("a", 2), 0, w.limit());
  CHECK(moved);
  REQUIRE(answer);
  CHECK(std::holds_alternative<StockTaken>(*answer));
}

TEST_CASE("Data that make no sense are named, and left as they are") {
  struct Row {
    const char* what;
    std::function<void(World&)> spoil;
  };
  const Row rows[] = {
      {"is not a stock", [](World& w) { w.ensemble.nodes.at("/shop/%stock/phone").data = "hello"; }},
      {"segment 1", [](World& w) { w.segment(1).data = "-3 0 0 0 0"; }},
      {"segment 1", [](World& w) { w.segment(1).data = "3 0 0 0"; }},
      {"segment 1 is missing", [](World& w) { w.ensemble.remove(segment_path(w.life(), 1)); }},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    World w;
    w.create(9, 3);
    const std::string first = segment_path(w.life(), 0);
    row.spoil(w);
    const auto stock = w.client();
    const auto showed = stock->show(kPhone, w.limit());
    REQUIRE_FALSE(showed);
    CHECK(showed.error().code == ErrorCode::kMisconfigured);
    CHECK(showed.error().message.find(row.what) != std::string::npos);
    CHECK(code_of(stock->take(order("a", 1), 1, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(stock->rebalance(kPhone, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(w.ensemble.nodes.at(first).data == "3 0 0 0 0");
  }
}

TEST_CASE("What the nodes of a stock say is read back as it was written, and nothing else is") {
  const StockHead head{"0123456789abcdef", 20, 1000, kOwner.text(), ""};
  CHECK(head_text(head) == "1 0123456789abcdef 20 1000 0123456789abcdef0123456789abcdef -");
  CHECK(head_text(*parse_head(head_text(head))) == head_text(head));
  CHECK(counts_text(*parse_counts("1 2 3 4 5")) == "1 2 3 4 5");
  CHECK(note_text(*parse_note("60000 R 5 3:2,4:3 0123456789abcdef0123456789abcdef 0")) ==
        "60000 R 5 3:2,4:3 0123456789abcdef0123456789abcdef 0");
  for (const char* bad :
       {"", "1", "2 0123456789abcdef 20 1000 0123456789abcdef0123456789abcdef -",
        "1 0123456789abcdeg 20 1000 0123456789abcdef0123456789abcdef -",
        "1 0123456789abcdef 0 1000 0123456789abcdef0123456789abcdef -",
        "1 0123456789abcdef 1001 1000 0123456789abcdef0123456789abcdef -",
        "1 0123456789abcdef 20 -1 0123456789abcdef0123456789abcdef -", "1 0123456789abcdef 20 1000 me -",
        "1 0123456789abcdef 20 1000 0123456789abcdef0123456789abcdef - x"}) {
    CHECK_FALSE(parse_head(bad));
  }
  for (const char* bad : {"", "1 2 3 4", "1 2 3 4 5 6", "1 2 3 4 -5", "1 2  4 5", "a b c d e", "1 2 3 4 5 "}) {
    CHECK_FALSE(parse_counts(bad));
  }
  for (const char* bad : {"", "60000", "R 5 3:2 - 0", "-1 R 5 3:2 - 0", "60000 Z 5 3:2 - 0"})
    CHECK_FALSE(parse_note(bad));
}

TEST_CASE("Requests are spread over directories, and each is always in the same one") {
  std::set<std::string> used;
  for (int i = 0; i < 5000; ++i) used.insert(parent_of(request_path("/l", id("order-" + std::to_string(i)))));
  CHECK(used.size() == kRequestDirectories);
  CHECK(request_path("/l", id("order/77")) == request_path("/l", id("order/77")));
  CHECK(base_of(request_path("/l", id("order/77"))) == "order%2f77");
}

}  // namespace dlock::zookeeper::stock_test
