// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/names.h"

#include <algorithm>
#include <array>

#include "backends/redis/deployment/names.h"
#include "lib/base/text.h"

namespace dlock::redis {
namespace {

struct KindWord {
  RedissonKind kind;
  const char* word;
};
constexpr std::array<KindWord, 7> kWords{{{RedissonKind::kLock, "lock"},
                                          {RedissonKind::kSpin, "spin"},
                                          {RedissonKind::kFenced, "fenced"},
                                          {RedissonKind::kFair, "fair"},
                                          {RedissonKind::kReadWrite, "rw"},
                                          {RedissonKind::kSemaphore, "semaphore"},
                                          {RedissonKind::kPermits, "permits"}}};

constexpr std::string_view kThread = ":1";
constexpr std::array<std::size_t, 4> kDashes{8, 13, 18, 23};
constexpr std::size_t kUuidText = 36;

/// Redisson looks for an opening brace alone, wherever it stands.
bool has_tag(const std::string& name) { return name.find('{') != std::string::npos; }
std::string stem_of(const std::string& name) { return has_tag(name) ? name : "{" + name + "}"; }
std::string prefixed(const char* prefix, const std::string& name) { return prefix + (":" + stem_of(name)); }

const char* channel_prefix(RedissonKind kind) {
  if (kind == RedissonKind::kReadWrite) return "redisson_rwlock";
  const bool permits = kind == RedissonKind::kSemaphore || kind == RedissonKind::kPermits;
  return permits ? "redisson_sc" : "redisson_lock__channel";
}

std::vector<std::string> other_keys(RedissonKind kind, const std::string& name, const NativeNames& beside) {
  if (kind == RedissonKind::kFenced) return {prefixed("redisson_lock_token", name)};
  if (kind == RedissonKind::kSemaphore) return {beside.until};
  if (kind == RedissonKind::kPermits) return {stem_of(name) + ":timeout"};
  if (kind != RedissonKind::kFair) return {};
  return {prefixed("redisson_lock_queue", name), prefixed("redisson_lock_timeout", name), beside.waiting};
}

bool is_in_one_slot(const RedissonNames& names) {
  const std::uint16_t slot = key_slot(names.beside.key);
  const auto is_there = [&](const std::string& key) { return key_slot(key) == slot; };
  return is_there(names.channel) && is_there(names.stem) &&
         std::all_of(names.others.begin(), names.others.end(), is_there);
}

}  // namespace

RedissonKind redisson_kind(const BackendUrl& url) {
  const std::string word = url.param("kind");
  for (const KindWord& row : kWords) {
    if (word == row.word) return row.kind;
  }
  return RedissonKind::kLock;
}

const char* kind_word(RedissonKind kind) {
  for (const KindWord& row : kWords) {
    if (kind == row.kind) return row.word;
  }
  return "lock";
}

Result<RedissonNames> redisson_names(RedissonKind kind, const LockName& name, bool cluster) {
  auto beside = native_names(name);
  if (!beside) return beside.error();
  RedissonNames names{*beside, stem_of(name.text()), prefixed(channel_prefix(kind), name.text()),
                      other_keys(kind, name.text(), *beside), cluster};
  if (cluster && !is_in_one_slot(names)) {
    return Error{ErrorCode::kUnsupported,
                 name.text() + ": Redisson's rule puts the keys of this name into several slots of a cluster",
                 "choose a name without braces, or with one pair around a part that is not empty: a{b}c"};
  }
  return names;
}

std::string redisson_field(RedissonKind kind, const Owner& owner) {
  if (kind == RedissonKind::kPermits) return *from_hex(owner.text());
  std::string field = owner.text();
  for (const std::size_t dash : kDashes) field.insert(dash, 1, '-');
  return field.append(kThread);
}

std::optional<Owner> owner_of_field(RedissonKind kind, std::string_view field) {
  std::string digits;
  if (kind == RedissonKind::kPermits) {
    digits = hex(field);
  } else {
    if (field.size() != kUuidText + kThread.size() || !field.ends_with(kThread)) return std::nullopt;
    for (std::size_t i = 0; i < kUuidText; ++i) {
      const bool dash = std::find(kDashes.begin(), kDashes.end(), i) != kDashes.end();
      if (dash != (field[i] == '-')) return std::nullopt;
      if (!dash) digits += field[i];
    }
  }
  const auto owner = Owner::parse(digits);
  if (!owner) return std::nullopt;
  return *owner;
}

}  // namespace dlock::redis
