// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/families.h"

#include <algorithm>

namespace dlock::redis {
namespace {

constexpr std::size_t kUuid = 36;
constexpr std::size_t kLongestCount = 9;

std::string redisson(const char* what, const char* kind) {
  return std::string("a Redisson ") + what + "; add ?layout=redisson&kind=" + kind;
}

}  // namespace

bool is_redisson_owner(std::string_view field) {
  if (field.size() < kUuid + 2 || field[kUuid] != ':') return false;
  return std::all_of(field.begin(), field.begin() + kUuid, [i = std::size_t{0}](unsigned char c) mutable {
    const std::size_t at = i++;
    const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
    return dash ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool is_count(std::string_view value) {
  return !value.empty() && value.size() <= kLongestCount &&
         std::all_of(value.begin(), value.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
}

std::string family_note(std::string_view type, std::string_view sign) {
  if (type == "string") return is_count(sign) ? redisson("semaphore, or a number", "semaphore") : "another lock client";
  if (type == "hash" && sign == "read") return redisson("read lock", "rw");
  if (type == "hash" && sign == "write") return redisson("write lock", "rw");
  if (type == "hash" && is_redisson_owner(sign)) return redisson("lock", "lock");
  return "another lock family: the key is a " + std::string(type);
}

}  // namespace dlock::redis
