// SPDX-License-Identifier: Apache-2.0
// A fence file is bad input, whatever lies on the disk: refused, or no token passes that is lower than one that it
// shows. The first byte of an input says which of the two slots get a checksum that adds up, since no random one ever
// does.
#include <cstring>

#include "backends/local/fence_file.h"
#include "tests/fuzz/target.h"

using namespace dlock;
using namespace dlock::local;
using namespace std::string_view_literals;

const std::string_view dlock::kPieces[] = {
    "\0"sv, "\1"sv, "\2"sv, "\3"sv,
    // token, generation, size and text of the key
    "\5\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0db"sv, "\7\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0db"sv,
    "\4\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0db"sv, "\5\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0other"sv,
    "\377\377\377\377\377\377\377\377"sv, "\0\0\0\0\0\0\0\0"sv, "\377\1\0\0\0\0\0\0"sv};
const std::size_t dlock::kPieceCount = std::size(kPieces);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kUsed = 26;  // of a slot: what the pieces fill; the rest is zeros
  if (size == 0) return 0;
  const unsigned sealed = data[0];
  FenceSlot slots[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t at = 1 + i * kUsed;
    if (at < size)
      std::memcpy(static_cast<void*>(&slots[i]), data + at, std::min(size - at, i == 0 ? kUsed : sizeof slots[i]));
    if (sealed & (1U << i)) seal(slots[i]);
  }
  const FenceVerdict verdict = judge(slots, "db");
  promise(verdict.current == 0 || verdict.current == 1, "there are two slots");
  if (!verdict.damage.empty()) return 0;
  const FenceSlot& counts = slots[verdict.current];
  promise(sound(counts), "what counts adds up");
  promise(std::string_view(counts.key, counts.key_size) == "db", "what counts is of this key");
  const FenceSlot& other = slots[1 - verdict.current];
  promise(!sound(other) || other.token <= counts.token, "no slot has a higher token than what counts");
  promise(sound(other) || counts.generation == 1, "a copy is missing only of the first token");
  return 0;
}
