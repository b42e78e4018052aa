// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "backends/redis/deployment/names.h"
#include "backends/redis/deployment/scripts.h"
#include "backends/redis/native/scripts.h"
#include "backends/redis/quorum/scripts.h"
#include "tests/conformance/redis/script_table.h"

namespace dlock::redis::redis_scripts {

/// Keys are called by what they are: lock, fence, holders, ends, queue, waiting, fenced.
class Table final : public ScriptTable {
 public:
  using ScriptTable::ScriptTable;

 private:
  Keys keys_of(const LockName& name) override {
    const auto names = native_names(name);
    REQUIRE(names);
    names_ = *names;
    return {{"lock", names_.key},    {"fence", names_.fence},     {"holders", names_.holders}, {"ends", names_.until},
            {"queue", names_.queue}, {"waiting", names_.waiting}, {"fenced", names_.fenced}};
  }

  Command command_of(const std::vector<std::string>& script) override {
    const NativeNames& n = names_;
    Command command{"EVAL", text_of(script[0])};
    if (script[0] == "fence") command.insert(command.end(), {"2", n.key, n.fenced, n.wake});
    else if (script[0] == "sweep") command.insert(command.end(), {"2", n.key, n.fence});
    else if (script[0] == "drop") command.insert(command.end(), {"1", n.key});
    else if (script[0] == "renew") command.insert(command.end(), {"4", n.key, n.fence, n.holders, n.until, n.wake});
    else if (script[0] == "renew-lock" || script[0] == "release-lock")
      command.insert(command.end(), {"1", n.key, n.wake});
    else if (script[0] == "renew-end") command.insert(command.end(), {"1", n.until});
    else if (script[0] == "keep-record") command.insert(command.end(), {"1", n.holders});
    else if (script[0] == "revoke-record") command.insert(command.end(), {"1", n.holders, n.wake});
    else if (script[0] == "renew-alone") command.insert(command.end(), {"3", n.key, n.fence, n.holders, n.wake});
    else command.insert(command.end(), {"6", n.key, n.fence, n.holders, n.until, n.queue, n.waiting, n.wake});
    command.insert(command.end(), script.begin() + 1, script.end());
    return command;
  }

  static const char* text_of(const std::string& name) {
    if (name == "acquire") return native_scripts::kAcquire;
    if (name == "renew" || name == "renew-alone") return native_scripts::kRenew;
    if (name == "renew-lock") return native_scripts::kRenewLock;
    if (name == "renew-end") return native_scripts::kRenewEnd;
    if (name == "release-lock") return native_scripts::kReleaseLock;
    if (name == "revoke-record") return native_scripts::kRevokeRecord;
    if (name == "keep-record") return deployment_scripts::kKeepRecord;
    if (name == "release") return native_scripts::kRelease;
    if (name == "force") return native_scripts::kForce;
    if (name == "read") return native_scripts::kReadState;
    if (name == "fence") return quorum_scripts::kFence;
    if (name == "drop") return deployment_scripts::kDropData;
    if (name == "sweep") return deployment_scripts::kSweep;
    throw std::runtime_error("there is no script " + name);
  }

  NativeNames names_;
};

inline void check(const std::vector<ScriptRow>& rows) { check_scripts<Table>(rows); }

inline constexpr const char* kHeldByOther = "SET lock other PX 500000";
inline constexpr const char* kOthersRecord = "HSET holders other 7_5_0_other_who";
inline constexpr const char* kHeldByMe = "SET lock me PX 20000";
inline constexpr const char* kMyRecord = "HSET holders me 7_5_0_me_who";

}  // namespace dlock::redis::redis_scripts
