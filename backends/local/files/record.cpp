// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/record.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "backends/local/files/checksum.h"
#include "backends/local/files/rules.h"
#include "lib/base/text.h"
#include "lib/lock/slots.h"
#include "lib/lock/who_text.h"

namespace dlock::local {
namespace {

template <std::size_t kSize>
void put_text(char (&field)[kSize], std::string_view text, std::size_t most = kSize - 1) {
  text = utf8_prefix(text, most);
  std::memset(field, 0, kSize);
  std::memcpy(field, text.data(), text.size());
}

/// The text after the first `skipped` of `texts`, which each end in a NUL.
std::string_view text_behind(std::string_view texts, int skipped) {
  for (; skipped > 0; --skipped) cut(texts, '\0');
  return cut(texts, '\0');
}

}  // namespace

std::string Record::owner_text() const { return hex(owner); }

void Record::set_owner(const Owner& handle) {
  const bool read = from_hex(handle.text(), owner);
  assert(read);  // an owner of this store always is that many bytes
  (void)read;
}

void Record::set_host(std::string_view text) { put_text(host, text); }

void Record::set_texts(std::string_view why, std::string_view slot, std::string_view command) {
  static_assert(kLongestSlot + kLongestCommandName + 3 < sizeof reason);
  const std::size_t behind = slot.empty() && command.empty() ? 0 : slot.size() + 1 + command.size() + 1;
  put_text(reason, why, sizeof reason - 1 - behind);
  if (behind == 0) return;
  char* at = reason + std::strlen(reason) + 1;
  for (const std::string_view text : {slot, command}) {
    at = std::copy(text.begin(), text.end(), at) + 1;
  }
}

std::string_view Record::slot() const { return text_behind({reason, sizeof reason}, 1); }
std::string_view Record::command() const { return text_behind({reason, sizeof reason}, 2); }

void seal(Record& record) { record.checksum = checksum_of(record); }

bool sound(const Record& record) {
  const auto is_pid = [](std::int64_t pid) { return pid >= 0 && pid <= std::numeric_limits<std::int32_t>::max(); };
  const bool times =
      record.since_us >= 0 && record.until_us >= 0 && record.until_boot_ns >= 0 && record.drawn_boot_ns >= 0;
  return record.checksum == checksum_of(record) && record.ticket >= 1 && record.ticket <= kMaxTicket && times &&
         is_pid(record.pid) && is_pid(record.watch_pid) && is_pid(record.flock_pid) &&
         record.mode <= static_cast<std::uint32_t>(Mode::kPermits) && record.host[sizeof record.host - 1] == '\0' &&
         record.reason[sizeof record.reason - 1] == '\0';
}

}  // namespace dlock::local
