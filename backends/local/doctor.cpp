// SPDX-License-Identifier: Apache-2.0
#include "backends/local/doctor.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "backends/local/files/byte_locks.h"
#include "backends/local/files/process.h"
#include "backends/local/view.h"
#include "lib/base/human_text.h"
#include "lib/base/system_error.h"
#include "lib/base/users.h"

namespace dlock::local {
namespace {

constexpr const char* kPingFile = "ping.lock";
constexpr const char* kPingKey = "ping";

Finding directory_finding(const LockDir& dir) {
  struct stat st {};
  fstat(dir.fd(), &st);
  return Finding::ok("lock directory " + dir.path() + ": owner " + user_name(st.st_uid) + ", mode " +
                     permissions_text(st.st_mode) + (dir.shared_by_group() ? ", shared with its group" : ""));
}

Finding file_system_finding(const LockDir& dir) {
  if (const char* fs = network_file_system(dir.fd())) {
    return Finding::warn(std::string("it lies on ") + fs + ": its locks may not reach other machines, or be lost",
                         "use a directory on a local disk, or a server for locks between machines");
  }
  return Finding::ok("it lies on a local file system");
}

Finding byte_lock_finding(const LockDir& dir) {
  const auto one = LockFile::open(dir, kPingFile, kPingKey);
  if (!one) return Finding::fail(one.error());
  const auto two = LockFile::open(dir, kPingFile, kPingKey);
  if (!two) return Finding::fail(two.error());
  const Range probe = queue_byte(1);
  const int failed = try_write_lock(one->fd(), probe);
  if (failed != 0 && failed != EAGAIN) {
    return Finding::fail("open-file-description locks: " + errno_text(failed),
                         "use a directory on a local file system (Linux 3.15 or later)", ErrorCode::kUnsupported);
  }
  const bool excluded = failed == EAGAIN || try_write_lock(two->fd(), probe) == EAGAIN;
  unlock_bytes(one->fd(), probe);
  if (excluded) return Finding::ok("open-file-description locks work");
  return Finding::fail("open-file-description locks do not exclude each other here",
                       "use a directory on a local file system", ErrorCode::kUnsupported);
}

Finding space_finding(const LockDir& dir) {
  struct statvfs fs {};
  if (fstatvfs(dir.fd(), &fs) != 0) return Finding::warn("free space is unknown: " + errno_text(errno), "");
  const unsigned long long free_mb = fs.f_bavail * static_cast<unsigned long long>(fs.f_frsize) / (1024 * 1024);
  const bool inodes = fs.f_files == 0 || fs.f_favail > 100;
  const std::string what = "free space: " + std::to_string(free_mb) + " MB, " + std::to_string(fs.f_favail) + " files";
  if (free_mb >= 16 && inodes) return Finding::ok(what);
  return Finding::warn(what, "make room: a key that is used for the first time needs 4 KiB and one file");
}

Finding watch_finding() {
  const UniqueFd probe(inotify_init1(IN_CLOEXEC));
  if (probe.valid()) return Finding::ok("inotify works: a force-release is seen at once");
  return Finding::warn("inotify is refused (" + errno_text(errno) + "): a force-release is seen within a second",
                       "raise the limit: sysctl fs.inotify.max_user_instances=1024");
}

Finding clock_finding(LocalContext& context) {
  constexpr std::int64_t kYear2020 = 1'577'836'800;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(context.runtime.clock.wall().time_since_epoch()).count();
  if (seconds > kYear2020) return Finding::ok("the clock is set: tokens go on growing even if lock files are lost");
  return Finding::warn("the clock stands before the year 2020", "set it: tokens of new keys start from the time");
}

}  // namespace

std::vector<Finding> diagnose(LocalContext& context) {
  const auto dir = context.directory();
  if (!dir) return {Finding::fail(dir.error())};
  std::vector<Finding> findings{directory_finding(**dir), file_system_finding(**dir),
                                byte_lock_finding(**dir), space_finding(**dir),
                                watch_finding(),          clock_finding(context)};
  if (pid_namespace() == 0) {
    findings.push_back(
        Finding::warn("/proc is missing: holders cannot be told apart from processes that reuse their pid",
                      "mount it: mount -t proc proc /proc"));
  }
  return findings;
}

Result<void> write_ping_file(LocalContext& context) {
  const auto dir = context.directory();
  if (!dir) return dir.error();
  const auto file = LockFile::open(**dir, kPingFile, kPingKey);
  if (!file) return file.error();
  if (const auto got = file->guard(); !got) return got.error();
  const Guarded guarded(*file);
  auto header = file->read_header();
  if (!header) return header.error();
  header->counter = next_ticket(*header, context.runtime.clock.wall().time_since_epoch().count());
  return file->write(*header);
}

}  // namespace dlock::local
