// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/held_claims.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace dlock {
namespace {

std::string escape(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '|' || byte <= 0x20) out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    else out += c;
  }
  return out;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* digits = text.data() + at + 1;
    const bool escaped = text[at] == '%' && at + 2 < text.size();
    if (escaped && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return front;
}

std::string entry_text(const HeldEntry& entry) {
  return escape(entry.store) + "|" + escape(entry.key) + "|" + entry.claim.owner.text() + "|" +
         entry.claim.token.text();
}

}  // namespace

std::vector<HeldEntry> parse_held(std::string_view text) {
  std::vector<HeldEntry> entries;
  while (!text.empty()) {
    std::string_view rest = take_until(text, ' ');
    const std::string store = unescape(take_until(rest, '|'));
    const std::string key = unescape(take_until(rest, '|'));
    const auto owner = Owner::parse(take_until(rest, '|'));
    const auto token = FencingToken::parse(rest);
    if (owner && token) entries.push_back({store, key, {*owner, *token}});
  }
  return entries;
}

std::string format_held(std::string_view outer, const std::vector<HeldLock>& locks) {
  std::vector<HeldEntry> entries = parse_held(outer);
  for (const HeldLock& lock : locks) {
    const HeldEntry added{lock.store, lock.name.text(), {lock.owner, lock.token}};
    const auto same = [&](const HeldEntry& entry) { return entry.store == added.store && entry.key == added.key; };
    entries.erase(std::remove_if(entries.begin(), entries.end(), same), entries.end());
    entries.push_back(added);
  }
  std::string text;
  for (const HeldEntry& entry : entries) text += (text.empty() ? "" : " ") + entry_text(entry);
  return text;
}

std::optional<HeldClaim> find_claim(std::string_view held, const std::string& store, const LockName& name) {
  for (HeldEntry& entry : parse_held(held)) {
    if (entry.store == store && entry.key == name.text()) return std::move(entry.claim);
  }
  return std::nullopt;
}

}  // namespace dlock
