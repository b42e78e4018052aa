// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/who_text.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/base/user_name.h"

namespace dlock {
namespace {

constexpr char kUnit = '\x1f';  // no part has control characters

}  // namespace

std::string who_text(const std::string& reason) {
  utsname name{};
  uname(&name);
  std::string text = name.nodename;
  text.append(1, kUnit).append(std::to_string(getppid())).append(1, kUnit).append(user_name(geteuid()));
  return text.append(1, kUnit).append(reason);
}

void add_who(Participant& party, std::string_view text) {
  party.host = cut(text, kUnit);
  party.pid = leading_number<std::int64_t>(cut(text, kUnit));
  party.user = cut(text, kUnit);
  party.reason = text;
}

}  // namespace dlock
