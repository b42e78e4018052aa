// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/key_memory.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// A slot of --once as OnceSession takes it, a lock by its own name, where a store remembers slots: held by nobody, or
/// by the run that was. It is taken for spec.ttl, by a run that has ended with status 0, and stays: nothing renews or
/// releases it. `who` takes it: a text of who_text(). REQUIRES: spec.name.is_slot().
std::unique_ptr<LockDriver> slot_lock(std::unique_ptr<KeyMemory> memory, const LockSpec& spec, const std::string& who,
                                      std::string store, const Runtime& runtime);

/// The same in a process of its own, for a memory that answers at once: of this machine.
std::unique_ptr<LockSession> without_keeper(std::unique_ptr<LockDriver> slot);

}  // namespace dlock
