// SPDX-License-Identifier: Apache-2.0
#include "lib/net/meanings.h"

#include <algorithm>

#include "lib/base/text.h"

namespace dlock {
namespace {

constexpr char kDoctor[] = "look at it with: dlock doctor";

bool has_code(std::string_view codes, std::string_view code) {
  while (!codes.empty()) {
    std::string_view one = cut(codes, ' ');
    const bool begins = one.ends_with('*');
    if (begins) one.remove_suffix(1);
    if (begins ? code.starts_with(one) : code == one) return true;
  }
  return false;
}

}  // namespace

const Meaning* find_meaning(std::span<const Meaning> table, std::string_view code) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Meaning& one) { return has_code(one.codes, code); });
  return found == table.end() ? nullptr : &*found;
}

Error error_of(const Meaning& meaning, const std::string& server, const std::string& words) {
  std::string text = meaning.said + words;
  return {meaning.code, text.replace(text.find('%'), 1, server), meaning.next};
}

Error error_without_meaning(bool cut_off, const std::string& server, const std::string& words) {
  if (cut_off) return {ErrorCode::kUnavailable, "cannot reach " + server + ": " + words, kDoctor};
  return {ErrorCode::kMisconfigured, server + " refused: " + words, kDoctor};
}

}  // namespace dlock
