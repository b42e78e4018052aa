// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/names.h"

#include "backends/redis/deployment/slots.h"

namespace dlock::redis {
namespace {

constexpr std::string_view kReserved = "dlock:";

/// A tag of digits with the slot of `name`: the smallest number that has it.
std::string tag_in_slot_of(std::string_view name) {
  const std::uint16_t slot = key_slot(name);
  for (unsigned number = 0;; ++number) {
    std::string digits = std::to_string(number);
    if (key_slot(digits) == slot) return digits;
  }
}

/// Three forms, which differ in their first character, because a cluster must find the companions where the key is.
std::string stem(std::string_view name) {
  std::string text(kReserved);
  if (hash_tag(name) != name) return text.append("=").append(name);
  if (name.find('}') == std::string_view::npos) return text.append("{").append(name).append("}");
  return text.append("#{").append(tag_in_slot_of(name)).append("}").append(name);
}

}  // namespace

Result<NativeNames> native_names(const LockName& name) {
  if (name.text().starts_with(kReserved)) {
    return Error{ErrorCode::kUnsupported,
                 name.text() + ": names that begin with 'dlock:' are kept for dlock itself on Redis",
                 "choose another name"};
  }
  const std::string base = stem(name.text());
  return NativeNames{name.text(),       base + ":fence", base + ":holders", base + ":until", base + ":queue",
                     base + ":waiting", base + ":wake:", base + ":forced",  base + ":fenced"};
}

std::optional<std::string> name_of_companion(std::string_view key, std::string_view suffix) {
  const std::string end = ":" + std::string(suffix);
  if (!key.starts_with(kReserved) || !key.ends_with(end)) return std::nullopt;
  key.remove_prefix(kReserved.size());
  key.remove_suffix(end.size());
  if (key.size() < 2) return std::nullopt;
  if (key.front() == '=') return std::string(key.substr(1));
  if (key.front() == '{' && key.back() == '}') return std::string(key.substr(1, key.size() - 2));
  const std::size_t close = key.find('}');
  if (key.front() == '#' && close != std::string_view::npos) return std::string(key.substr(close + 1));
  return std::nullopt;
}

}  // namespace dlock::redis
