// SPDX-License-Identifier: Apache-2.0
// What a MySQL server may send as the row of a lock: what was not written by encode_holders() is refused, what is taken
// keeps to its limits and can be shown to people. The first byte of an input is the mode and the time of the look, the
// rest the column `holders`.
#include <algorithm>
#include <iterator>

#include "backends/mysql/lease/record.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "tests/fuzz/target.h"

const std::string_view dlock::kPieces[] = {
    "x0123456789abcdef0123456789abcdef 1795339205067872 1795339205067872 1795339235067872 0 77 a,b h\x1f"
    "7\x1fu\x1fr\n",
    "p- 0 0 1795339235067872 9000000000000000 0  \n",
    "o ",
    "- ",
    "7 ",
    "0 ",
    " ",
    "\n",
    ",",
    "9000000000000000 ",
    "9000000000000001 ",
    "9223372036854775807 ",
    "18446744073709551615 ",
    "18446744073709551616 ",
    "-1 ",
    "-9223372036854775808 ",
    "host\x1f"
    "99999999999999999999\x1fuser\x1f",
    "\x1b[31m",
    "\xff\xfe",
};
const std::size_t dlock::kPieceCount = std::size(kPieces);

using namespace dlock;
using namespace dlock::mysql;

namespace {

constexpr Mode kModes[] = {Mode::kExclusive, Mode::kShared, Mode::kPermits};

void check_participant(const Participant& participant) {
  promise(participant.pid >= 0 && participant.count >= 1, "a pid is a pid, and who holds holds once");
  for (const auto& time : {participant.since, participant.until}) {
    if (time) promise(rfc3339(*time).size() == rfc3339(WallTime{}).size(), "a time has four digits of a year");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto holders = decode_holders(as_text(data + 1, size - 1));
  if (!holders) return 0;
  const std::string written = encode_holders(*holders);
  const auto again = decode_holders(written);
  promise(again && encode_holders(*again) == written, "what was read can be written, and read again");
  const ServerTime now = data[0] < 128 ? 0 : kLatestTime / 2;
  const LeaseRow row{1, 1, kModes[data[0] % std::size(kModes)], data[0], *holders};
  const LockState state = state_of(row, *LockName::parse("k"), "mysql://h/d", now);
  promise(state.holders.size() <= holders->size(), "nobody is made up");
  std::for_each(state.holders.begin(), state.holders.end(), check_participant);
  static_cast<void>(inspect_text({state}, WallTime{}, Look{}));
  static_cast<void>(inspect_json(state));
  return 0;
}
