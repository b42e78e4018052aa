// SPDX-License-Identifier: Apache-2.0
#include "lib/rows/row_memory.h"

#include <doctest/doctest.h>

#include <memory>

#include "lib/base/human_text.h"
#include "lib/lock/who_text.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_rows.h"

namespace dlock::testing::row_memory_test {
namespace {

using namespace std::chrono_literals;

const LockName kKey = *LockName::parse("nightly");

LockName slot(std::string_view name) { return *LockName::of_slot(kKey, name); }

struct World {
  FakeClock clock;
  RowShelf shelf{clock};
  std::unique_ptr<KeyMemory> memory = client();

  std::unique_ptr<KeyMemory> client() { return row_memory(std::make_unique<MemoryRows>(shelf), clock); }
  TimePoint soon() { return clock.now() + 10s; }
  KeyMemory::SlotRun run(Duration remember) {
    return {Owner::random(), with_revocation(who_text("the reason"), ran_word(wait_status_text(0))), remember};
  }
  bool remembers(std::string_view name) {
    const auto found = client()->look_up(slot(name), soon());
    REQUIRE(found);
    return found->has_value();
  }
  std::size_t rows() const { return shelf.groups.contains(kKey) ? shelf.groups.at(kKey).size() : 0; }
  bool has_row(const std::string& key) const {
    return shelf.groups.contains(kKey) && shelf.groups.at(kKey).contains(key);
  }
  ErrorCode fence(std::uint64_t token) {
    const auto passed = memory->fence(kKey, FencingToken(token), soon());
    return passed ? ErrorCode::kInternal : passed.error().code;
  }
  /// Of each call one that fails, before or after it has done its work: `step` is repeated on a fresh shelf.
  template <typename Step>
  void with_each_fault(const Step& step) {
    for (const auto fault : {RowShelf::Fault::kBefore, RowShelf::Fault::kAfter}) {
      for (int at = 1;; ++at) {
        CAPTURE(at);
        shelf.groups.clear();
        memory = client();
        shelf.fault = fault;
        shelf.calls = 0;
        shelf.fault_at = at;
        step();
        const bool met = shelf.calls >= at;
        shelf.fault_at = 0;
        if (!met) break;
      }
    }
  }
};

constexpr ErrorCode kPassed = ErrorCode::kInternal;

}  // namespace

TEST_CASE_FIXTURE(World, "a fence lets the highest token and higher ones pass, also after an answer that was lost") {
  with_each_fault([&] {
    CHECK(fence(7) == kPassed);
    CHECK(fence(7) == kPassed);
    CHECK(fence(6) == ErrorCode::kLost);
    CHECK(fence(9) == kPassed);
    CHECK(fence(7) == ErrorCode::kLost);
    CHECK(shelf.groups.at(kKey).at("fence").text == "seen 9");
  });
}

TEST_CASE_FIXTURE(World, "a fence that another raises meanwhile, and one that is no token") {
  CHECK(fence(5) == kPassed);
  shelf.between = [this, once = false]() mutable {
    if (shelf.calls % 2 == 1 && !std::exchange(once, true)) REQUIRE(client()->fence(kKey, FencingToken(8), soon()));
  };
  CHECK(fence(7) == ErrorCode::kLost);
  shelf.between = {};
  shelf.groups[kKey]["fence"].text = "nonsense";
  CHECK(fence(9) == ErrorCode::kMisconfigured);
}

TEST_CASE_FIXTURE(World, "a slot is remembered for its time, with who ran it, when and how") {
  REQUIRE(memory->remember(slot("one"), run(1h), soon()));
  clock.advance(20min);
  const auto who = memory->look_up(slot("one"), soon());
  REQUIRE(who);
  REQUIRE(*who);
  CHECK((*who)->ran == "status 0");
  CHECK((*who)->reason == "the reason");
  CHECK((*who)->slot == "one");
  CHECK(*(*who)->until - *(*who)->since == 1h);
  CHECK_FALSE(remembers("on"));
  CHECK_FALSE(remembers("one/more"));
  clock.advance(39min);
  CHECK(remembers("one"));
  clock.advance(1min);
  CHECK_FALSE(remembers("one"));
}

TEST_CASE_FIXTURE(World, "what was answered is remembered, whichever call of it has failed") {
  with_each_fault([&] {
    if (memory->remember(slot("one"), run(1h), soon())) CHECK(has_row("slot/one"));
    REQUIRE(memory->remember(slot("two"), run(1h), soon()));
    CHECK(has_row("slot/two"));
    const auto all = memory->remembered(kKey, soon());
    REQUIRE(all);
    REQUIRE(all->size() == 2);
    CHECK(all->back().slot == "two");
    REQUIRE(memory->forget(slot("one"), soon()));
    CHECK(memory->forget(slot("one"), soon()).error().code == ErrorCode::kLost);
    CHECK(remembers("two"));
  });
}

TEST_CASE_FIXTURE(World, "a commit without an answer is made again before it counts") {
  shelf.fault = RowShelf::Fault::kAfter;
  shelf.fault_at = 2;  // the commit
  shelf.between = [&] { shelf.fault_at = std::max(shelf.fault_at, shelf.calls + 1); };
  const auto done = memory->remember(slot("one"), run(1h), clock.now());
  REQUIRE_FALSE(done);
  CHECK(done.error().code == ErrorCode::kUnavailable);
}

TEST_CASE_FIXTURE(World, "the next run of a key sweeps what is over, and nothing else") {
  REQUIRE(memory->remember(slot("short"), run(1s), soon()));
  REQUIRE(memory->remember(slot("long"), run(1h), soon()));
  memory->note_who_frees(kKey, std::vector<std::string>{"owner"}, "ops");
  clock.advance(2s);
  CHECK_FALSE(remembers("short"));
  CHECK(has_row("slot/short"));
  REQUIRE(memory->remember(slot("next"), run(1h), soon()));
  CHECK_FALSE(has_row("slot/short"));
  CHECK(has_row("slot/long"));
  CHECK(has_row("slot/next"));
  CHECK(has_row("freed/owner"));
}

TEST_CASE_FIXTURE(World, "a key whose slots end one after the other is not swept in each run") {
  for (int i = 0; i < 2000; ++i) {
    REQUIRE(memory->remember(slot(std::to_string(i)), run(1000min), soon()));
    clock.advance(1min);
  }
  CHECK(rows() < 1000 + 2 * 1000 / 64);
  const int before = shelf.calls;
  for (int i = 0; i < 64; ++i) REQUIRE(memory->remember(slot("x" + std::to_string(i)), run(1000min), soon()));
  CHECK(shelf.calls - before < 64 * 4);
}

TEST_CASE_FIXTURE(World, "gc removes what is over, says so, and leaves no group without a row") {
  REQUIRE(memory->remember(slot("short"), run(1s), soon()));
  memory->note_who_frees(kKey, std::vector<std::string>{"owner"}, "ops@ci: hangs");
  clock.advance(2s);
  auto swept = memory->sweep(true, 10s);
  REQUIRE(swept);
  REQUIRE(swept->size() == 1);
  CHECK(swept->front().name == slot("short"));
  CHECK(has_row("slot/short"));
  REQUIRE(memory->sweep(false, 10s));
  CHECK_FALSE(has_row("slot/short"));
  CHECK(memory->who_freed(kKey, "owner", soon()) == "ops@ci: hangs");
  CHECK(memory->sweep(false, 10s)->empty());
  clock.advance(1h);
  CHECK(memory->sweep(false, 10s)->size() == 1);
  CHECK(shelf.groups.empty());
}

TEST_CASE_FIXTURE(World, "gc keeps the highest token of a resource for ever") {
  CHECK(fence(7) == kPassed);
  REQUIRE(memory->remember(slot("short"), run(1s), soon()));
  clock.advance(10000h);
  CHECK(memory->sweep(false, 10s)->size() == 1);
  CHECK_FALSE(has_row("slot/short"));
  CHECK(memory->sweep(false, 10s)->empty());
  CHECK(fence(6) == ErrorCode::kLost);
}

TEST_CASE_FIXTURE(World, "what comes while gc looks is kept") {
  REQUIRE(memory->remember(slot("short"), run(1s), soon()));
  clock.advance(2s);
  for (int at = 0; at < 8; ++at) {
    CAPTURE(at);
    int calls = 0;
    bool inside = false;
    shelf.between = [&] {
      if (inside || calls++ != at) return;
      inside = true;
      REQUIRE(client()->remember(slot("new"), run(1h), soon()));
      REQUIRE(client()->fence(kKey, FencingToken(3), soon()));
    };
    REQUIRE(memory->sweep(false, 10s));
    shelf.between = {};
    if (!inside) break;
    CHECK(remembers("new"));
    CHECK(fence(2) == ErrorCode::kLost);
    shelf.groups.clear();
    REQUIRE(memory->remember(slot("short"), run(1s), soon()));
    clock.advance(2s);
  }
}

TEST_CASE_FIXTURE(World, "who frees a lock is told to its owner alone, unless it has not") {
  const std::vector<std::string> owners{"a", "b"};
  memory->note_who_frees(kKey, owners, "ops@ci: hangs");
  CHECK(memory->who_freed(kKey, "a", soon()) == "ops@ci: hangs");
  CHECK(memory->who_freed(kKey, "b", soon()) == "ops@ci: hangs");
  CHECK(memory->who_freed(kKey, "c", soon()).empty());
  memory->note_who_frees(kKey, owners, "");
  CHECK(memory->who_freed(kKey, "a", soon()).empty());
}

}  // namespace dlock::testing::row_memory_test
