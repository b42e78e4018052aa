// SPDX-License-Identifier: Apache-2.0
// What became of a stock is judged by what its callers were told: random histories over rows in memory, with a fault at
// every n-th call, and others that change the stock between two calls of one step.
#include "lib/stock/row_stock.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>

#include "lib/keeper/insist.h"
#include "tests/unit/stock/row_stock_world.h"

namespace dlock::testing::row_stock_test {
namespace {

using namespace std::chrono_literals;

/// A caller that has done what it was told, and nothing else: asks again while the outcome is not known.
class Caller {
 public:
  Caller(World& world, unsigned seed) : world_(world), random_(seed) {}

  int below(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }

  void one_step() {
    using Step = void (Caller::*)();
    constexpr Step kSteps[] = {&Caller::resize, &Caller::rebalance, &Caller::restock, &Caller::refund,
                               &Caller::order,  &Caller::order,     &Caller::batch,   &Caller::leave_aside,
                               &Caller::take,   &Caller::take};
    (this->*kSteps[below(10)])();
  }

  Quantity sold() const { return sum(sold_) - sum(refunded_); }
  Quantity added() const { return sum(added_); }

 private:
  static Quantity sum(const std::map<int, Quantity>& of) {
    Quantity all = 0;
    for (const auto& [id, quantity] : of) all += quantity;
    return all;
  }

  template <typename Call>
  auto ask(Call call) {
    Stock& stock = below(2) ? *world_.a : *world_.b;
    const auto answer = insist([&](const CallLimit& limit) { return call(stock, limit); }, world_.clock.now() + 20s,
                               world_.clock, nullptr);
    INFO((answer ? std::string() : answer.error().message));
    CHECK((answer || answer.error().code != ErrorCode::kUnavailable));
    return answer;
  }
  void resize() {
    const int segments = 1 + below(6);
    CHECK(ask([&](Stock& s, const CallLimit& l) { return s.resize(kPhone, segments, l); }));
  }
  void rebalance() {
    CHECK(ask([](Stock& s, const CallLimit& l) { return s.rebalance(kPhone, l); }));
  }

  void took(int id, Quantity quantity, const Result<StockAnswer>& answer) {
    if (!answer || !std::holds_alternative<StockTaken>(*answer)) return;
    const auto& taken = std::get<StockTaken>(*answer);
    CHECK(sum_of(taken.parts) == quantity);
    const auto [known, is_new] = sold_.emplace(id, quantity);
    if (!is_new) CHECK(taken.repeated);
  }

  void take() {
    const int id = below(60);
    const Quantity quantity = sold_.contains(id) ? sold_.at(id) : 1 + below(5);
    const int start = below(20);
    took(id, quantity, ask([&](Stock& s, const CallLimit& l) {
           return s.take({kPhone, name_of("o", id), quantity}, start, l);
         }));
  }

  void refund() {
    const int id = below(60);
    const StockRefund refund{.stock = kPhone, .id = name_of("o", id), .before_take = true};
    const auto back = ask([&](Stock& s, const CallLimit& l) { return s.refund(refund, l); });
    REQUIRE(back);
    if (!back->parts.empty()) CHECK(sum_of(back->parts) == sold_.at(id));
    if (sold_.contains(id)) refunded_[id] = sold_.at(id);
    CHECK(sold_.contains(id) == !back->parts.empty());
  }

  void restock() {
    const int id = below(30);
    const Quantity quantity = added_.contains(id) ? added_.at(id) : 1 + below(9);
    const auto put = ask([&](Stock& s, const CallLimit& l) { return s.add(kPhone, name_of("t", id), quantity, l); });
    REQUIRE(put);
    CHECK(sum_of(put->parts) == quantity);
    added_[id] = quantity;
  }

  /// Reserves, and sells or gives back.
  void order() {
    const int id = 100 + next_++;
    const Owner owner = Owner::random();
    const StockRequest request{kPhone, name_of("o", id), 1 + below(5), below(3) == 0};
    const auto got = ask([&](Stock& s, const CallLimit& l) { return s.reserve(request, owner, 1h, below(9), l); });
    REQUIRE(got);
    if (!std::holds_alternative<StockTaken>(*got)) return;
    if (below(2)) CHECK(ask([&](Stock& s, const CallLimit& l) { return s.extend(request, owner, 2h, l); }));
    const bool sells = below(3) > 0;
    CHECK(ask([&](Stock& s, const CallLimit& l) {
      return sells ? s.confirm(request, owner, l) : s.cancel(request, owner, l);
    }));
    if (sells) sold_[id] = request.quantity;
  }

  /// A command that was killed.
  void leave_aside() {
    const StockRequest request{kPhone, name_of("dead", next_++), 1 + below(3), below(3) == 0};
    (void)ask([&](Stock& s, const CallLimit& l) { return s.reserve(request, Owner::random(), 5s, 0, l); });
    if (below(2)) world_.clock.advance(6s);
  }

  void batch() {
    std::vector<StockStep> steps;
    std::vector<int> ids;
    for (int i = 0; i < 8; ++i) {
      ids.push_back(1000 + below(200));
      steps.push_back({.id = name_of("o", ids.back()), .quantity = 1, .start = i});
    }
    const auto answers = world_.a->serve(kPhone, steps, world_.limit());
    REQUIRE(answers.size() == steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (answers[i] || answers[i].error().code != ErrorCode::kUnavailable) {
        if (answers[i] && std::holds_alternative<StockTaken>(*answers[i])) sold_.emplace(ids[i], 1);
        continue;
      }
      took(ids[i], 1, ask([&](Stock& s, const CallLimit& l) { return s.take({kPhone, steps[i].id, 1}, 0, l); }));
    }
  }

  World& world_;
  std::mt19937 random_;
  int next_ = 0;
  std::map<int, Quantity> sold_, refunded_, added_;
};

/// `steps` of a caller, with a fault at every `n`-th call (0: none; below: at one of so many, by chance).
void history(unsigned seed, int n, RowShelf::Fault fault, int steps) {
  INFO("seed " << seed << ", fault at every " << n);
  World w;
  w.create(40, 4);
  Caller caller(w, seed);
  w.shelf.fault = fault;
  w.shelf.between = [&] {
    const bool fails = n < 0 ? caller.below(-n) == 0 : n > 0 && w.shelf.calls % n == n - 1;
    if (fails) w.shelf.fault_at = w.shelf.calls + 1;
  };
  for (int i = 0; i < steps; ++i) caller.one_step();
  w.clock.advance(10s);
  w.shelf.fault_at = 0;
  const StockState state = w.state();
  CHECK(state.reserved() == 0);
  CHECK(state.open == 0);
  CHECK(state.taken - state.refunded == caller.sold());
  CHECK(state.added == caller.added());
  CHECK(state.total() == 40 + caller.added() - caller.sold());
}

}  // namespace

TEST_CASE("stock on rows: random histories sell each item once, whatever call fails before or after its effect") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    history(seed, 0, RowShelf::Fault::kBefore, 150);
    for (const int n : {-3, -6, 7, 8, 9, 11, 14}) {
      for (const auto fault : {RowShelf::Fault::kBefore, RowShelf::Fault::kAfter}) history(seed, n, fault, 100);
    }
  }
}

TEST_CASE("stock on rows: between any two calls of a step others take, resize, restock and give back") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    World w;
    w.create(60, 5);
    Caller steps(w, seed);
    const auto other = w.client();
    std::mt19937 random(seed);
    bool inside = false;
    int number = 0;
    Quantity taken = 0;
    w.shelf.between = [&] {
      if (inside || random() % 3 != 0) return;
      inside = true;
      const LockName id = name_of("other", ++number);
      if (random() % 3 == 0) CHECK(other->resize(kPhone, 1 + static_cast<int>(random() % 7), w.limit()));
      const auto got = other->take({kPhone, id, 1}, static_cast<int>(random() % 7), w.limit());
      REQUIRE(got);
      if (std::holds_alternative<StockTaken>(*got) && random() % 2 == 0) CHECK(other->refund({kPhone, id}, w.limit()));
      else if (std::holds_alternative<StockTaken>(*got)) ++taken;
      inside = false;
    };
    for (int i = 0; i < 60; ++i) steps.one_step();
    w.shelf.between = {};
    w.clock.advance(10s);
    const StockState state = w.state();
    CHECK(state.taken - state.refunded == steps.sold() + taken);
    CHECK(state.total() == 60 + steps.added() - steps.sold() - taken);
    CHECK(state.reserved() == 0);
  }
}

TEST_CASE("stock on rows: a take is one call once the stock is known, and so are a reservation and its end") {
  World w;
  w.create(10, 2);
  REQUIRE(w.a->take({kPhone, name_of("o", 1), 1}, 0, w.limit()));
  const auto calls_of = [&](auto call) {
    const int before = w.shelf.calls;
    call();
    return w.shelf.calls - before;
  };
  const Owner owner = Owner::random();
  const StockRequest request{kPhone, name_of("o", 2), 1};
  CHECK(calls_of([&] { CHECK(w.a->take({kPhone, name_of("o", 3), 1}, 1, w.limit())); }) == 1);
  CHECK(calls_of([&] { CHECK(w.a->reserve(request, owner, 10s, 1, w.limit())); }) == 1);
  CHECK(calls_of([&] { CHECK(w.a->extend(request, owner, 10s, w.limit())); }) == 1);
  CHECK(calls_of([&] { CHECK(w.a->confirm(request, owner, w.limit())); }) == 1);
  CHECK(w.b->take({kPhone, name_of("o", 4), 1}, 1, w.limit()));
  CHECK(w.state().total() == 6);
}

TEST_CASE("stock on rows: the first take of a process is two calls, however many segments there are") {
  for (const int segments : {2, 20, 1000}) {
    World w;
    w.create(1000, segments);
    const int calls = w.shelf.calls;
    const std::size_t shown = w.shelf.shown;
    CHECK(w.b->take({kPhone, name_of("o", 1), 1}, 7, w.limit()));
    CHECK(w.shelf.calls - calls == 2);
    CHECK(w.shelf.shown - shown < 30);
    CHECK(w.state().total() == 999);
  }
}

TEST_CASE("stock on rows: what comes back to a segment that is used no more goes to another one") {
  World w;
  w.create(10, 5);
  const StockRequest request{kPhone, name_of("o", 1), 2};
  const Owner owner = Owner::random();
  REQUIRE(w.a->reserve(request, owner, 10s, 4, w.limit()));
  REQUIRE(w.b->resize(kPhone, 2, w.limit()));
  REQUIRE(w.b->resize(kPhone, 7, w.limit()));
  REQUIRE(w.b->resize(kPhone, 3, w.limit()));
  CHECK(w.a->cancel(request, owner, w.limit()));
  const StockState state = w.state();
  REQUIRE(state.segments.size() == 3);
  CHECK(state.segments[1].quantity == 5);
  CHECK(state.total() == 10);
}

TEST_CASE("stock on rows: one that others change all the time is given up, and nothing was done") {
  World w;
  w.create(10, 1);
  w.shelf.between = [&] {
    auto& row = w.shelf.groups.at(kPhone).at("head");
    ++row.version;  // of each look, before the commit that relies on it
  };
  const auto added = w.a->add(kPhone, name_of("t", 1), 1, w.limit());
  REQUIRE_FALSE(added);
  CHECK(added.error().code == ErrorCode::kUnavailable);
  CHECK(added.error().undone);
  CHECK(added.error().outage == Outage::kCrowded);
  CHECK(w.state().added == 0);
}

TEST_CASE("stock on rows: a resize that was done in part is not undone") {
  World w;
  w.create(10, 1);
  w.shelf.changed = [&](const Rows::Row&, const Rows::Row&) { w.shelf.refuses_writes = true; };
  const auto resized = w.b->resize(kPhone, 3, w.limit());
  REQUIRE_FALSE(resized);
  CHECK(resized.error().outage == Outage::kRefused);
  CHECK_FALSE(resized.error().undone);
  CHECK(w.state().segments.size() == 3);
}

TEST_CASE("stock on rows: what a server has refused is not taken for silence") {
  for (const bool refuses : {true, false}) {
    World w;
    w.create(10, 1);
    w.shelf.refuses_writes = refuses;
    if (!refuses) w.shelf.between = [&] { w.shelf.fault_at = w.shelf.calls + 1; };
    const auto answer = w.a->take({kPhone, name_of("o", 1), 1}, 0, w.limit());
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == ErrorCode::kUnavailable);
    CHECK((answer.error().outage == Outage::kRefused) == refuses);
  }
}

TEST_CASE("stock on rows: a segment that has sold as many as it can count says so, and is not called inconsistent") {
  World w;
  w.create(5, 1);
  w.shelf.groups.at(kPhone)["segment/0"].text = "5 0 9007199254740992 9007199254740992";
  const auto answer = w.a->take({kPhone, name_of("o", 1), 1}, 0, w.limit());
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::kMisconfigured);
  CHECK(answer.error().message.find("as many items as it can count") != std::string::npos);
  CHECK(answer.error().message.find("inconsistent") == std::string::npos);
  CHECK(w.state().total() == 5);
}

TEST_CASE("stock on rows: rows that make no sense are said to be wrong, and nothing is changed") {
  World w;
  w.create(10, 2);
  const auto broken = [&](const char* key, const char* text) {
    const Rows::Row was = w.shelf.groups.at(kPhone)[key];
    w.shelf.groups.at(kPhone)[key] = {text, 7, 7};
    const auto answer = w.client()->take({kPhone, name_of("o", 1), 9}, 0, w.limit());
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == ErrorCode::kMisconfigured);
    if (was.version == 0) w.shelf.groups.at(kPhone).erase(key);
    else w.shelf.groups.at(kPhone)[key] = was;
  };
  for (const char* text : {"", "0 0 1 1 m", "3 2 1 1 m", "x", "1 1 -1 1 m"}) broken("head", text);
  for (const char* text : {"", "1 2 3", "1 2 3 4 5", "-1 0 0 0", "x 0 0 0"}) broken("segment/1", text);
  for (const char* text : {"", "T x", "R 1 0:1 - 0", "Q 1 - - 0"}) broken("request/o1", text);
  for (const char* text : {"", "T 1 0:1 - 0", "x R 1 0:1 - 0", "5 - T 1 0:1 - 0", "5 x R 1 0:1 - 0"}) {
    broken("open/o1", text);
  }
  CHECK(w.state().total() == 10);
  w.shelf.groups.at(kPhone)["head"] = {"x", 7, 7};
  CHECK(w.client()->drop(kPhone, w.limit()));
  CHECK(w.shelf.groups.empty());
}

TEST_CASE("stock on rows: a drop whose answer was lost leaves a stock alone that was made after it") {
  World w;
  w.create(10, 2);
  w.shelf.fault = RowShelf::Fault::kAfter;
  w.shelf.fault_at = w.shelf.calls + 2;
  bool made = false;
  w.shelf.between = [&] {
    if (made || !w.shelf.groups.empty()) return;
    made = true;
    w.create(3, 1);
  };
  CHECK(w.a->drop(kPhone, w.limit()));
  CHECK(made);
  CHECK(w.state().total() == 3);
}

}  // namespace dlock::testing::row_stock_test
