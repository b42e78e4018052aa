// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/redis/redisson/rules.h"
#include "backends/redis/redisson/scripts.h"
#include "tests/conformance/redis/script_table.h"

namespace dlock::redis::redisson_rows {

/// A script is KIND.WHAT, then FIELD. What it tells others is in the lists told, and told-B of the waiter B: they are
/// published by RPUSH. "ends" is where turns end; me1 is the first read of the reader `me`.
class Table final : public ScriptTable {
 public:
  using ScriptTable::ScriptTable;

 private:
  Keys keys_of(const LockName& name) override {
    stem_ = "{" + name.text() + "}";
    const auto read = [&](const std::string& field) { return stem_ + ":" + field + ":rwlock_timeout:"; };
    keys_ = {{"lock", name.text()},           {"holders", "dlock:" + stem_ + ":holders"},
             {"counter", stem_ + ":counter"}, {"queue", stem_ + ":queue"},
             {"ends", stem_ + ":ends"},       {"waiting", stem_ + ":dlocks"},
             {"told", stem_ + ":told"},       {"told-B", stem_ + ":told:B"},
             {"told-C", stem_ + ":told:C"},   {"me1", read("me") + "1"},
             {"me2", read("me") + "2"},       {"B1", read("B") + "1"}};
    return keys_;
  }

  Command command_of(const std::vector<std::string>& script) override {
    const std::string kind = script[0].substr(0, script[0].find('.'));
    Command command{"EVAL", text_of(script[0])};
    const bool renews = script[0].ends_with("renew");
    std::vector<std::string> names{"lock", "holders"};
    if (!renews && kind == "fenced") names.push_back("counter");
    if (!renews && kind == "fair") names.insert(names.end(), {"queue", "ends", "waiting"});
    if (renews && kind == "rw") names.push_back("me1");
    command.push_back(std::to_string(names.size()));
    for (const std::string& wanted : names) command.push_back(key(wanted));
    command.insert(command.end(), {key("told"), "RPUSH", stem_});
    std::vector<std::string> arguments(script.begin() + 1, script.end());
    // Of an attempt: FIELD entry lease who | mode flags wait
    if (script[0].ends_with("acquire")) {
      const std::vector<std::string> usual{"me", "e1", "100000", "who", "x", "", "100000"};
      arguments.insert(arguments.end(), usual.begin() + static_cast<std::ptrdiff_t>(arguments.size()), usual.end());
    }
    if (renews) arguments.emplace_back("");  // its command goes on
    // Of a release: FIELD entry, with what the program adds.
    if (script[0].ends_with("release")) {
      const auto sent = release_arguments(kind == "fair" ? RedissonKind::kFair : RedissonKind::kLock, script.at(2));
      arguments.resize(1);
      arguments.insert(arguments.end(), sent.begin(), sent.end());
    }
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }

  std::string key(const std::string& wanted) const {
    for (const auto& [name, key] : keys_) {
      if (name == wanted) return key;
    }
    throw std::runtime_error("there is no key " + wanted);
  }

  static const char* text_of(const std::string& name) {
    namespace texts = redisson_scripts;
    static const std::map<std::string, const char*> kTexts{
        {"lock.acquire", texts::kLockAcquire},   {"lock.renew", texts::kLockRenew},
        {"lock.release", texts::kLockRelease},   {"lock.force", texts::kLockForce},
        {"fenced.acquire", texts::kLockAcquire}, {"fair.acquire", texts::kFairAcquire},
        {"fair.release", texts::kLockRelease},   {"fair.force", texts::kLockForce},
        {"rw.acquire", texts::kRwAcquire},       {"rw.renew", texts::kRwRenew},
        {"rw.release", texts::kRwRelease},       {"rw.force", texts::kRwForce},
        {"fenced.read", texts::kReadState},      {"fair.read", texts::kReadState},
        {"rw.read", texts::kReadState}};
    const auto text = kTexts.find(name);
    if (text == kTexts.end()) throw std::runtime_error("there is no script " + name);
    return text->second;
  }

  std::string stem_;
  Keys keys_;
};

inline void check(const std::vector<ScriptRow>& rows) { check_scripts<Table>(rows); }

inline constexpr const char* kHeldByMe = "HSET lock me 1";
inline constexpr const char* kHeldByB = "HSET lock B 1";
inline constexpr const char* kFor500s = "PEXPIRE lock 500000";
inline constexpr const char* kMyRecord = "HSET holders me 0_5_0_e1_who";
inline constexpr const char* kTwoEntries = "HSET holders me 0_5_0_e1,e2_who";
inline constexpr const char* kRecordForTwo = "lock me 2 for 100s, holders me 0_5_0_e1,e2_who for 100s";

}  // namespace dlock::redis::redisson_rows
