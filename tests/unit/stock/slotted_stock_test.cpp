// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/slotted_stock.h"

#include <doctest/doctest.h>

#include <functional>

#include "tests/support/fake_clock.h"
#include "tests/support/memory_slots.h"

namespace dlock::slotted_stock_test {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::MemorySlots;
using testing::MemoryWorld;

constexpr int kSlots = 4;
const LockName kPhone = *LockName::parse("phone");
const Owner kMaker = *Owner::parse("00000000000000000000000000000001");
const Owner kSeller = *Owner::parse("00000000000000000000000000000002");

LockName id(const std::string& text) { return *LockName::parse(text); }
StockRequest request(const std::string& name, Quantity quantity) { return {kPhone, id(name), quantity}; }
/// An id whose record is in `slot`.
std::string at_home_in(int slot) {
  for (int i = 0;; ++i) {
    std::string one = "order-" + std::to_string(i);
    if (home_slot(id(one), kSlots) == slot) return one;
  }
}

struct Client {
  explicit Client(MemoryWorld& world, FakeClock& clock) : runtime{clock, log} {
    auto made = std::make_unique<MemorySlots>(world);
    slots = made.get();
    stock = std::make_unique<SlottedStock>(std::move(made), runtime);
  }
  Log log{Log::Style{.quiet = true}};
  Runtime runtime;
  MemorySlots* slots = nullptr;
  std::unique_ptr<SlottedStock> stock;
};

/// Eight items in four segments, each in a slot of its own.
struct Shop {
  Shop() { CHECK(healthy.stock->create(kPhone, 8, 4, kMaker, limit())); }
  CallLimit limit() const { return {clock.now() + 10s}; }
  StockState state() {
    const auto state = healthy.stock->show(kPhone, limit());
    INFO((state ? std::string() : state.error().message));
    REQUIRE(state);
    CHECK(state->total() + state->reserved() + state->taken - state->refunded == state->created + state->added);
    for (const StockSegment& segment : state->segments) CHECK((segment.quantity >= 0 && segment.reserved >= 0));
    return *state;
  }
  void take(const std::string& name, Quantity quantity) {
    const auto taken = healthy.stock->take(request(name, quantity), 0, limit());
    REQUIRE(taken);
    REQUIRE(std::holds_alternative<StockTaken>(*taken));
  }

  FakeClock clock;
  MemoryWorld world{clock, kSlots};
  Client healthy{world, clock};
};

/// What a client does, whether it hears an answer or not; the same again is the same.
struct Deed {
  const char* name;
  std::function<void(Shop&)> before;
  std::function<void(Stock&, const CallLimit&)> deed;
  Quantity there, taken, refunded, added;  ///< at last
  int segments;
};

const std::string kId = "order-1";

void sell(Stock& stock, const CallLimit& limit, bool sold) {
  const auto aside = stock.reserve(request(kId, 5), kSeller, 1s, 0, limit);
  if (!aside || !std::holds_alternative<StockTaken>(*aside)) return;
  (void)stock.extend(request(kId, 5), kSeller, 1s, limit);
  (void)(sold ? stock.confirm(request(kId, 5), kSeller, limit) : stock.cancel(request(kId, 5), kSeller, limit));
}

const Deed kDeeds[] = {
    {"take from one slot", nullptr,
     [](Stock& stock, const CallLimit& limit) { (void)stock.take(request(kId, 2), 0, limit); }, 6, 2, 0, 0, 4},
    {"take from several", nullptr,
     [](Stock& stock, const CallLimit& limit) { (void)stock.take(request(kId, 7), 0, limit); }, 1, 7, 0, 0, 4},
    {"a batch of takes, one of them from several", nullptr,
     [](Stock& stock, const CallLimit& limit) {
       const StockStep takes[] = {
           {.id = id(kId), .quantity = 2}, {.id = id("b"), .quantity = 1}, {.id = id("c"), .quantity = 4}};
       (void)stock.serve(kPhone, takes, limit);
     },
     1, 7, 0, 0, 4},
    {"reserve and sell", nullptr, [](Stock& stock, const CallLimit& limit) { sell(stock, limit, true); }, 3, 5, 0, 0,
     4},
    {"reserve and give back", nullptr, [](Stock& stock, const CallLimit& limit) { sell(stock, limit, false); }, 8, 0, 0,
     0, 4},
    {"refund", [](Shop& shop) { shop.take(kId, 7); },
     [](Stock& stock, const CallLimit& limit) { (void)stock.refund(kPhone, id(kId), 6, limit); }, 7, 7, 6, 0, 4},
    {"add", [](Shop& shop) { shop.take("before", 7); },
     [](Stock& stock, const CallLimit& limit) { (void)stock.add(kPhone, id("truck"), 11, limit); }, 12, 7, 0, 11, 4},
    {"rebalance", [](Shop& shop) { shop.take("before", 3); },
     [](Stock& stock, const CallLimit& limit) { (void)stock.rebalance(kPhone, limit); }, 5, 3, 0, 0, 4},
    {"fewer segments than slots", [](Shop& shop) { shop.take("before", 3); },
     [](Stock& stock, const CallLimit& limit) { (void)stock.resize(kPhone, 2, limit); }, 5, 3, 0, 0, 2},
    {"more segments", nullptr, [](Stock& stock, const CallLimit& limit) { (void)stock.resize(kPhone, 9, limit); }, 8, 0,
     0, 0, 9},
    {"drop and create anew", [](Shop& shop) { shop.take("before", 3); },
     [](Stock& stock, const CallLimit& limit) {
       if (const auto now = stock.show(kPhone, limit); now && now->created == 8) (void)stock.drop(kPhone, limit);
       (void)stock.create(kPhone, 10, 5, kSeller, limit);
     },
     10, 0, 0, 0, 5},
};

/// The client dies behind `steps` messages. False: it lived.
bool killed_behind(const Deed& deed, int steps, bool last_one_happens) {
  CAPTURE(deed.name);
  CAPTURE(steps);
  CAPTURE(last_one_happens);
  Shop shop;
  if (deed.before) deed.before(shop);
  Client mortal(shop.world, shop.clock);
  mortal.slots->steps = steps;
  mortal.slots->last_one_happens = last_one_happens;
  deed.deed(*mortal.stock, shop.limit());
  // At once the books balance, and when its time is over nothing is left of it.
  if (const auto there = shop.healthy.stock->show(kPhone, shop.limit())) {
    (void)shop.state();
    shop.clock.advance(3s);
    (void)shop.state();
    shop.clock.advance(3s);  // what was held for a reservation
    CHECK(shop.state().reserved() == 0);
    CHECK(shop.state().open == 0);
  }
  // The same again, twice, counts once.
  deed.deed(*shop.healthy.stock, shop.limit());
  deed.deed(*shop.healthy.stock, shop.limit());
  const StockState state = shop.state();
  CHECK(state.total() == deed.there);
  CHECK(state.reserved() == 0);
  CHECK(state.taken == deed.taken);
  CHECK(state.refunded == deed.refunded);
  CHECK(state.added == deed.added);
  CHECK(state.segments.size() == static_cast<std::size_t>(deed.segments));
  return mortal.slots->dead;
}

}  // namespace

TEST_CASE("slotted stock: whoever dies between any two messages has done it altogether or not at all") {
  for (const Deed& deed : kDeeds) {
    for (const bool last_one_happens : {false, true}) {
      int steps = 0;
      while (killed_behind(deed, steps, last_one_happens)) ++steps;
      CHECK(steps >= 1);
    }
  }
}

TEST_CASE("slotted stock: what a slot has alone is one message") {
  Shop shop;
  const std::string order = at_home_in(2);
  shop.world.told.clear();
  shop.take(order, 2);
  CHECK(shop.world.told == std::vector<std::string>{"take 2"});
}

TEST_CASE("slotted stock: what is gathered is held in the order of the slots, decided at home, and confirmed") {
  Shop shop;
  shop.world.told.clear();
  shop.take(at_home_in(2), 7);
  const std::vector<std::string> told{"take 2", "look 0", "look 1",   "look 2", "look 3", "hold 0",
                                      "hold 1", "hold 3", "commit 2", "sell 0", "sell 1", "sell 3"};
  CHECK(shop.world.told == told);
}

TEST_CASE("slotted stock: an attempt that nobody has heard of in time is refused, and can never be committed") {
  Shop shop;
  const std::string order = at_home_in(0);
  MemorySlots slow(shop.world);
  const SlotAttempt attempt{"a1", kMaker.text(), {{0, 2}, {1, 2}}};
  CHECK(*slow.hold({kPhone, 1}, attempt, id(order), 2s, shop.limit()));
  CHECK(shop.state().reserved() == 2);
  shop.clock.advance(2s);
  CHECK(shop.state().reserved() == 0);
  const auto late = slow.commit({kPhone, 0}, {request(order, 4), "", 0s, 0}, attempt, shop.limit());
  REQUIRE(late);
  CHECK(std::holds_alternative<StockShort>(late->answer));
  CHECK(shop.state().total() == 8);
}

TEST_CASE("slotted stock: what was committed is never undone, whoever asks and however late") {
  Shop shop;
  const std::string order = at_home_in(0);
  MemorySlots dies(shop.world);
  const SlotAttempt attempt{"a1", kMaker.text(), {{0, 2}, {1, 2}}};
  CHECK(*dies.hold({kPhone, 1}, attempt, id(order), 2s, shop.limit()));
  CHECK(dies.commit({kPhone, 0}, {request(order, 4), "", 0s, 0}, attempt, shop.limit()));
  CHECK(shop.state().taken == 2);  // the other half is still held
  shop.clock.advance(100s);
  CHECK(shop.state().taken == 4);
  CHECK(shop.state().total() == 4);
}

TEST_CASE("slotted stock: a reservation that is renewed keeps what it has elsewhere, too") {
  Shop shop;
  REQUIRE(shop.healthy.stock->reserve(request(kId, 7), kSeller, 3s, 0, shop.limit()));
  for (int i = 0; i < 20; ++i) {
    shop.clock.advance(2500ms);
    CHECK(shop.state().reserved() == 7);
    CHECK(shop.healthy.stock->extend(request(kId, 7), kSeller, 3s, shop.limit()));
  }
  CHECK(shop.healthy.stock->confirm(request(kId, 7), kSeller, shop.limit()));
  CHECK(shop.state().taken == 7);
  CHECK(shop.state().reserved() == 0);
}

TEST_CASE("slotted stock: two that hold half of it each both give way, and then at most one wins") {
  Shop shop;
  MemorySlots one(shop.world), two(shop.world);
  const std::string a = at_home_in(0), b = at_home_in(1);
  const SlotAttempt first{"a1", kMaker.text(), {{0, 2}, {1, 2}}}, second{"a2", kMaker.text(), {{0, 2}, {1, 2}}};
  CHECK(*one.hold({kPhone, 1}, first, id(a), 2s, shop.limit()));
  CHECK(*two.hold({kPhone, 0}, second, id(b), 2s, shop.limit()));
  for (auto* one_of : {&one, &two}) {
    const bool is_one = one_of == &one;
    const auto answer = one_of->commit({kPhone, is_one ? 0 : 1}, {request(is_one ? a : b, 4), "", 0s, 0},
                                       is_one ? first : second, shop.limit());
    REQUIRE(answer);
    CHECK(std::holds_alternative<StockShort>(answer->answer));
  }
  CHECK(one.end_hold({kPhone, 1}, "a1", HeldEnd::kCancel, shop.limit()));
  CHECK(two.end_hold({kPhone, 0}, "a2", HeldEnd::kCancel, shop.limit()));
  shop.take(a, 6);
  const auto other = shop.healthy.stock->take(request(b, 6), 0, shop.limit());
  REQUIRE(other);
  CHECK(std::get<StockShort>(*other).available == 2);
  CHECK(shop.state().reserved() == 0);
}

TEST_CASE("slotted stock: short is said only when nothing came back while it was looked") {
  Shop shop;
  shop.take("all", 8);
  shop.world.told.clear();
  const auto answer = shop.healthy.stock->take(request(kId, 1), 0, shop.limit());
  REQUIRE(answer);
  CHECK(std::get<StockShort>(*answer).available == 0);
  CHECK(std::count(shop.world.told.begin(), shop.world.told.end(), "look 0") == 2);
}

TEST_CASE("slotted stock: a slot that has lost its part is said so, and nothing is changed") {
  Shop shop;
  shop.world.all[2] = {};
  const auto state = shop.healthy.stock->show(kPhone, shop.limit());
  REQUIRE_FALSE(state);
  CHECK(state.error().code == ErrorCode::kMisconfigured);
  CHECK(state.error().message.find("lost its part") != std::string::npos);
  const auto taken = shop.healthy.stock->take(request(at_home_in(2), 1), 0, shop.limit());
  REQUIRE_FALSE(taken);
  CHECK(taken.error().message.find("lost its part") != std::string::npos);
}

TEST_CASE("slotted stock: one that is dropped and made anew between two looks has lost nothing") {
  Shop shop;
  Client other(shop.world, shop.clock);
  shop.world.all[2] = {};  // somebody drops it
  shop.world.after_each = [&](const std::string& asked) {
    if (asked != "take 2") return;
    shop.world.after_each = nullptr;
    CHECK(other.stock->drop(kPhone, shop.limit()));
    CHECK(other.stock->create(kPhone, 8, 4, kSeller, shop.limit()));
  };
  shop.take(at_home_in(2), 1);
  CHECK_FALSE(shop.world.after_each);
  CHECK(shop.state().total() == 7);
}

}  // namespace dlock::slotted_stock_test
