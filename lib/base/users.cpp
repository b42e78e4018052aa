// SPDX-License-Identifier: Apache-2.0
#include "lib/base/users.h"

namespace dlock {

std::string user_name(std::uint32_t uid) {
  std::string name = std::to_string(uid);
  for_each_user([&](const passwd& entry) {
    if (entry.pw_uid == uid) name = entry.pw_name;
    return entry.pw_uid != uid;
  });
  return name;
}

}  // namespace dlock
