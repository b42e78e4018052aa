// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/local/files/layout.h"
#include "backends/local/files/lock_dir.h"
#include "backends/local/files/rules.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/lock_name.h"

namespace dlock::local {

/// "<hash>.lock".
std::string lock_file_name(const LockName& name);

/// One key's file and one open file description of it: what is locked through this object belongs to it alone, and is
/// let go of when it and all inherited copies of its descriptor are closed.
class LockFile {
 public:
  /// Opens the key's file, made when missing.
  static Result<LockFile> open(const LockDir& dir, const std::string& file_name, std::string_view key);
  /// nullopt if the key was never used. An empty `key` takes whatever key the file is for. For looking only unless
  /// `writable`.
  static Result<std::optional<LockFile>> open_existing(const LockDir& dir, const std::string& file_name,
                                                       std::string_view key, bool writable);

  /// One in memory that no other can open: a queue of our own, for a key that something else guards as well.
  static Result<LockFile> private_one(std::string_view key);
  bool is_private() const { return private_; }

  /// REQUIRES: opened for one key, not for whatever key it has.
  bool is_for(const LockName& name) const { return key_ == name.text(); }

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

  /// The guard byte, held for the few microseconds in which header and records are changed. Tries for about 20 ms, then
  /// says false: whoever has it was stopped or is starved.
  Result<bool> try_guard() const;
  /// The same for up to 5 s, then Unavailable. For calls that have nothing else to do.
  Result<void> guard() const;
  void drop_guard() const;
  Error guard_stuck() const;

  /// Prologue and header, checked. A blank file gives a fresh header. Misconfigured for a damaged or foreign file, and
  /// for another key's.
  Result<Header> read_header() const;
  /// The key's text as the file has it; nullopt for a file without one.
  std::optional<std::string> key() const;

  /// REQUIRES: the guard. Writes header and, in the same system call, record 0.
  Result<void> write(const Header& header, const Record& first) const;
  Result<void> write(Header header) const;
  Result<void> write_record(std::uint32_t index, Record record) const;

  /// nullopt for an empty, torn or damaged record.
  std::optional<Record> read_record(std::uint32_t index) const;
  /// All sound ones with their place.
  struct Placed {
    std::uint32_t index = 0;
    Record record;
  };
  /// REQUIRES: the record has been written, with `reason` as far as there was room. Keeps the whole of it after the
  /// records if there was not enough.
  void keep_reason(std::uint32_t index, const Record& record, std::string_view reason) const;
  /// The whole of it, or what the record has.
  std::string reason_of(const Placed& placed) const;
  std::vector<Placed> read_records() const;

  /// Is any byte of this ticket locked through another description? If that cannot be known, it is.
  bool alive(Side side, Ticket ticket) const;
  /// Every ticket alive through other descriptions, oldest first.
  Result<std::vector<LiveTicket>> live() const;

  /// REQUIRES: the guard. A place for one more record, where neither a live ticket's record lies nor one of `leases`;
  /// moves header.next_record. nullopt when all are taken: the ticket then goes without one.
  std::optional<std::uint32_t> claim_record(Header& header, const std::vector<Placed>& leases) const;

  /// One look at the file, for half the price of reading it.
  struct Look {
    bool removed = false;  ///< it has lost its name (a private one has none to lose)
    /// Wall clock: of its last touch(), or of its last reader that leaves a trace; 0: unknown.
    std::int64_t touched_ns = 0;
  };
  Look look() const;
  bool removed() const { return look().removed; }
  /// True when the name no longer leads to this very file (removed, replaced, its directory moved): what is locked here
  /// binds no process.
  bool replaced() const;
  /// Wakes everybody who watches this file: a change of its times. False if that is refused.
  bool touch() const;

  /// Cuts the file back to its header, and the lines of its slots. REQUIRES: the guard, and no live process.
  Result<void> drop_records() const;

 private:
  LockFile(std::string path, std::string_view key, UniqueFd fd)
      : path_(std::move(path)), key_(key), fd_(std::move(fd)) {}
  Error damaged(const std::string& why) const;
  Result<void> written(int failed) const;

  std::string path_;
  std::string key_;  ///< empty: whatever the file says
  UniqueFd fd_;
  bool private_ = false;
  mutable bool checked_ = false;  ///< the prologue is as it should be: it is written only once
};

/// Holds the guard for a scope.
class Guarded {
 public:
  explicit Guarded(const LockFile& file) : file_(file) {}
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { file_.drop_guard(); }

 private:
  const LockFile& file_;
};

}  // namespace dlock::local
