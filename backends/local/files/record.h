// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/lock/lock_spec.h"
#include "lib/lock/owner.h"

namespace dlock::local {

/// One ticket's self-description. Decides who holds the lock only where it is a lease: standing_leases.h.
struct Record {
  enum Flag : std::uint32_t {
    kGranted = 1,
    kLease = 2,  ///< left by the process that took it: it holds without one
    kGivenBack = 4,
    kForced = 8,
    kRevoked = 16,
    kReplaces = 32,  ///< of a waiter, as kNewest
    kNewest = 64,
    kRan = 128,      ///< the command has ended; its wait status stands above kStatusAt
    kAtLeast = 256,  ///< holds until until_boot_ns, also when everything of its dlock is killed before
  };

  static constexpr int kStatusAt = 16;  ///< bits of `flags`

  std::uint64_t ticket = 0;
  unsigned char owner[16] = {};
  std::uint32_t mode = 0;
  std::uint32_t flags = 0;
  std::int64_t pid = 0;
  std::uint64_t pid_namespace = 0;
  std::uint32_t uid = 0;
  std::uint32_t permits = 0;
  std::int64_t since_us = 0;       ///< wall clock: waiting or holding since
  std::int64_t until_us = 0;       ///< wall clock: a lease ends; 0: it does not end by itself
  std::int64_t until_boot_ns = 0;  ///< the same on the boot clock: this one decides
  /// A process that started later is not the one meant by `pid`; of a lease: when that of `watch_pid` did.
  std::int64_t drawn_boot_ns = 0;
  std::int64_t watch_pid = 0;  ///< a lease lasts as long as this process
  std::int64_t flock_pid = 0;  ///< the process that locked the file of a path key, as /proc/locks shows it
  char host[64] = {};          ///< NUL-terminated, as `reason`
  char reason[80] = {};        ///< and behind it the slot and the command; with kForced or kRevoked: who, and why
  std::uint64_t checksum = 0;

  /// Whether it is a lease that has ended by `boot_ns`, a moment of the boot clock, though a run inside of it may go
  /// on.
  bool has_ended(std::int64_t boot_ns) const {
    if (!(flags & kLease)) return false;
    return (flags & kGivenBack) || (until_boot_ns != 0 && until_boot_ns <= boot_ns);
  }
  Mode lock_mode() const { return static_cast<Mode>(mode); }
  std::string owner_text() const;
  void set_owner(const Owner& owner);
  void set_host(std::string_view text);
  /// Three texts in `reason`: it is cut at a character boundary to make room for the slot of a holder of a permit
  /// (lib/lock/slots.h) and the name of the command; either may be empty. A dlock that does not know of the later ones
  /// reads the earlier ones.
  void set_texts(std::string_view why, std::string_view slot, std::string_view command);
  std::string_view slot() const;
  std::string_view command() const;
};

static_assert(sizeof(Record) == 256);

void seal(Record& record);
bool sound(const Record& record);  ///< false for an empty one too

}  // namespace dlock::local
