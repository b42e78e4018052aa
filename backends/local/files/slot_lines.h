// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/local/files/layout.h"
#include "backends/local/files/store.h"
#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock::local {

/// A slot of --once that has run: one line for each in the file of its key, after all reasons. It lasts until its
/// deadline on the boot clock, and no longer than the boot.
struct SlotLine {
  char slot[256] = {};  ///< NUL-terminated, as `who`: a text of who_text.h, with how it has ended
  char who[704] = {};
  unsigned char owner[16] = {};
  BootId boot = {};
  std::int64_t since_us = 0;       ///< wall clock: when it had run
  std::int64_t until_boot_ns = 0;  ///< boot clock
  std::int64_t remember_us = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(SlotLine) == 1024);

constexpr std::size_t slot_line_at(std::size_t place) { return kSlotsAt + place * sizeof(SlotLine); }

bool sound(const SlotLine& line);
bool lasts(const SlotLine& line, TimePoint now);

/// All lines of a file, by their places; one that does not last is as good as free.
std::vector<SlotLine> read_slot_lines(const LockFile& file);
/// REQUIRES: the guard.
Result<void> write_slot_line(const LockFile& file, std::size_t place, SlotLine line);
/// REQUIRES: the guard. Frees those of `lines` that do not last any more; the file ends with the last that does.
Result<void> sweep_slot_lines(const LockFile& file, const std::vector<SlotLine>& lines, TimePoint now);

}  // namespace dlock::local
