// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/standing_leases.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "backends/local/files/process.h"
#include "lib/base/process.h"
#include "lib/base/text.h"

namespace dlock::local {
namespace {

BootId read_boot() {
  const UniqueFd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[37] = {};  // 36 characters and the end of the line
  if (read(file.get(), text, sizeof text) != sizeof text) return {};
  std::string digits(text, sizeof text - 1);
  std::erase(digits, '-');
  BootId boot{};
  return from_hex(digits, boot) ? boot : BootId{};
}

/// Where nothing says that it is gone (no /proc, or the pids of another container), it lives.
bool still_runs(const Record& record) {
  if (record.pid_namespace != pid_namespace()) return true;
  const auto pid = static_cast<pid_t>(record.watch_pid);
  if (kill(pid, 0) != 0 && errno == ESRCH) return false;
  const auto process = look_up_process(pid);
  return !process || (started_ns(process->id) == record.drawn_boot_ns && !has_ended(*process));
}

}  // namespace

const BootId& this_boot() {
  static const BootId boot = read_boot();
  return boot;
}

void forget_earlier_boot(Header& header, const BootId& boot) {
  const BootId unknown{};
  if (header.boot == boot || header.boot == unknown || boot == unknown) return;
  header.delay_until_ns = 0;
  header.oldest_lease = 0;
}

void begin_delay(Header& header, TimePoint end, const BootId& boot) {
  forget_earlier_boot(header, boot);
  header.delay_ticket = 0;
  header.delay_until_ns = end.time_since_epoch().count();
  header.boot = boot;
}

void announce_lease(Header& header, Ticket ticket, const BootId& boot) {
  forget_earlier_boot(header, boot);
  header.oldest_lease = header.oldest_lease == 0 ? ticket : std::min<Ticket>(header.oldest_lease, ticket);
  header.boot = boot;
}

void set_end(Record& lease, Duration ttl, const Clock& clock) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(ttl);
  lease.until_boot_ns = (clock.now() + ttl).time_since_epoch().count();
  lease.until_us = (clock.wall() + microseconds).time_since_epoch().count();
}

bool lasts(const Record& record, std::int64_t boot_ns) {
  const bool holds = (record.flags & Record::kGranted) && !(record.flags & Record::kGivenBack);
  if (!holds || !(record.flags & (Record::kLease | Record::kAtLeast))) return false;
  return record.watch_pid != 0 ? still_runs(record) : record.until_boot_ns > boot_ns;
}

std::vector<LockFile::Placed> standing_leases(const LockFile& file, const Header& header, TimePoint now) {
  Header present = header;
  if (header.oldest_lease != 0) forget_earlier_boot(present, this_boot());
  if (present.oldest_lease == 0) return {};
  auto leases = file.read_records();
  std::erase_if(leases, [&](const LockFile::Placed& one) {
    const bool counts = one.record.ticket >= present.oldest_lease && one.record.ticket > present.revoked;
    return !counts || !lasts(one.record, now.time_since_epoch().count());
  });
  std::sort(leases.begin(), leases.end(),
            [](const auto& a, const auto& b) { return a.record.ticket < b.record.ticket; });
  return leases;
}

LiveTicket ticket_of(const Record& record) { return {side_of(record.lock_mode()), record.ticket, 1}; }

std::vector<LiveTicket> with_leases(std::vector<LiveTicket> live, const std::vector<LockFile::Placed>& leases) {
  for (const LockFile::Placed& lease : leases) {
    const LiveTicket ticket = ticket_of(lease.record);
    const auto at = std::lower_bound(live.begin(), live.end(), ticket,
                                     [](const LiveTicket& a, const LiveTicket& b) { return a.ticket < b.ticket; });
    if (at == live.end() || at->ticket != ticket.ticket) live.insert(at, ticket);
    else if (lease.record.flags & Record::kLease) ++at->entries;  // its runs inside
  }
  return live;
}

std::optional<TimePoint> first_end(const std::vector<LockFile::Placed>& leases) {
  std::optional<TimePoint> first;
  for (const LockFile::Placed& lease : leases) {
    if (lease.record.watch_pid == 0) first = earlier(first, TimePoint(Duration(lease.record.until_boot_ns)));
  }
  return first;
}

}  // namespace dlock::local
