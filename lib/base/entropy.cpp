// SPDX-License-Identifier: Apache-2.0
#include "lib/base/entropy.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace dlock {

std::string hex(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t n = getrandom(raw.data() + have, bytes - have, 0);
    if (n > 0) have += static_cast<std::size_t>(n);
    else if (errno != EINTR) std::abort();  // ENOSYS: no kernel that has pidfd lacks getrandom
  }
  return hex(raw);
}

}  // namespace dlock
