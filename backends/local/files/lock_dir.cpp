// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/lock_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "backends/local/files/directory.h"
#include "lib/base/human_text.h"
#include "lib/base/mkdir_for_owner.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"

namespace dlock::local {
namespace {

struct NetworkFs {
  std::uint32_t magic;
  const char* name;
};
// statfs(2). FUSE is refused because sshfs and its kin look like the harmless ones.
constexpr NetworkFs kNetworkFs[] = {
    {0x6969, "NFS"},        {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"}, {0x517b, "SMB"},      {0x65735546, "FUSE"},
    {0x01021997, "9P"},     {0x5346414f, "AFS"},    {0x6b414653, "AFS"},  {0x00c36400, "Ceph"}, {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},   {0x564c, "NCP"},        {0x73757245, "Coda"}, {0x01161970, "GFS2"}, {0x7461636f, "OCFS2"},
    {0x786f4256, "vboxsf"}, {0x19830326, "BeeGFS"},
};

Error not_safe(const std::string& path, const std::string& why, const std::string& next) {
  return {ErrorCode::kMisconfigured, "the lock directory " + path + " is not safe: " + why, next};
}

/// Reading leaves no time of access where we may choose so: see LockFile::Look.
int open_quietly(int dir, const std::string& name, int flags, mode_t mode = 0) {
  const int fd = openat(dir, name.c_str(), flags | O_NOATIME, mode);
  return fd < 0 && errno == EPERM ? openat(dir, name.c_str(), flags, mode) : fd;
}

Error unsafe_file(const std::string& path, const std::string& why) {
  return {ErrorCode::kMisconfigured, "the file " + path + " is not safe: " + why,
          "find out who created it, then remove it"};
}

/// mkdir -p: whatever exists already is left as it is.
int make_all(const std::string& path, mode_t mode) {
  int refused = 0;  // a parent that cannot be made may exist all the same (EROFS, EACCES): the last mkdir decides
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (mkdir_for_owner(path.substr(0, slash), mode) == 0 || errno == EEXIST) continue;
    if (errno != EROFS && errno != EACCES && errno != EPERM) return refused != 0 ? refused : errno;
    if (refused == 0) refused = errno;
  }
  if (mkdir_for_owner(path, mode) == 0 || errno == EEXIST) return 0;
  return errno == ENOENT && refused != 0 ? refused : errno;
}

/// Owners that do not exist in our user namespace (rootless containers, sandboxes) all show as this one. Whether it is
/// really the user of that number is not to be seen there.
bool is_unmapped(uid_t uid) {
  constexpr uid_t kOverflow = 65534;
  if (uid != kOverflow) return false;
  const UniqueFd map(::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
  char text[64] = {};
  unsigned inside = 0;
  unsigned outside = 0;
  unsigned long count = 0;
  const bool known = map.valid() && read(map.get(), text, sizeof text - 1) > 0 &&
                     std::sscanf(text, "%u %u %lu", &inside, &outside, &count) == 3;
  return known && !(inside == 0 && count >= kOverflow);
}

/// Why another user could replace an entry of this directory; empty: none can.
std::string why_unsafe_above(const struct stat& st, const LockDir::Rules& rules) {
  if (st.st_uid != geteuid() && st.st_uid != 0 && !is_unmapped(st.st_uid)) {
    return "belongs to user " + std::to_string(st.st_uid);
  }
  if (S_ISLNK(st.st_mode) || (st.st_mode & S_ISVTX)) return {};
  if (st.st_mode & S_IWOTH) return "is writable by everyone (mode " + permissions_text(st.st_mode) + ")";
  const bool private_group = st.st_gid == st.st_uid;
  const bool shared = rules.named && (st.st_mode & S_ISGID);
  if (!(st.st_mode & S_IWGRP) || private_group || shared) return {};
  return "is writable by its group (mode " + permissions_text(st.st_mode) + ")";
}

/// The directories above `path`, which is absolute. `links` gets whether a symbolic link is among them.
Result<void> check_above(const std::string& path, const LockDir::Rules& rules, bool& links) {
  for (std::size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string above = path.substr(0, std::max<std::size_t>(slash, 1));
    struct stat st {};
    if (lstat(above.c_str(), &st) != 0) return system_error("cannot look at " + above, errno);
    links = links || S_ISLNK(st.st_mode);
    if (const std::string why = why_unsafe_above(st, rules); !why.empty()) {
      return not_safe(path, above + ", above it, " + why, "use a directory below one that only you or root may change");
    }
  }
  return {};
}

Result<void> check_parents(const std::string& path, const LockDir::Rules& rules) {
  bool links = false;
  if (auto fit = check_above(path, rules, links); !fit || !links) return fit;
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  if (!real) return system_error("cannot look at " + path, errno);
  return check_above(real.get(), rules, links);
}

}  // namespace

const char* network_file_system(int fd) {
  struct statfs fs {};
  if (fstatfs(fd, &fs) != 0) return nullptr;
  const auto magic = static_cast<std::uint32_t>(fs.f_type);
  for (const NetworkFs& known : kNetworkFs) {
    if (known.magic == magic) return known.name;
  }
  return nullptr;
}

std::string hashed_name(std::string_view key) {
  __extension__ using Wide = unsigned __int128;
  const Wide prime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142ULL} << 64) + 0x62b821756295c58dULL;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(hash >> (8 * (15 - i)));
  return hex(bytes);
}

/// Its first use. One that was named is a spelling mistake more often than not: nothing above it is made.
Result<void> LockDir::make(const Rules& rules) {
  if (path_ == kSystemDirectory) {
    return Error{ErrorCode::kMisconfigured, "there is no " + path_ + ", which local:system means",
                 "dlock's Debian package creates it; by hand: groupadd -r dlock; install -d -m 755 /var/lib/dlock; "
                 "install -d -m 3770 -g dlock " +
                     path_};
  }
  const mode_t mode = geteuid() == 0 && !rules.named ? 0755 : 0700;
  const int failed =
      rules.named ? (mkdir_for_owner(path_, mode) == 0 || errno == EEXIST ? 0 : errno) : make_all(path_, mode);
  made_ = failed == 0;
  if (failed == 0) return {};
  const std::string above = path_.substr(0, std::max<std::size_t>(path_.rfind('/'), 1));
  if (rules.named && failed == ENOENT && access(above.c_str(), F_OK) != 0) {
    return Error{ErrorCode::kMisconfigured, "cannot make the lock directory " + path_ + ": there is no " + above,
                 "check the spelling; if it is right: mkdir -p " + shell_word(above)};
  }
  Error error = system_error("cannot make the lock directory " + path_, failed);
  error.next = rules.named ? "name another one with --backend local:/dir" : kNeedsDirectory;
  return error;
}

Result<void> LockDir::open_or_make(const Rules& rules) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  fd_ = UniqueFd(::open(path_.c_str(), kFlags));
  if (!fd_.valid() && errno == ENOENT) {
    if (auto made = make(rules); !made) return made;
    fd_ = UniqueFd(::open(path_.c_str(), kFlags));
  }
  if (fd_.valid()) return {};
  const int failed = errno;
  struct stat st {};
  const bool above_is_file = failed == ENOTDIR && lstat(path_.c_str(), &st) != 0;
  if (!above_is_file && (failed == ELOOP || failed == ENOTDIR)) {
    return not_safe(path_, "it is a symbolic link or not a directory", "name the directory itself");
  }
  Error error = system_error("cannot open the lock directory " + path_, failed);
  if (above_is_file && !rules.named) error.next = kNeedsDirectory;
  else if (above_is_file) error.next = "something above it is a file; name another one with --backend local:/dir";
  if (failed == EACCES && path_ == kSystemDirectory) {
    error.next = "the group dlock shares it: add the user to it (adduser USER dlock), who then logs in anew";
  } else if (failed == EACCES) {
    error.next = "whose is it? ls -ld " + shell_word(path_) + "; or name another one with --backend local:/dir";
  }
  return error;
}

Result<LockDir> LockDir::open(const std::string& path, const Rules& rules) {
  LockDir dir;
  dir.path_ = path;
  TRY(dir.open_or_make(rules));
  struct stat st {};
  if (fstat(dir.fd_.get(), &st) != 0) return system_error("cannot look at the lock directory " + path, errno);
  const bool by_member = rules.shared_by == st.st_gid && (st.st_mode & S_IWGRP) && (st.st_mode & S_ISGID);
  if (st.st_uid != geteuid() && st.st_uid != 0 && !by_member) {
    return not_safe(path, "it belongs to user " + std::to_string(st.st_uid), "use a directory of your own or of root");
  }
  if (st.st_mode & S_IWOTH) {
    const bool shared = (st.st_mode & S_ISVTX) != 0;  // such as /tmp: not to be closed
    return not_safe(path, "everyone may write to it (mode " + permissions_text(st.st_mode) + ")",
                    shared ? "name a directory of its own: mkdir -m 700 " + shell_word(path + "/dlock")
                           : "chmod o-w " + shell_word(path));
  }
  if (st.st_mode & S_IWGRP) {
    if (!rules.named || !(st.st_mode & S_ISGID)) {
      return not_safe(path, "its group may write to it (mode " + permissions_text(st.st_mode) + ")",
                      rules.named ? "to share locks with the group: chmod 3770 " + shell_word(path)
                                  : "chmod g-w " + shell_word(path));
    }
    dir.group_ = true;
  }
  if (const char* fs = network_file_system(dir.fd_.get()); fs && !rules.allow_network_fs) {
    return not_safe(path, std::string("it is on ") + fs + ", whose locks may not reach other machines, or may be lost",
                    "use a local directory, or a server for locks between machines; if you know that its locks work: "
                    "local:" +
                        path + "?allow-network-fs=1");
  }
  if (!rules.parents_known) {
    TRY(check_parents(path, rules));
  }
  dir.owner_ = st.st_uid;
  dir.gid_ = st.st_gid;
  return dir;
}

Result<LockDir> LockDir::open_for_looking(const std::string& path, unsigned owner) {
  LockDir dir;
  dir.path_ = path;
  dir.fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat st {};
  if (!dir.fd_.valid() || fstat(dir.fd_.get(), &st) != 0) {
    return system_error("cannot open the lock directory " + path, errno);
  }
  if (st.st_uid != owner) return not_safe(path, "it belongs to user " + std::to_string(st.st_uid), "");
  if (network_file_system(dir.fd_.get())) return not_safe(path, "it is on another machine", "");
  dir.owner_ = st.st_uid;
  dir.gid_ = st.st_gid;
  dir.group_ = (st.st_mode & S_IWGRP) && (st.st_mode & S_ISGID);
  return dir;
}

Result<UniqueFd> LockDir::checked(int raw, const std::string& name) const {
  if (raw < 0) {
    const std::string path = path_ + "/" + name;
    if (errno == ENOENT) return UniqueFd();
    if (errno == ELOOP) return unsafe_file(path, "it is a symbolic link");
    Error error = system_error("cannot open " + path, errno);
    if (errno == EACCES) error.next = "another user's locks are out of reach; to share them see LOCAL in man 7 dlock";
    return error;
  }
  UniqueFd fd(raw);
  // Not fstat(): asking for the times makes the next write update them on disk (multigrain timestamps, Linux 6.13).
  struct statx st {};
  if (statx(fd.get(), "", AT_EMPTY_PATH, STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID, &st) != 0) {
    return system_error("cannot look at " + path_ + "/" + name, errno);
  }
  const char* wrong = nullptr;
  if (!S_ISREG(st.stx_mode)) wrong = "it is not a plain file";
  else if (st.stx_nlink > 1) wrong = "it has a second name (hard link)";
  else if (group_ ? st.stx_gid != gid_ : (st.stx_uid != owner_ && st.stx_uid != geteuid() && st.stx_uid != 0))
    wrong = "it belongs to another user";
  if (wrong) return unsafe_file(path_ + "/" + name, wrong);
  const mode_t needed = group_ ? 0660 : 0600;
  if (st.stx_uid == geteuid() && (st.stx_mode & needed) != needed) fchmod(fd.get(), needed);  // despite the umask
  return fd;
}

Result<UniqueFd> LockDir::open_file(const std::string& name, bool create) const {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
  if (!create) return checked(open_quietly(fd_.get(), name, kFlags), name);
  // With fs.protected_regular=2 a file that another member has made may not be opened by O_CREAT alone.
  int fd = group_ ? open_quietly(fd_.get(), name, kFlags) : open_quietly(fd_.get(), name, kFlags | O_CREAT, 0600);
  while (group_ && fd < 0 && errno == ENOENT) {
    fd = open_quietly(fd_.get(), name, kFlags | O_CREAT | O_EXCL, 0660);
    if (fd >= 0 || errno != EEXIST) break;
    fd = open_quietly(fd_.get(), name, kFlags);
  }
  if (fd < 0 && errno == ENOENT) {
    Error error = system_error("cannot make a file in " + path_, errno);
    error.next = "it was removed, or is not a place for files: name another directory, --backend local:/dir";
    return error;
  }
  return checked(fd, name);
}

Result<UniqueFd> LockDir::open_file_for_reading(const std::string& name) const {
  return checked(open_quietly(fd_.get(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK), name);
}

Result<std::vector<std::string>> LockDir::list(std::string_view suffix) const {
  const int copy = openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy >= 0 ? fdopendir(copy) : nullptr;
  if (!stream) {
    if (copy >= 0) close(copy);
    return system_error("cannot list the lock directory " + path_, errno);
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream)) {
    if (std::string_view(entry->d_name).ends_with(suffix)) names.emplace_back(entry->d_name);
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

Result<LockDir> LockDir::inside(const std::string& name) const {
  const mode_t mode = group_ ? 03770 : 0700;
  if (mkdirat(fd_.get(), name.c_str(), mode) != 0) {
    if (errno != EEXIST) return system_error("cannot make the directory " + path_ + "/" + name, errno);
  } else if (fchmodat(fd_.get(), name.c_str(), mode, 0) != 0) {  // despite the umask
    return system_error("cannot open the directory " + path_ + "/" + name + " for those who may use it", errno);
  }
  Rules rules{.named = group_, .allow_network_fs = true, .parents_known = true};
  if (group_) rules.shared_by = gid_;
  return open(path_ + "/" + name, rules);
}

}  // namespace dlock::local
