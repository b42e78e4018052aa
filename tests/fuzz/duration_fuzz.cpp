// SPDX-License-Identifier: Apache-2.0
#include "lib/config/duration_text.h"
#include "tests/fuzz/target.h"

using namespace dlock;

const std::string_view dlock::kPieces[] = {"10",  "0.5", "500ms", "10s", "1m",     "30s",
                                           "2h",  "1d",  "min",   ".",   "-",      "99999999",
                                           "0",   "e",   " ",     "",    "36500d", "9223372036854775807",
                                           "1e9", "us",  "000",   "1,5", "1ms",    "0.000000001"};
const std::size_t dlock::kPieceCount = std::size(kPieces);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto duration = parse_duration(as_text(data, size));
  if (!duration) {
    promise(!duration.error().message.empty() && !duration.error().next.empty(), "an error says what and what next");
    promise(duration.error().message.size() < 300, "an error is short");
    return 0;
  }
  promise(duration->count() >= 0, "no duration is negative");
  promise(*duration <= kLongestDuration, "no duration is longer than the longest");
  const auto again = parse_duration(spell_duration(*duration));
  promise(static_cast<bool>(again), "a spelled duration is a duration");
  const auto cut = duration->count() < 1'000'000 ? 1 : 1'000'000;
  promise(again->count() == duration->count() / cut * cut, "a spelled duration is the same, to the millisecond");
  return 0;
}
