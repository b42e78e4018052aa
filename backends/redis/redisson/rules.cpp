// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/rules.h"

#include <algorithm>
#include <array>

#include "backends/redis/deployment/names.h"
#include "backends/redis/wire/reply.h"
#include "lib/base/text.h"

namespace dlock::redis {
namespace {

/// In the order of RedissonKind.
constexpr const char* kWords[] = {"lock", "fenced", "fair", "rw"};

constexpr std::string_view kThread = ":1";
constexpr std::array<std::size_t, 4> kDashes{8, 13, 18, 23};
constexpr std::size_t kUuidText = 36;

/// Redisson looks for an opening brace alone, wherever it stands.
bool has_tag(const std::string& name) { return name.find('{') != std::string::npos; }
std::string stem_of(const std::string& name) { return has_tag(name) ? name : "{" + name + "}"; }
std::string prefixed(const char* prefix, const std::string& name) { return prefix + (":" + stem_of(name)); }

const char* channel_prefix(RedissonKind kind) {
  return kind == RedissonKind::kReadWrite ? "redisson_rwlock" : "redisson_lock__channel";
}

std::vector<std::string> other_keys(RedissonKind kind, const std::string& name, const NativeNames& beside) {
  if (kind == RedissonKind::kFenced) return {prefixed("redisson_lock_token", name)};
  if (kind != RedissonKind::kFair) return {};
  return {prefixed("redisson_lock_queue", name), prefixed("redisson_lock_timeout", name), beside.waiting};
}

bool is_in_one_slot(const RedissonNames& names) {
  const std::uint16_t slot = key_slot(names.beside.key);
  const auto is_there = [&](const std::string& key) { return key_slot(key) == slot; };
  return is_there(names.channel) && is_there(names.stem) &&
         std::all_of(names.others.begin(), names.others.end(), is_there);
}

Error unfit(RedissonKind kind, const std::string& what, const std::string& next) {
  return {ErrorCode::kUnsupported, std::string("Redisson's kind=") + kind_word(kind) + " has no " + what, next};
}

}  // namespace

RedissonKind redisson_kind(const BackendUrl& url) {
  const auto found = std::ranges::find(kWords, url.param("kind"));
  return found == std::end(kWords) ? RedissonKind::kLock : static_cast<RedissonKind>(found - std::begin(kWords));
}

const char* kind_word(RedissonKind kind) { return kWords[static_cast<std::size_t>(kind)]; }

Result<RedissonNames> redisson_names(RedissonKind kind, const LockName& name, bool cluster) {
  TRY_ASSIGN(auto beside, native_names(name));
  const std::string& object = beside.key;
  RedissonNames names{beside, stem_of(object), prefixed(channel_prefix(kind), object), other_keys(kind, object, beside),
                      cluster};
  if (cluster && !is_in_one_slot(names)) {
    return Error{ErrorCode::kUnsupported,
                 name.text() + ": Redisson's rule puts the keys of this name into several slots of a cluster",
                 "choose a name without braces, or with one pair around a part that is not empty: a{b}c"};
  }
  return names;
}

std::string redisson_field(const Owner& owner) {
  std::string field = owner.text();
  for (const std::size_t dash : kDashes) field.insert(dash, 1, '-');
  return field.append(kThread);
}

std::optional<Owner> owner_of_field(std::string_view field) {
  if (field.size() != kUuidText + kThread.size() || !field.ends_with(kThread)) return std::nullopt;
  std::string digits;
  for (std::size_t i = 0; i < kUuidText; ++i) {
    const bool dash = std::find(kDashes.begin(), kDashes.end(), i) != kDashes.end();
    if (dash != (field[i] == '-')) return std::nullopt;
    if (!dash) digits += field[i];
  }
  const auto owner = Owner::parse(digits);
  if (!owner) return std::nullopt;
  return *owner;
}

std::vector<std::string> release_arguments(RedissonKind kind, std::string entry) {
  std::vector<std::string> arguments{std::move(entry)};
  if (kind == RedissonKind::kFair) arguments.push_back(ms_text(kFairWait));
  return arguments;
}

Result<void> check_fits(RedissonKind kind, const LockSpec& spec) {
  if (spec.mode == Mode::kShared && kind != RedissonKind::kReadWrite)
    return unfit(kind, "readers (--shared)", "use kind=rw, if the services use a RReadWriteLock");
  if (spec.mode == Mode::kPermits)
    return unfit(kind, "permits (--permits, --slots)", "leave the option out, or use layout=native");
  if (spec.supersedes != Supersedes::kNothing)
    return unfit(kind, "place for --replace or --newest", "leave the option out, or use layout=native");
  if (spec.fair && kind != RedissonKind::kFair)
    return unfit(kind, "queue (--fair)", "use kind=fair, if the services use a RFairLock");
  if (spec.lock_delay > Duration(0)) return unfit(kind, "lock-delay", "leave it out, or use layout=native");
  return {};
}

Result<void> check_has_tokens(RedissonKind kind) {
  if (kind == RedissonKind::kFenced) return {};
  return unfit(kind, "fencing tokens", "use kind=fenced, if the services use a RFencedLock");
}

}  // namespace dlock::redis
