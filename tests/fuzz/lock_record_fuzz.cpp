// SPDX-License-Identifier: Apache-2.0
// What a store may have as the row of a lock: what was not written by encode_record() is refused, what is taken keeps
// to its limits and can be shown to people, and every decision about it makes a record that can be read again. The
// first byte of an input is the time of the look, the rest the row.
#include <algorithm>
#include <iterator>

#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "lib/row_lock/rules.h"
#include "tests/fuzz/target.h"

const std::string_view dlock::kPieces[] = {
    "x 0\n",
    "s 0\n",
    "p 3\n",
    "h 0123456789abcdef0123456789abcdef = = +30000000 0 h\x1f"
    "7\x1fu\x1fr\n",
    "h o 1795339205067872 1795339205067872 1795339235067872 10000000 w\n",
    "h - 1 1795339235067872 1795339235067872 9000000000000000 \n",
    "w o x = +6000000 h\x1f"
    "7\x1fu\x1fr\n",
    "w o p 1 1 \n",
    "h ",
    "w ",
    "= ",
    "+",
    "0 ",
    " ",
    "\n",
    "9000000000000000 ",
    "9000000000000001 ",
    "9223372036854775807 ",
    "18446744073709551616 ",
    "-1 ",
    "host\x1f"
    "99999999999999999999\x1fuser\x1f",
    "\x1b[31m",
    "\xff\xfe",
};
const std::size_t dlock::kPieceCount = std::size(kPieces);

using namespace dlock;

namespace {

void check_participant(const Participant& participant) {
  promise(participant.pid >= 0 && participant.count >= 1, "a pid is a pid, and who holds holds once");
  for (const auto& time : {participant.since, participant.until}) {
    if (time) promise(rfc3339(*time).size() == rfc3339(WallTime{}).size(), "a time has four digits of a year");
  }
}

void check_readable(const LockRecord& record, StoreTime now) {
  promise(decode_record({encode_record(record), 2, now}, now).has_value(), "what was written can be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const StoreTime now = data[0] < 128 ? 1 : kLatestTime / 2;
  const auto record = decode_record({std::string(as_text(data + 1, size - 1)), 1, now}, now);
  if (!record) return 0;
  const auto again = decode_record({encode_record(*record), 1, now}, now);
  promise(again && *again == *record, "what was read can be written, and read again");
  const LockState state = state_of(*record, *LockName::parse("k"), "store", now);
  promise(state.holders.size() <= record->holders.size(), "nobody is made up");
  std::for_each(state.holders.begin(), state.holders.end(), check_participant);
  std::for_each(state.waiters.begin(), state.waiters.end(), check_participant);
  static_cast<void>(inspect_text({state}, WallTime{}, Look{}));
  static_cast<void>(inspect_json(state));
  const LeaseAsk ask{.owner = *Owner::parse("0123456789abcdef0123456789abcdef"), .ttl = std::chrono::seconds(30)};
  const LeaseDecision decision = try_take(*record, ask, now);
  if (const auto* take = std::get_if<LeaseTake>(&decision)) check_readable(take->next, now);
  check_readable(with_waiter(*record, ask, std::chrono::seconds(6), now), now);
  if (const auto freed = force_free(*record, state, now)) check_readable(*freed, now);
  static_cast<void>(next_owners(*record, now));
  return 0;
}
