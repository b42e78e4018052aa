// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/detached.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "lib/base/descriptor_io.h"
#include "lib/base/mkdir_for_owner.h"
#include "lib/base/random.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/keeper/message.h"

namespace dlock::zookeeper {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(10);  ///< whether another dlock is done with a file
constexpr char kEnding[] = ".lease";
constexpr std::size_t kLongestLease = 4096;  ///< of all but the longest keys
constexpr Duration kSpareAge = std::chrono::hours(1);

Result<std::string> folder_of_user() {
  if (geteuid() == 0) return std::string("/var/lib/dlock/zookeeper");
  const char* state = getenv("XDG_STATE_HOME");
  if (state && *state == '/') return std::string(state) + "/dlock/zookeeper";
  const char* home = getenv("HOME");
  if (home && *home == '/') return std::string(home) + "/.local/state/dlock/zookeeper";
  return Error{ErrorCode::kMisconfigured, "there is no place for the session of a lease: HOME is not set",
               "set XDG_STATE_HOME or HOME"};
}

Result<void> make_folder(const std::string& folder) {
  for (std::size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (mkdir_for_owner(part, 0700) != 0 && errno != EEXIST) return system_error("cannot make " + part, errno);
    if (end == std::string::npos) return {};
  }
}

Result<UniqueFd> make_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return system_error("cannot make " + path, errno);
  return file;
}

Message message_of(const DetachedLease& lease) {
  Message message{"lease", {}};
  message.fields["key"] = lease.name.text();
  message.fields["owner"] = lease.owner.text();
  message.fields["store"] = lease.store;
  message.fields["session"] = std::to_string(lease.key.id);
  message.fields["password"] = hex(lease.key.password);
  message.fields["server"] = lease.key.server;
  message.fields["token"] = lease.token.text();
  message.fields["delay"] = std::to_string(lease.lock_delay.count());
  message.fields["timeout"] = std::to_string(lease.timeout.count());
  message.fields["settled"] = std::to_string(lease.settled.time_since_epoch().count());
  for (std::size_t i = 0; i < lease.paths.size(); ++i) message.fields["node" + std::to_string(i)] = lease.paths[i];
  return message;
}

std::optional<DetachedLease> lease_of(const Message& message) {
  const auto field = [&](const char* name) {
    const std::string* value = message.find(name);
    return value ? *value : std::string();
  };
  auto name = LockName::parse(field("key"));
  auto owner = Owner::parse(field("owner"));
  auto token = FencingToken::parse(field("token"));
  auto password = from_hex(field("password"));
  if (message.verb != "lease" || !name || !owner || !token || !password) return std::nullopt;
  DetachedLease lease{*name,
                      *owner,
                      field("store"),
                      {leading_number<std::int64_t>(field("session")), *password, field("server")},
                      *token,
                      Duration(leading_number<std::int64_t>(field("delay"))),
                      Duration(leading_number<std::int64_t>(field("timeout"))),
                      {}};
  lease.settled = TimePoint(Duration(leading_number<std::int64_t>(field("settled"))));
  for (int i = 0; const std::string* path = message.find("node" + std::to_string(i)); ++i) {
    lease.paths.push_back(*path);
  }
  if (lease.paths.empty()) return std::nullopt;
  return lease;
}

}  // namespace

Result<LeaseFiles> LeaseFiles::open(bool make) {
  auto folder = folder_of_user();
  if (!folder) return folder.error();
  if (make) {
    if (const auto made = make_folder(*folder); !made) return made.error();
  }
  return LeaseFiles(std::move(*folder));
}

std::string LeaseFiles::path_of(const Owner& owner) const { return folder_ + "/" + owner.text() + kEnding; }

Result<void> LeaseFiles::check() const {
  const std::string path = folder_ + "/" + random_hex(8);
  const auto file = make_file(path);
  if (!file) return file.error();
  const bool written = write_all(file->get(), std::string(kLongestLease, ' '));
  const int errnum = errno;
  unlink(path.c_str());
  return written ? Result<void>() : system_error("cannot write " + path, errnum);
}

Result<UniqueFd> LeaseFiles::write(const DetachedLease& lease) const {
  const std::string path = path_of(lease.owner);
  const std::string draft = path + "." + random_hex(4);
  auto made = make_file(draft);
  if (!made) return made;
  UniqueFd file = std::move(*made);
  errno = EIO;
  if (fchmod(file.get(), 0600) == 0 && write_all(file.get(), encode(message_of(lease))) &&
      flock(file.get(), LOCK_EX | LOCK_NB) == 0 && rename(draft.c_str(), path.c_str()) == 0) {
    return file;
  }
  const int errnum = errno;
  unlink(draft.c_str());
  return system_error("cannot write " + path, errnum);
}

Result<UniqueFd> LeaseFiles::lock(const Owner& owner, TimePoint until, Clock& clock) const {
  const std::string path = path_of(owner);
  while (true) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid()) return file;  // reading says why
    struct stat locked {};
    struct stat there {};
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0 && fstat(file.get(), &locked) == 0 &&
        stat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino) {
      return file;
    }
    if (clock.now() >= until) return Error{ErrorCode::kUnavailable, path + " is in use by another dlock", "try again"};
    clock.sleep_until(std::min(until, clock.now() + kLookAgain));
  }
}

Result<std::optional<DetachedLease>> LeaseFiles::read(const Owner& owner) const {
  const std::string path = path_of(owner);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return std::optional<DetachedLease>();
  if (!file.valid()) return system_error("cannot read " + path, errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return system_error("cannot read " + path, errno);
  if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return Error{ErrorCode::kDenied, path + " is not ours alone", "it must belong to its user, with mode 0600"};
  }
  std::string text(kLargestMessage, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return system_error("cannot read " + path, errno);
  const auto message = decode(std::string_view(text).substr(0, static_cast<std::size_t>(size)));
  auto lease = message ? lease_of(*message) : std::nullopt;
  if (!lease || lease->owner != owner) {
    return Error{ErrorCode::kMisconfigured, path + " is not the session of a lease",
                 "delete it: the lease ends by itself"};
  }
  return lease;
}

void LeaseFiles::remove(const Owner& owner) const { unlink(path_of(owner).c_str()); }

void LeaseFiles::sweep_old() const {
  for (const Owner& owner : owners()) {
    struct stat status {};
    const auto lease = read(owner);
    if (!lease || !*lease || stat(path_of(owner).c_str(), &status) != 0) continue;
    const auto timeout = std::chrono::ceil<std::chrono::seconds>((*lease)->timeout + kSpareAge).count();
    if (time(nullptr) > status.st_mtime + timeout) remove(owner);
  }
}

std::vector<Owner> LeaseFiles::owners() const {
  std::vector<Owner> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(folder_.c_str()), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (!name.ends_with(kEnding)) continue;
    if (auto owner = Owner::parse(name.substr(0, name.size() - sizeof kEnding + 1))) found.push_back(*owner);
  }
  return found;
}

}  // namespace dlock::zookeeper
