// SPDX-License-Identifier: Apache-2.0
#include "lib/config/toml_lines.h"

#include <algorithm>

namespace dlock {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyz-_";
constexpr auto npos = std::string_view::npos;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// Where a line begins; at the end if there are not so many.
std::size_t line_start(std::string_view text, std::size_t line) {
  std::size_t at = 0;
  for (; line > 1 && at < text.size(); --line) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  return at;
}

/// The last line of `text` that begins with '['; empty if there is none.
std::string_view last_header(std::string_view text) {
  std::string_view header;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto line = trimmed(text.substr(0, end)); line.starts_with('[')) header = line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return header;
}

bool is_assignment(std::string_view line) {
  const std::string_view key = trimmed(line.substr(0, line.find('=')));
  return line.find('=') != npos && !key.empty() && key.find_first_not_of(kWord) == npos;
}

}  // namespace

std::pair<std::string_view, std::string_view> unquoted_assignment(std::string_view text, std::size_t line) {
  constexpr std::string_view kValue = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-";
  text.remove_prefix(line_start(text, line));
  text = text.substr(0, text.find_first_of("\n#"));
  if (!is_assignment(text)) return {};
  const std::size_t equals = text.find('=');
  const std::string_view key = trimmed(text.substr(0, equals));
  const std::string_view value = trimmed(text.substr(equals + 1));
  const bool plain = value.size() <= 20 && value.find_first_not_of(kValue) == npos;
  const bool toml = value == "true" || value == "false" || value.find_first_not_of("0123456789.:-") == npos;
  if (!plain || toml || value.empty() || key.starts_with("pass")) return {};
  return {key, value};
}

std::string quoted_header(std::string_view text, std::size_t line) {
  constexpr std::string_view kBegin = "[key.";
  text.remove_prefix(line_start(text, line));
  text = trimmed(text.substr(0, text.find_first_of("\n#")));
  if (!text.starts_with(kBegin) || !text.ends_with(']') || text.find_first_of("\"'\\") != npos) return {};
  text.remove_prefix(kBegin.size());
  return std::string(kBegin) + '"' + std::string(text.substr(0, text.size() - 1)) + "\"]";
}

bool leave_out(std::string& text, std::size_t line) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  std::size_t begin = line_start(text, line);
  if (begin >= text.size()) begin = text.rfind('\n') + 1;  // its end: what has no end begins further up
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  if (end == text.size() || !is_assignment(std::string_view(text).substr(begin, end - begin))) {
    const bool assigns = is_assignment(std::string_view(text).substr(begin));
    text.erase(begin);
    if (!assigns) return true;
  } else {
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  }
  const std::string_view section = last_header(std::string_view(text).substr(0, begin));
  return section.empty() || section.starts_with("[key");
}

}  // namespace dlock
