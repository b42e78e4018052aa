// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/who_text.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>

#include "lib/base/user_name.h"

namespace dlock {
namespace {

constexpr char kUnit = '\x1f';  // no part has control characters

/// Cuts the next part.
std::string_view cut(std::string_view& rest) {
  const std::size_t end = rest.find(kUnit);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

}  // namespace

std::string who_text(const std::string& reason) {
  utsname name{};
  uname(&name);
  std::string text = name.nodename;
  text.append(1, kUnit).append(std::to_string(getppid())).append(1, kUnit).append(user_name(geteuid()));
  return text.append(1, kUnit).append(reason);
}

void add_who(Participant& party, std::string_view text) {
  party.host = cut(text);
  party.pid = std::strtoll(std::string(cut(text)).c_str(), nullptr, 10);
  party.user = cut(text);
  party.reason = text;
}

}  // namespace dlock
