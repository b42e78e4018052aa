// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dlock {

/// `bytes` as lower-case hex, two characters each.
std::string hex(std::span<const unsigned char> bytes);

/// `bytes` random bytes from getrandom(2) as lower-case hex (twice as many characters). Blocks only before the kernel's
/// pool is ready, at boot; cannot fail afterwards.
std::string random_hex(std::size_t bytes);

}  // namespace dlock
