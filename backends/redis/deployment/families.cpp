// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/families.h"

#include <algorithm>

#include "backends/redis/deployment/scripts.h"

namespace dlock::redis {
namespace {

constexpr std::size_t kUuid = 36;
constexpr std::size_t kLongestToken = 128;

/// Owner of a lock as clients write it: one word of letters, digits and the marks of base64 and UUIDs, or the raw
/// bytes of a random number.
bool is_token(std::string_view value) {
  const auto is_mark = [](unsigned char c) {
    return std::string_view("+/=_-:.@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  const auto is_word = [&](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_mark(c);
  };
  if (std::all_of(value.begin(), value.end(), is_word)) return !value.empty() && value.size() <= kLongestToken;
  const auto is_raw = [](unsigned char c) { return c < 0x20 || c >= 0x7f; };
  return std::any_of(value.begin(), value.end(), is_raw) && value.size() >= 16 && value.size() <= 32 &&
         value.size() % 4 == 0;
}

/// A value with a TTL may be the owner of a home-made lock, unless it is JSON, XML or HTML.
bool may_be_owner(std::string_view value) {
  return !value.empty() && value.size() <= kLongestToken &&
         std::string_view("{[<\"").find(value.front()) == std::string_view::npos;
}

bool is_number(std::string_view value) {
  if (value.starts_with('-')) value.remove_prefix(1);
  return !value.empty() && value.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string redisson(const char* what, const char* kind) {
  return std::string("a Redisson ") + what + "; add ?layout=redisson&kind=" + kind;
}

}  // namespace

std::string data_to_drop(const LockState& shown) {
  for (const Participant& one : shown.holders) {
    if (one.standing == Standing::kForeignData) return one.stored;
  }
  return {};
}

Command drop_command(const std::string& key, const std::string& data) {
  return {"EVAL", deployment_scripts::kDropData, "1", key, data};
}

bool is_redisson_owner(std::string_view field) {
  if (field.size() < kUuid + 2 || field[kUuid] != ':') return false;
  return std::all_of(field.begin(), field.begin() + kUuid, [i = std::size_t{0}](unsigned char c) mutable {
    const std::size_t at = i++;
    const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
    return dash ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

Family family_of(std::string_view type, std::string_view sign, bool ends) {
  const bool owner = ends ? may_be_owner(sign) : is_token(sign) && !is_number(sign);
  if (type == "string" && owner) return {"another lock client", true};
  if (type == "string" && is_number(sign)) return {"a number", false};
  if (type == "string") return {"a string of " + std::to_string(sign.size()) + " bytes", false};
  if (type == "hash" && sign == "read") return {redisson("read lock", "rw"), true};
  if (type == "hash" && sign == "write") return {redisson("write lock", "rw"), true};
  if (type == "hash" && is_redisson_owner(sign)) return {redisson("lock", "lock"), true};
  if (type == "exstrtype") return {"a string of Tair; use tair://", true};
  return {"a " + std::string(type), false};
}

void show_family(Participant& participant, std::string_view type, std::string_view sign, bool ends) {
  Family family = family_of(type, sign, ends);
  participant.note += (participant.note.empty() ? "" : ", ") + family.note;
  if (family.is_lock) return;
  participant.standing = Standing::kForeignData;
  participant.owner.clear();
  participant.stored = std::string(type) + (type == "string" ? " " + std::string(sign) : "");
}

}  // namespace dlock::redis
