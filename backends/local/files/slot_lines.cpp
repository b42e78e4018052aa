// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/slot_lines.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/local/files/checksum.h"
#include "backends/local/files/standing_leases.h"
#include "lib/base/system_error.h"

namespace dlock::local {

bool sound(const SlotLine& line) {
  return line.checksum == checksum_of(line) && line.slot[sizeof line.slot - 1] == '\0' &&
         line.who[sizeof line.who - 1] == '\0' && line.slot[0] != '\0' && line.until_boot_ns > 0;
}

bool lasts(const SlotLine& line, TimePoint now) {
  return sound(line) && line.until_boot_ns > now.time_since_epoch().count() && line.boot == this_boot();
}

std::vector<SlotLine> read_slot_lines(const LockFile& file) {
  struct stat size {};
  const bool seen = fstat(file.fd(), &size) == 0;
  const auto end = seen ? static_cast<std::size_t>(size.st_size) : 0;
  std::vector<SlotLine> lines(end > slot_line_at(0) ? (end - slot_line_at(0)) / sizeof(SlotLine) : 0);
  const ssize_t n =
      pread(file.fd(), lines.data(), lines.size() * sizeof(SlotLine), static_cast<off_t>(slot_line_at(0)));
  lines.resize(n > 0 ? static_cast<std::size_t>(n) / sizeof(SlotLine) : 0);
  return lines;
}

Result<void> write_slot_line(const LockFile& file, std::size_t place, SlotLine line) {
  line.checksum = checksum_of(line);
  const ssize_t n = pwrite(file.fd(), &line, sizeof line, static_cast<off_t>(slot_line_at(place)));
  if (n == sizeof line) return {};
  return system_error("cannot write the lock file " + file.path(), n < 0 ? errno : ENOSPC);
}

Result<void> sweep_slot_lines(const LockFile& file, const std::vector<SlotLine>& lines, TimePoint now) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lasts(lines[i], now)) end = i + 1;
  }
  for (std::size_t i = 0; i < end; ++i) {
    if (lasts(lines[i], now)) continue;
    TRY(write_slot_line(file, i, SlotLine()));
  }
  if (end == lines.size() || ftruncate(file.fd(), static_cast<off_t>(slot_line_at(end))) == 0) return {};
  return system_error("cannot shorten the lock file " + file.path(), errno);
}

}  // namespace dlock::local
