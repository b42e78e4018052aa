// SPDX-License-Identifier: Apache-2.0
#include "backends/local/admin.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>

#include "backends/local/files/byte_locks.h"
#include "backends/local/files/directory.h"
#include "backends/local/files/lock_dir.h"
#include "backends/local/files/path_lock.h"
#include "backends/local/files/process.h"
#include "backends/local/view.h"
#include "lib/base/human_text.h"
#include "lib/base/system_error.h"
#include "lib/base/users.h"
#include "lib/lock/lock_admin.h"

namespace dlock::local {
namespace {

/// The lock files of keys: "<32 hex digits>.lock".
bool is_key_file(const std::string& name) { return name.size() == 32 + std::string_view(".lock").size(); }

/// The locks whose files lie in `dir`.
Result<KnownLocks> locks_in(const LockDir& dir) {
  TRY_ASSIGN(const auto files, dir.list(".lock"));
  KnownLocks known;
  for (const std::string& file_name : files) {
    if (!is_key_file(file_name)) continue;
    const auto file = LockFile::open_existing(dir, file_name, {}, false);
    if (!file) known.unreadable.push_back({file_name, file.error()});
    if (!file || !*file) continue;
    const auto key = (*file)->key();
    const auto header = (*file)->read_header();
    if (!key && !header) known.unreadable.push_back({file_name, header.error()});
    const auto name = LockName::parse(key.value_or(std::string()));
    if (name && lock_file_name(*name) == file_name) known.names.push_back(*name);
  }
  return known;
}

/// One of them; nullopt: it has no file there.
Result<std::optional<LockState>> state_in(const LockDir& dir, const LocalContext& context, const LockName& name) {
  TRY_ASSIGN(const auto file, LockFile::open_existing(dir, lock_file_name(name), name.text(), false));
  if (!file) return std::optional<LockState>();
  TRY_ASSIGN(const auto view, read_view(*file, name.is_path(), context.runtime.clock.now()));
  LockState state = describe(view, context, name);
  state.ever_taken = true;
  return std::optional(std::move(state));
}

struct Neighbour {
  std::string directory;
  std::uint32_t uid = 0;
  std::string user;  ///< whose it is
  auto operator<=>(const Neighbour&) const = default;
};

std::set<Neighbour> neighbours() {
  std::set<Neighbour> found{{kSystemDirectory, 0, {}}};
  for_each_user([&](const passwd& entry) {
    const bool has_home = entry.pw_uid != 0 && entry.pw_dir[0] == '/';
    if (has_home) found.insert({directory_below(entry.pw_dir), entry.pw_uid, entry.pw_name});
    return true;
  });
  return found;
}

void add(LiveLocks& live, const Neighbour& neighbour, const LocalContext& context) {
  const auto dir = LockDir::open_for_looking(neighbour.directory, neighbour.uid);
  if (!dir) return;
  const LocalContext theirs = {.runtime = context.runtime,
                               .settings = {.store = "local:" + neighbour.directory, .directory = neighbour.directory},
                               .host = context.host};
  auto known = locks_in(*dir);
  if (!known) return;
  auto some = inspect_each(std::move(*known), [&](std::span<const LockName> names) {
    std::vector<Result<LockState>> states;
    for (const LockName& name : names) {
      auto state = state_in(*dir, theirs, name);
      if (!state) states.emplace_back(state.error());
      else
        states.emplace_back(
            *state ? std::move(**state)
                   : LockState{.name = name, .store = theirs.settings.store, .holders = {}, .waiters = {}});
    }
    return states;
  });
  if (!some) return;
  std::move(some->unreadable.begin(), some->unreadable.end(), std::back_inserter(live.unreadable));
  for (LockState& state : some->locks) {
    state.directory_of = neighbour.user;
    live.locks.push_back(std::move(state));
  }
}

/// Drops the records of a key without holders and waiters. The file stays, for the tokens.
Result<std::optional<Swept>> sweep(const LockDir& dir, TimePoint now, const std::string& file_name, bool dry_run) {
  TRY_ASSIGN(const auto file, LockFile::open_existing(dir, file_name, {}, true));
  if (!file) return std::optional<Swept>();
  TRY_ASSIGN(const auto got, file->try_guard());
  if (!got) return std::optional<Swept>();
  const Guarded guarded(*file);
  TRY_ASSIGN(auto header, file->read_header());
  const auto name = LockName::parse(file->key().value_or(std::string()));
  const std::size_t records = file->read_records().size();
  TRY_ASSIGN(const auto view, read_view(*file, name && name->is_path(), now));
  const bool in_use = !view.holders.empty() || !view.waiters.empty();
  if (!name || in_use) return std::optional<Swept>();
  if (records == 0) return std::optional<Swept>();
  if (!dry_run) {
    header.ring = kSmallRing;
    header.next_record = 0;
    header.oldest_lease = 0;
    TRY(file->write(header));
    TRY(file->drop_records());
  }
  const std::string what = std::to_string(records) + (records == 1 ? " record" : " records") + " of past holders";
  return std::optional<Swept>(Swept{*name, what});
}

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
    return Finding::warn(std::string("it is on ") + fs + ": its locks may not reach other machines, or may be lost",
                         "use a directory on a local disk, or a server for locks between machines");
  }
  return Finding::ok("it is on a local file system");
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
  return Finding::warn("the clock is set before the year 2020", "set it: tokens of new keys start from the time");
}

}  // namespace

/// The key was not taken through this directory; its file, if it is a path, may be locked all the same.
LockState LocalAdmin::untouched(const LockName& name) const {
  LockState state = describe(View(), context_, name);
  state.ever_taken = !state.holders.empty() || !state.waiters.empty();
  return state;
}

Result<LockState> LocalAdmin::inspect(const LockName& name) {
  auto state = read_state(name);
  if (!state || !state->holders.empty() || !name.is_path()) return state;
  TRY(can_tell_flock_users(name.text()));
  return state;
}

Result<LockState> LocalAdmin::read_state(const LockName& name) {
  if (name.is_path() && context_.has_no_directory()) return untouched(name);
  TRY_ASSIGN(const auto dir, context_.existing_directory());
  TRY_ASSIGN(auto state, dir ? state_in(*dir, context_, name) : std::optional<LockState>());
  return state ? std::move(*state) : untouched(name);
}

Result<KnownLocks> LocalAdmin::known_locks() {
  TRY_ASSIGN(const auto dir, context_.existing_directory());
  return dir ? locks_in(*dir) : KnownLocks();
}

/// A holder of flock(2) on the file of a path key is not asked: that is another lock.
std::vector<Result<LockState>> LocalAdmin::inspect_some(std::span<const LockName> names) {
  std::vector<Result<LockState>> states;
  for (const LockName& name : names) states.push_back(read_state(name));
  return states;
}

/// The kernel takes and gives a lock in no time; what takes its time is the file.
Result<AdminCommon::Release> LocalAdmin::take_for_ping(const LockName& /*name*/) {
  TRY_ASSIGN(const auto dir, context_.directory());
  TRY_ASSIGN(const auto file, LockFile::open(*dir, kPingFile, kPingKey));
  TRY(file.guard());
  const Guarded guarded(file);
  TRY_ASSIGN(auto header, file.read_header());
  header.counter = next_ticket(header, context_.runtime.clock.wall().time_since_epoch().count());
  TRY(file.write(header));
  return Release([] { return Result<void>(); });
}

/// For root, whose own directory is the default one: the locks of local:system and of the directories of all users in
/// /etc/passwd, each with its own store and whose it is. Others may not look there; for them there are none.
LiveLocks LocalAdmin::inspect_neighbours() {
  LiveLocks live;
  if (geteuid() != 0 || !context_.settings.directory.empty()) return live;
  for (const Neighbour& neighbour : neighbours()) add(live, neighbour, context_);
  return live;
}

std::vector<Finding> LocalAdmin::diagnose() {
  const auto dir = context_.directory();
  if (!dir) return {Finding::fail(dir.error())};
  std::vector<Finding> findings{directory_finding(**dir), file_system_finding(**dir),
                                byte_lock_finding(**dir), space_finding(**dir),
                                watch_finding(),          clock_finding(context_)};
  if (pid_namespace() == 0) {
    findings.push_back(
        Finding::warn("/proc is missing: holders cannot be told apart from processes that reuse their pid",
                      "mount it: mount -t proc proc /proc"));
  }
  return findings;
}

Result<std::vector<Swept>> LocalAdmin::collect_garbage(bool dry_run) {
  TRY_ASSIGN(const auto dir, context_.existing_directory());
  if (!dir) return std::vector<Swept>();
  TRY_ASSIGN(const auto names, dir->list(".lock"));
  std::vector<Swept> all;
  std::vector<Error> refused;
  std::size_t looked_at = 0;
  for (const std::string& file_name : names) {
    if (!is_key_file(file_name)) continue;
    ++looked_at;
    auto swept = sweep(*dir, context_.runtime.clock.now(), file_name, dry_run);
    if (!swept) refused.push_back(swept.error());
    else if (*swept) all.push_back(std::move(**swept));
  }
  if (looked_at > 0 && refused.size() == looked_at) {
    refused.front().message.insert(0, "nothing can be swept in " + store() + ": ");
    return std::move(refused.front());
  }
  for (const Error& error : refused) context_.runtime.log.warn(error.message);
  std::sort(all.begin(), all.end(), [](const Swept& a, const Swept& b) { return a.name < b.name; });
  return all;
}

}  // namespace dlock::local
