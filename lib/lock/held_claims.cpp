// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/held_claims.h"

#include <algorithm>

#include "lib/base/text.h"

namespace dlock {
namespace {

std::string escape(std::string_view text) {
  return percent_escaped(text, [](unsigned char c) { return c != '%' && c != '|' && c > ' '; });
}

/// Text that is not one of our escapes stays as it is.
std::string unescape(std::string_view text) { return percent_unescaped(text).value_or(std::string(text)); }

std::string entry_text(const HeldEntry& entry) {
  return escape(entry.store) + "|" + escape(entry.key) + "|" + entry.claim.owner.text() + "|" +
         entry.claim.token.text() + "|" + entry.claim.secret;
}

}  // namespace

std::vector<HeldEntry> parse_held(std::string_view text) {
  std::vector<HeldEntry> entries;
  while (!text.empty()) {
    std::string_view rest = cut(text, ' ');
    const std::string store = unescape(cut(rest, '|'));
    const std::string key = unescape(cut(rest, '|'));
    const auto owner = Owner::parse(cut(rest, '|'));
    const auto token = FencingToken::parse_any(cut(rest, '|'));
    if (owner && token) entries.push_back({store, key, {*owner, *token, std::string(rest)}});
  }
  return entries;
}

std::string format_held(std::string_view outer, const std::vector<HeldLock>& locks) {
  std::vector<HeldEntry> entries = parse_held(outer);
  for (const HeldLock& lock : locks) {
    if (!lock.parts.empty()) continue;  // of a stock: a lock of the same name is another thing
    const HeldEntry added{lock.store, lock.name.text(), {lock.owner, lock.token, lock.secret}};
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
