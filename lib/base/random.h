// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/base/time.h"

namespace dlock {

// All but spread_below() from getrandom(2): blocks only before the kernel's pool is ready, at boot. Where that is
// refused, the process says so and ends with 71.

/// `bytes` random bytes as lower-case hex (twice as many characters).
std::string random_hex(std::size_t bytes);

/// A number from 0 to `end` - 1; even as long as `end` is small beside 2^64. REQUIRES: `end` > 0.
std::uint64_t random_below(std::uint64_t end);

/// The same for spreading work, with `end` up to 2^31; the numbers can be predicted. Seeded by the kernel once for each
/// thread; a forked process continues the sequence of its parent.
std::uint64_t spread_below(std::uint64_t end);

/// A length of time from 0 to less than `most`, so that those who wait for the same do not wake together; 0 if `most`
/// is 0 or less.
Duration jitter(Duration most);

}  // namespace dlock
