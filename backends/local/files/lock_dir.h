// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/lock_name.h"

namespace dlock::local {

/// "NFS", "CIFS", ... of a file system that keeps its locks on another machine or nowhere; nullptr for a local one.
const char* network_file_system(int fd);

/// The file name of a key: 128 bits of FNV-1a as hex, so that length, '/' and case play no part. The key's text is
/// inside the file, and compared.
std::string hashed_name(std::string_view key);

/// The directory of the lock files, once it is known to be safe: really a directory, owned by us or root, and writable
/// by no other user, except for a set-group-ID directory (3770, 2770) that was named explicitly: its group shares the
/// locks. The same holds for every directory above it, since who may rename one of them may put another in its place; a
/// sticky one (/tmp) may be written to by others, and one that only its owner's private group may write to is the
/// owner's.
class LockDir {
 public:
  struct Rules {
    bool named = false;             ///< the user chose it (local:/dir)
    bool allow_network_fs = false;  ///< the user says that its locks work
    bool parents_known = false;     ///< the directories above have been checked
    /// Of a directory inside one that this group shares: any member may have made it, and shared it in the same way.
    std::optional<unsigned> shared_by = std::nullopt;
  };

  /// Creates it as 0700 (0755 for root's own) if it is missing: with parents, unless it was named. Misconfigured if it
  /// is not safe, or named and without a parent.
  static Result<LockDir> open(const std::string& path, const Rules& rules);

  /// One that another user keeps, for root to look into and to free locks in: `owner` has it and every file in it. It
  /// may be changed at any moment by that user, so nothing in it is to be trusted, and nothing is made there.
  static Result<LockDir> open_for_looking(const std::string& path, unsigned owner);

  const std::string& path() const { return path_; }
  bool made() const { return made_; }  ///< by open(), just now
  int fd() const { return fd_.get(); }
  bool shared_by_group() const { return group_; }

  /// Opens `name` inside, creating it if wanted, and checks that it is a plain file with one link and the owner that
  /// this directory allows. An invalid descriptor if it does not exist.
  Result<UniqueFd> open_file(const std::string& name, bool create) const;
  /// For looking only: no write access needed.
  Result<UniqueFd> open_file_for_reading(const std::string& name) const;

  /// The names inside that end in `suffix`.
  Result<std::vector<std::string>> list(std::string_view suffix) const;

  /// A directory inside, made when missing; shared as this one is.
  Result<LockDir> inside(const std::string& name) const;

 private:
  Result<void> open_or_make(const Rules& rules);
  Result<void> make(const Rules& rules);
  Result<UniqueFd> checked(int fd, const std::string& name) const;

  std::string path_;
  UniqueFd fd_;
  bool made_ = false;
  bool group_ = false;
  unsigned owner_ = 0;
  unsigned gid_ = 0;
};

}  // namespace dlock::local
