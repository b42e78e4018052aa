// SPDX-License-Identifier: Apache-2.0
// What a MySQL server may send as the record beside a lock: whatever it is, it can be shown to people, and what was
// read can be written, and read again. (What it may send as a lease: lock_record_fuzz.)
#include <iterator>

#include "backends/mysql/connection/record.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "tests/fuzz/target.h"

const std::string_view dlock::kPieces[] = {
    "77 0123456789abcdef0123456789abcdef h\x1f"
    "7\x1fu\x1fr",
    "18446744073709551616 ",
    "-1 ",
    " ",
    "host\x1f"
    "99999999999999999999\x1fuser\x1f",
    "\x1b[31m",
    "\xff\xfe",
};
const std::size_t dlock::kPieceCount = std::size(kPieces);

using namespace dlock;
using namespace dlock::mysql;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint64_t token = data[0] < 128 ? data[0] : ~0ULL - data[0];
  const HolderRecord record = decode_holder(token, as_text(data + 1, size - 1));
  if (!record.owner.empty()) {
    promise(decode_holder(token, encode_holder(record)) == record, "what was read can be written, and read again");
  }
  const Participant participant = participant_of(record);
  promise(participant.pid >= 0 && participant.count >= 1, "a pid is a pid, and who holds holds once");
  promise(rfc3339(*participant.since).size() == rfc3339(WallTime{}).size(), "a time has four digits of a year");
  const LockState state{*LockName::parse("k"), "mysql://h/d", Mode::kExclusive, 0, {participant}, {}};
  static_cast<void>(inspect_text({state}, WallTime{}, Look{}));
  static_cast<void>(inspect_json(state));
  return 0;
}
