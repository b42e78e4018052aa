// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/slots.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/lock/who_text.h"

namespace slots_test {

using namespace dlock;

TEST_CASE("The first name that nobody has is the slot; without names, the lowest number") {
  const std::vector<std::string> databases{"db1", "db2", "db3"};
  struct Row {
    std::vector<std::string> names;
    int permits;
    std::vector<std::string> taken;
    const char* slot;
  };
  const Row rows[] = {
      {{}, 3, {}, "0"},
      {{}, 3, {"0"}, "1"},
      {{}, 3, {"2", "0"}, "1"},
      {{}, 3, {"1", "2"}, "0"},
      {{}, 3, {"", "0"}, "1"},     // a holder without a slot takes none
      {{}, 3, {"db1", "0"}, "1"},  // another one has named his
      {{}, 2, {"0", "1"}, ""},     // more holders than permits
      {{}, 11, {"0", "10"}, "1"},
      {databases, 3, {}, "db1"},
      {databases, 3, {"db1"}, "db2"},
      {databases, 3, {"db2", "db3"}, "db1"},
      {databases, 3, {"0", "db9"}, "db1"},
      {databases, 3, {"db3", "db2", "db1"}, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.slot);
    CHECK(free_slot(row.names, row.permits, row.taken) == row.slot);
  }
}

TEST_CASE("Of N names N - 1 others leave one, whatever names they have chosen") {
  const std::vector<std::vector<std::string>> lists{{}, {"a", "b", "c"}, {"c", "b", "a"}, {"c", "0", "2"}};
  for (const auto& first : lists) {
    for (const auto& second : lists) {
      for (const auto& third : lists) {
        std::vector<std::string> taken;
        for (const auto* names : {&first, &second, &third}) {
          const std::string slot = free_slot(*names, 3, taken);
          CHECK_FALSE(slot.empty());
          CHECK(std::count(taken.begin(), taken.end(), slot) == 0);
          taken.push_back(slot);
        }
      }
    }
  }
}

TEST_CASE("A list of slots is names of a few letters, each once") {
  const auto names = parse_slots("db1,db-2,host:5432/db_3,a@b.c");
  REQUIRE(names);
  CHECK(names->size() == 4);
  CHECK(slots_text(*names) == "db1,db-2,host:5432/db_3,a@b.c");
  CHECK(slots_text({}).empty());
  CHECK(parse_slots(std::string(kLongestSlot, 'x')));
  struct Row {
    std::string text;
    const char* why;
  };
  const Row rows[] = {
      {"", "has no name"},
      {"a,,b", "has no name"},
      {"a,", "has no name"},
      {",a", "has no name"},
      {"a,b,a", "'a' is named twice"},
      {"a, b", "' b' has a character at position 1"},
      {"a|b", "at position 2"},
      {"d\xC3\xA4"
       "b",
       "at position 2"},
      {std::string(kLongestSlot + 1, 'x'), "33 bytes long, 32 at most"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto refused = parse_slots(row.text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kInvalid);
    CHECK(refused.error().message.find(row.why) != std::string::npos);
  }
  std::string many = "0";
  for (std::size_t i = 1; i < kMostNamedSlots; ++i) many += "," + std::to_string(i);
  CHECK(parse_slots(many));
  CHECK_FALSE(parse_slots(many + ",x"));
}

TEST_CASE("A holder's slot stands behind what it says of itself, and may be missing") {
  const std::string who = who_text("release 2.4");
  CHECK(slot_of(who).empty());
  CHECK(with_slot(who, "") == who);
  Participant participant;
  add_who(participant, with_slot(who, "db2"));
  CHECK(participant.reason == "release 2.4");
  CHECK(participant.slot == "db2");
  CHECK(slot_of(with_slot(who_text(""), "0")) == "0");
  CHECK(slot_of(with_slot(who_text("a\x1f"
                                   "b"),
                          "0")) == "0");  // a reason may have any characters
  CHECK(slot_of("").empty());
  CHECK(slot_of("host").empty());
}

}  // namespace slots_test
