// SPDX-License-Identifier: Apache-2.0
#include "lib/config/variables.h"

#include <algorithm>

#include "lib/base/text.h"

namespace dlock {
namespace {

constexpr std::string_view kBegin = "${";
constexpr std::string_view kOtherwise = ":-";
constexpr std::size_t kLongestShown = 64;

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') && std::all_of(text.begin(), text.end(), fits);
}

Error misconfigured(std::string message, std::string next) {
  return {ErrorCode::kMisconfigured, std::move(message), std::move(next)};
}

/// Value of "NAME" or "NAME:-OTHERWISE".
Result<std::string> value_of(std::string_view inside, const VariableLookup& variables) {
  const std::size_t end = inside.find(kOtherwise);
  const std::string_view name = inside.substr(0, end);
  if (!is_name(name)) {
    return misconfigured("'" + std::string(utf8_prefix(name, kLongestShown)) + "' is not the name of a variable",
                         "write ${NAME}, ${NAME:-otherwise}, or $${ where a variable is not meant");
  }
  auto value = variables(name);
  if (end != std::string_view::npos && (!value || value->empty())) {
    return std::string(inside.substr(end + kOtherwise.size()));
  }
  if (value) return std::move(*value);
  const std::string shown(utf8_prefix(name, kLongestShown));
  return misconfigured("the variable " + shown + " is not set", "set it, or write ${" + shown + ":-otherwise}");
}

}  // namespace

Result<std::string> expand_variables(std::string_view text, const VariableLookup& variables) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find(kBegin);
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin + kBegin.size());
    if (out.ends_with('$')) {
      out += '{';
      continue;
    }
    const std::size_t end = text.find('}');
    if (end == std::string_view::npos) {
      return misconfigured("a ${ has no }", "write ${NAME}, or $${ where a variable is not meant");
    }
    auto value = value_of(text.substr(0, end), variables);
    if (!value) return value;
    out += *value;
    text.remove_prefix(end + 1);
  }
}

}  // namespace dlock
