// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/store.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "backends/local/files/byte_locks.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"

namespace dlock::local {
namespace {

struct Front {
  Prologue prologue;
  Header header;
};
/// Bytes that an acquisition without others writes, and those before them in a new file.
struct Back {
  Header header;
  Record first;
};
struct Whole {
  Prologue prologue;
  Back back;
};
static_assert(sizeof(Front) == kRecordsAt && sizeof(Whole) == kRecordsAt + sizeof(Record));

void pause_for(long nanoseconds) {
  const timespec pause{0, nanoseconds};
  nanosleep(&pause, nullptr);
}

/// All of it or an errno: a lock file lies on a local disk, where only a full disk makes a write short.
int write_at(int fd, const void* data, std::size_t size, std::size_t offset) {
  const ssize_t n = pwrite(fd, data, size, static_cast<off_t>(offset));
  if (n == static_cast<ssize_t>(size)) return 0;
  return n < 0 ? errno : ENOSPC;
}

}  // namespace

std::string lock_file_name(const LockName& name) { return hashed_name(name.text()) + ".lock"; }

Result<LockFile> LockFile::open(const LockDir& dir, const std::string& file_name, std::string_view key) {
  TRY_ASSIGN(auto fd, dir.open_file(file_name, true));
  return LockFile(dir.path() + "/" + file_name, key, std::move(fd));
}

Result<std::optional<LockFile>> LockFile::open_existing(const LockDir& dir, const std::string& file_name,
                                                        std::string_view key, bool writable) {
  TRY_ASSIGN(auto fd, writable ? dir.open_file(file_name, false) : dir.open_file_for_reading(file_name));
  if (!fd.valid()) return std::optional<LockFile>();
  return std::optional(LockFile(dir.path() + "/" + file_name, key, std::move(fd)));
}

Result<LockFile> LockFile::private_one(std::string_view key) {
  LockFile file("(no lock directory)", key, UniqueFd(memfd_create("dlock", MFD_CLOEXEC)));
  file.private_ = true;
  if (!file.fd_.valid()) return system_error("cannot make a file in memory", errno);
  return file;
}

Result<bool> LockFile::try_guard() const {
  constexpr int kYields = 20;
  constexpr int kSleeps = 60;
  for (int attempt = 0; attempt < kYields + kSleeps; ++attempt) {
    const int failed = try_write_lock(fd(), kGuard);
    if (failed == 0) return true;
    if (failed == EINVAL) {
      return Error{ErrorCode::kUnsupported, path_ + ": the file system has no open-file-description locks",
                   "use a directory on a local file system: --backend local:/dir"};
    }
    if (failed != EAGAIN && failed != EACCES) return system_error("cannot lock " + path_, failed);
    if (attempt < kYields) sched_yield();
    else pause_for(attempt < kYields + 20 ? 50'000 : 450'000);
  }
  return false;
}

Result<void> LockFile::guard() const {
  // By the clock: on a busy machine each of try_guard()'s naps takes many times its length.
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  do {
    TRY_ASSIGN(const auto got, try_guard());
    if (got) return {};
  } while (std::chrono::steady_clock::now() < give_up_at);
  return guard_stuck();
}

Error LockFile::guard_stuck() const {
  return {ErrorCode::kUnavailable, path_ + " is being changed by a process that makes no progress",
          "a stopped dlock? look with: ps -o pid,stat,cmd -C dlock"};
}

void LockFile::drop_guard() const { unlock_bytes(fd(), kGuard); }

Error LockFile::damaged(const std::string& why) const {
  return {ErrorCode::kMisconfigured, "the lock file " + path_ + " is damaged: " + why,
          "when nothing uses it any more, remove it: it is created again"};
}

Result<Header> LockFile::read_header() const {
  if (checked_) {
    Header header;
    if (pread(fd(), &header, sizeof header, kHeaderAt) == sizeof header && sound(header)) return header;
  }
  Front front;
  std::memset(static_cast<void*>(&front), 0, sizeof front);
  const ssize_t n = pread(fd(), &front, sizeof front, 0);
  if (n < 0) return system_error("cannot read the lock file " + path_, errno);
  if (n == 0 || blank(front.prologue, front.header)) return Header();
  if (n != sizeof front) return damaged("it is too short (" + std::to_string(n) + " bytes)");
  if (!sound(front.prologue)) return damaged("its header is not dlock's, or is from another version");
  if (!key_.empty() && std::string_view(front.prologue.key, front.prologue.key_size) != key_) {
    return Error{ErrorCode::kConflict,
                 "the keys '" + key_ + "' and '" + key_of(front.prologue) + "' share one lock file " + path_,
                 "rename one of the two"};
  }
  if (!sound(front.header)) return damaged("its header is damaged");
  checked_ = true;
  return front.header;
}

std::optional<std::string> LockFile::key() const {
  Prologue prologue;
  if (pread(fd(), &prologue, sizeof prologue, 0) != sizeof prologue || !sound(prologue)) return std::nullopt;
  return key_of(prologue);
}

Result<void> LockFile::written(int failed) const {
  if (failed == 0) return {};
  return system_error("cannot write the lock file " + path_, failed);
}

Result<void> LockFile::write(const Header& header, const Record& first) const {
  const bool fresh = !header.known;
  Back back{header, first};
  back.header.known = 1;
  seal(back.header);
  seal(back.first);
  if (!fresh) return written(write_at(fd(), &back, sizeof back, kHeaderAt));
  // It gets its prologue in the same write, so that no file ever has only one of the two.
  const Whole whole{prologue_for(key_), back};
  return written(write_at(fd(), &whole, sizeof whole, 0));
}

Result<void> LockFile::write(Header header) const {
  Front front{{}, header};
  if (!header.known) front.prologue = prologue_for(key_);
  front.header.known = 1;
  seal(front.header);
  const std::size_t skip = header.known ? kHeaderAt : 0;
  return written(write_at(fd(), reinterpret_cast<const char*>(&front) + skip, sizeof front - skip, skip));
}

Result<void> LockFile::write_record(std::uint32_t index, Record record) const {
  seal(record);
  return written(write_at(fd(), &record, sizeof record, record_at(index)));
}

std::optional<Record> LockFile::read_record(std::uint32_t index) const {
  Record record;
  if (pread(fd(), &record, sizeof record, static_cast<off_t>(record_at(index))) != sizeof record) return std::nullopt;
  if (!sound(record)) return std::nullopt;
  return record;
}

void LockFile::keep_reason(std::uint32_t index, const Record& record, std::string_view reason) const {
  if (reason.size() <= std::strlen(record.reason)) return;
  LongReason whole;
  whole.ticket = record.ticket;
  reason = utf8_prefix(reason, sizeof whole.text - 1);
  std::memcpy(whole.text, reason.data(), reason.size());
  seal(whole);
  (void)write_at(fd(), &whole, sizeof whole, long_reason_at(index));  // for people: the record has its beginning
}

std::string LockFile::reason_of(const Placed& placed) const {
  const std::string_view begin = placed.record.reason;
  LongReason whole;
  const ssize_t n = pread(fd(), &whole, sizeof whole, static_cast<off_t>(long_reason_at(placed.index)));
  const bool its = n == sizeof whole && sound(whole) && whole.ticket == placed.record.ticket && !begin.empty() &&
                   std::string_view(whole.text).starts_with(begin);
  return std::string(its ? std::string_view(whole.text) : begin);
}

std::vector<LockFile::Placed> LockFile::read_records() const {
  std::vector<Record> raw(kMaxRing);
  const ssize_t n = pread(fd(), raw.data(), raw.size() * sizeof(Record), static_cast<off_t>(kRecordsAt));
  const std::size_t whole = n > 0 ? static_cast<std::size_t>(n) / sizeof(Record) : 0;
  std::vector<Placed> placed;
  placed.reserve(whole);
  for (std::uint32_t i = 0; i < whole; ++i) {
    if (sound(raw[i])) placed.push_back({i, raw[i]});
  }
  return placed;
}

bool LockFile::alive(Side side, Ticket ticket) const { return any_write_lock(fd(), ticket_bytes(side, ticket)); }

Result<std::vector<LiveTicket>> LockFile::live() const {
  TRY_ASSIGN(const auto locks, find_write_locks(fd(), kAllTickets));
  return live_tickets(locks);
}

std::optional<std::uint32_t> LockFile::claim_record(Header& header, const std::vector<Placed>& leases) const {
  const auto is_lease = [&](std::uint32_t index) {
    return std::any_of(leases.begin(), leases.end(), [&](const Placed& one) { return one.index == index; });
  };
  // In a queue the oldest record is the next one to die, so the first look nearly always finds a place.
  for (std::uint32_t tried = 0; tried < kMaxRing; ++tried) {
    const std::uint32_t index = header.next_record;
    const auto record = read_record(index);
    if (!is_lease(index) && (!record || !alive(side_of(record->lock_mode()), record->ticket))) {
      header.next_record = (index + 1) % header.ring;
      return index;
    }
    if (tried + 1 >= header.ring && header.ring < kMaxRing) {
      header.next_record = header.ring;
      header.ring = std::min(header.ring * 2, kMaxRing);
    } else {
      header.next_record = (index + 1) % header.ring;
    }
  }
  return std::nullopt;
}

LockFile::Look LockFile::look() const {
  if (private_) return {};
  struct statx here;  // not fstat(): see LockDir::checked(). The time of access is none of those.
  const bool seen = statx(fd(), "", AT_EMPTY_PATH, STATX_NLINK | STATX_ATIME, &here) == 0;
  if (!seen && errno != ESTALE) return {};  // says nothing: the kernel keeps the lock
  if (!seen || here.stx_nlink == 0) return {true, 0};
  if (!(here.stx_mask & STATX_ATIME)) return {};
  return {false, here.stx_atime.tv_sec * 1'000'000'000 + here.stx_atime.tv_nsec};
}

bool LockFile::replaced() const {
  if (private_) return false;
  struct statx here;
  struct statx there;
  const bool seen = statx(fd(), "", AT_EMPTY_PATH, STATX_NLINK | STATX_INO, &here) == 0;
  if (!seen && errno != ESTALE) return false;
  if (!seen || here.stx_nlink == 0) return true;
  if (statx(AT_FDCWD, path_.c_str(), 0, STATX_INO, &there) != 0) return errno == ENOENT || errno == ENOTDIR;
  return here.stx_ino != there.stx_ino || here.stx_dev_major != there.stx_dev_major ||
         here.stx_dev_minor != there.stx_dev_minor;
}

bool LockFile::touch() const { return futimens(fd(), nullptr) == 0; }

Result<void> LockFile::drop_records() const {
  struct stat size {};
  const bool has_lines = fstat(fd(), &size) == 0 && size.st_size > static_cast<off_t>(kSlotsAt);
  const int failed = has_lines ? fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kRecordsAt,
                                           static_cast<off_t>(kSlotsAt - kRecordsAt))
                               : ftruncate(fd(), static_cast<off_t>(kRecordsAt));
  if (failed == 0 || errno == EOPNOTSUPP) return {};
  return system_error("cannot shorten the lock file " + path_, errno);
}

}  // namespace dlock::local
