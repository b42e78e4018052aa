// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/owner.h"

namespace dlock {

/// Something that `dlock gc` has removed, or would remove: one line, for people.
struct Swept {
  LockName name;
  std::string what;
};

/// What a store remembers of a key beside its lock, and after it. Slots are called by LockName::of_slot(); times are
/// the store's, and on our clock where they are shown. Each call asks again while the store does not answer, until
/// `until`; Unavailable then: of what it should change it is not known whether it has (Error::undone: it has not).
/// Single-threaded.
class KeyMemory {
 public:
  /// A run of a slot that is to be remembered.
  struct SlotRun {
    Owner owner;
    std::string who;       ///< a text of who_text.h, with how it has ended
    Duration remember{0};  ///< from now on
  };

  virtual ~KeyMemory() = default;

  /// Lost if `resource` has seen a higher token; else `token` is the highest it has seen.
  virtual Result<void> fence(const LockName& resource, FencingToken token, TimePoint until) = 0;

  /// Who has run `slot`, when and how; nullopt: nobody, or it is not remembered any more.
  virtual Result<std::optional<Participant>> look_up(const LockName& slot, TimePoint until) = 0;
  /// From the success on `slot` has run, and no failover that the store guards against forgets it. Also sweeps what is
  /// over among the slots of the key, now and then.
  virtual Result<void> remember(const LockName& slot, const SlotRun& run, TimePoint until) = 0;
  /// All slots of `key`, in the order of their names, which are Participant::slot.
  virtual Result<std::vector<Participant>> remembered(const LockName& key, TimePoint until) = 0;
  /// `slot` has not run. What was remembered; Lost if nothing was.
  virtual Result<Participant> forget(const LockName& slot, TimePoint until) = 0;

  /// For an hour: `by` frees the locks of these owners by force ("ops@ci-4: hangs since the release"); empty: nobody
  /// does. Best effort, within a second.
  virtual void note_who_frees(const LockName& key, std::span<const std::string> owners, const std::string& by) = 0;
  /// What was noted; empty: nothing, or it cannot be read by then.
  virtual std::string who_freed(const LockName& key, const std::string& owner, TimePoint until) = 0;

  /// Removes what is over, of every key, each of which has `patience`. With `dry_run` only says what it would remove.
  virtual Result<std::vector<Swept>> sweep(bool dry_run, Duration patience) = 0;
};

}  // namespace dlock
