// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/layout.h"

#include <doctest/doctest.h>

#include <cstring>

#include "backends/local/fence_file.h"
#include "lib/lock/slots.h"
#include "lib/lock/who_text.h"

namespace dlock::local::layout_test {
namespace {

Record some_record() {
  Record record;
  record.ticket = 7;
  record.set_owner(Owner::random());
  record.set_host("ci-4");
  record.set_texts("deploy", {}, {});
  seal(record);
  return record;
}

FenceSlot some_slot(std::uint64_t token, std::uint64_t generation) {
  FenceSlot slot;
  slot.token = token;
  slot.generation = generation;
  slot.key_size = 1;
  slot.key[0] = 'k';
  seal(slot);
  return slot;
}

template <typename Block>
Block with_flipped_bit(const Block& block, std::size_t byte) {
  Block copy = block;
  unsigned char raw[sizeof(Block)];
  std::memcpy(raw, &copy, sizeof raw);
  raw[byte] ^= 0x10;
  std::memcpy(static_cast<void*>(&copy), raw, sizeof raw);
  return copy;
}

}  // namespace

TEST_CASE("a sealed block is sound, and a flipped bit anywhere makes it unsound") {
  Header header;
  header.counter = 100;
  seal(header);
  const Prologue prologue = prologue_for("key");
  const Record record = some_record();
  CHECK(sound(header));
  CHECK(sound(prologue));
  CHECK(sound(record));
  for (std::size_t i = 0; i < sizeof header; ++i) CHECK_FALSE(sound(with_flipped_bit(header, i)));
  for (std::size_t i = 0; i < sizeof prologue; ++i) CHECK_FALSE(sound(with_flipped_bit(prologue, i)));
  for (std::size_t i = 0; i < sizeof record; ++i) CHECK_FALSE(sound(with_flipped_bit(record, i)));
}

TEST_CASE(
    "slot and command lie behind the reason, which makes room for them, and what lies there by chance does no harm") {
  const std::string longest(kLongestSlot, 'x');
  for (const std::string& reason :
       {std::string(), std::string("deploy"), std::string(79, 'r'), std::string(40, '\xC3')}) {
    for (const std::string& slot : {std::string("0"), std::string("db2"), longest}) {
      CAPTURE(reason);
      CAPTURE(slot);
      Record record;
      record.ticket = 7;
      record.set_texts(reason, {}, {});
      CHECK(record.slot().empty());
      record.set_texts(reason, slot, {});
      seal(record);
      CHECK(sound(record));
      CHECK(record.slot() == slot);
      CHECK(reason.starts_with(record.reason));
      CHECK(std::strlen(record.reason) >= std::min<std::size_t>(reason.size(), 44));
    }
  }
  Record record;
  record.set_texts(std::string(79, 'r'), longest, std::string(kLongestCommandName, 'c'));
  CHECK(record.slot() == longest);
  CHECK(record.command() == std::string(kLongestCommandName, 'c'));
  CHECK(std::string_view(record.reason) == std::string(13, 'r'));
  record.set_texts("deploy", {}, "make");
  CHECK(record.slot().empty());
  CHECK(record.command() == "make");
  Record full;
  full.ticket = 7;
  std::memset(full.reason, 'x', sizeof full.reason - 1);
  seal(full);
  CHECK(sound(full));
  CHECK(full.slot().empty());
  CHECK(full.command().empty());
}

TEST_CASE("a header that contradicts itself is not sound, even with the right checksum") {
  struct Row {
    const char* what;
    void (*spoil)(Header&);
  };
  const Row rows[] = {
      {"a ticket past the last one", [](Header& h) { h.counter = kMaxTicket + 1; }},
      {"a writer younger than the counter", [](Header& h) { h.last_writer = h.counter + 1; }},
      {"revoked beyond the counter", [](Header& h) { h.revoked = h.counter + 1; }},
      {"a delay of a ticket never drawn", [](Header& h) { h.delay_ticket = h.counter + 1; }},
      {"a negative delay", [](Header& h) { h.delay_ns = -1; }},
      {"no ring", [](Header& h) { h.ring = 0; }},
      {"a huge ring", [](Header& h) { h.ring = kMaxRing + 1; }},
      {"a record behind the ring", [](Header& h) { h.next_record = h.ring; }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Header header;
    header.counter = 100;
    row.spoil(header);
    seal(header);
    CHECK_FALSE(sound(header));
  }
}

TEST_CASE("a record of zeros, of an unknown mode or with endless text is not sound") {
  Record empty;
  std::memset(static_cast<void*>(&empty), 0, sizeof empty);
  CHECK_FALSE(sound(empty));
  Record strange = some_record();
  strange.mode = 3;
  seal(strange);
  CHECK_FALSE(sound(strange));
  Record endless = some_record();
  std::memset(endless.host, 'x', sizeof endless.host);
  seal(endless);
  CHECK_FALSE(sound(endless));
}

TEST_CASE("an owner comes out of its record as it went in") {
  const Owner owner = Owner::random();
  Record record;
  record.set_owner(owner);
  CHECK(record.owner_text() == owner.text());
}

TEST_CASE("a long reason is cut at a character, not inside one") {
  Record record;
  record.set_texts(std::string(sizeof record.reason - 2, 'x') + "\xc3\xa9", {}, {});
  CHECK(std::string(record.reason) == std::string(sizeof record.reason - 2, 'x'));
  record.set_texts(std::string(sizeof record.reason - 3, 'x') + "\xc3\xa9", {}, {});
  CHECK(std::string(record.reason) == std::string(sizeof record.reason - 3, 'x') + "\xc3\xa9");
  record.set_texts("short", {}, {});
  CHECK(std::string(record.reason) == "short");
}

TEST_CASE("the next ticket is above the counter and above the time") {
  struct Row {
    std::uint64_t counter;
    std::int64_t wall_us;
    Ticket next;
  };
  const Row rows[] = {{0, 1000, 1000}, {999, 1000, 1000}, {1000, 1000, 1001}, {5000, 1000, 5001},
                      {0, 0, 1},       {0, -5, 1},        {10, -5, 11}};
  for (const Row& row : rows) {
    Header header;
    header.counter = row.counter;
    CHECK(next_ticket(header, row.wall_us) == row.next);
  }
}

TEST_CASE("a record of no process, or of no time, is none, even if its checksum adds up") {
  const auto with = [](std::int64_t Record::*field, std::int64_t value) {
    Record record = some_record();
    record.*field = value;
    seal(record);
    return record;
  };
  for (auto field : {&Record::pid, &Record::watch_pid, &Record::flock_pid}) {
    CHECK(sound(with(field, 4'194'304)));
    CHECK_FALSE(sound(with(field, -1)));
    CHECK_FALSE(sound(with(field, 0x1'0000'0001)));  // would be cut to process 1
  }
  for (auto field : {&Record::since_us, &Record::until_us, &Record::until_boot_ns, &Record::drawn_boot_ns}) {
    CHECK(sound(with(field, 1)));
    CHECK_FALSE(sound(with(field, -1)));
  }
}

TEST_CASE("a prologue keeps keys of any allowed length") {
  for (const std::string& key : {std::string("k"), std::string(255, 'x')}) {
    const Prologue prologue = prologue_for(key);
    CHECK(sound(prologue));
    CHECK(key_of(prologue) == key);
  }
}

TEST_CASE("of two fence slots the newer one counts; what no crash can have left is damage") {
  const FenceSlot first = some_slot(5, 1);
  const FenceSlot old_slot = some_slot(7, 2);
  const FenceSlot new_slot = some_slot(9, 3);
  const FenceSlot torn = with_flipped_bit(new_slot, 3);
  const FenceSlot blank;
  struct Row {
    const char* what;
    FenceSlot slots[2];
    int current;
    const char* damage;
  };
  const Row rows[] = {
      {"both the same", {new_slot, new_slot}, 0, ""},
      {"a crash before the second copy", {new_slot, old_slot}, 0, ""},
      {"the same of the other slot", {first, old_slot}, 1, ""},
      {"a crash before the copy of the first token", {first, blank}, 0, ""},
      {"first damaged", {torn, old_slot}, 0, "one of its two copies is damaged"},
      {"second damaged", {new_slot, torn}, 0, "one of its two copies is damaged"},
      {"first emptied", {blank, old_slot}, 0, "one of its two copies is damaged"},
      {"second emptied", {new_slot, blank}, 0, "one of its two copies is damaged"},
      {"both damaged", {torn, torn}, 0, "both copies are damaged"},
      {"emptied", {blank, blank}, 0, "it was emptied"},
      {"too far apart", {new_slot, first}, 0, "its two copies contradict each other"},
      {"the newer one has the lower token", {some_slot(4, 3), old_slot}, 0, "its two copies contradict each other"},
      {"one generation, two tokens", {some_slot(8, 3), new_slot}, 0, "its two copies contradict each other"}};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const FenceVerdict verdict = judge(row.slots, "k");
    CHECK(verdict.damage == row.damage);
    CHECK(verdict.current == row.current);
    CHECK_FALSE(judge(row.slots, "other").damage.empty());
  }
}

}  // namespace dlock::local::layout_test
