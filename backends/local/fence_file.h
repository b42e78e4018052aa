// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/local/context.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/lock_spec.h"

namespace dlock::local {

/// Content of a fence file, twice. The copies lie in blocks of their own and are written one after the other, the
/// first one synced before the second is written: a crash at any moment leaves one that is whole, and damage to either
/// leaves the other one with the same token. A file gets its name with its first token in it, so an empty one was
/// emptied.
struct FenceSlot {
  std::uint64_t token = 0;
  std::uint64_t generation = 0;  ///< counts the tokens; the slot with the higher one counts. Odd: slot 0 was first
  std::uint32_t key_size = 0;
  std::uint32_t spare = 0;
  char key[256] = {};
  std::uint64_t spare_too = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(FenceSlot) == 296);
constexpr std::int64_t kFenceSlotDistance = 4096;  ///< a block of their own each

void seal(FenceSlot& slot);
bool sound(const FenceSlot& slot);

/// The slot that counts, 0 or 1; or what is wrong with the file, in words: nothing in it counts then. What no crash can
/// have left is damage.
struct FenceVerdict {
  int current = 0;
  std::string damage;  ///< empty: none
};
FenceVerdict judge(const FenceSlot (&slots)[2], std::string_view key);

/// LockAdmin::fence() of this machine: one file per resource in <directory>/fence, synced to disk before the answer.
/// Waits in `wait`'s limits for another check of the same resource; blocks during it. Misconfigured for a damaged file.
Result<UniqueFd> fence(LocalContext& context, const LockName& resource, FencingToken token, const WaitPolicy& wait);

}  // namespace dlock::local
