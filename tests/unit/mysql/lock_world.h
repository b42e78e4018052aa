// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include "backends/mysql/connection/settings.h"
#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"
#include "tests/unit/mysql/fake_server.h"

namespace dlock::mysql::testing {

/// One lock "k" of ours, on a fake server "h".
template <typename Lock>
struct LockWorld {
  explicit LockWorld(Strategy strategy) : control(clock), server(clock) {
    spec.wait.connect_timeout = std::chrono::seconds(5);
    settings.strategy = strategy;
    settings.store = "mysql://u@h/db";
    settings.servers.push_back({.endpoint = {"h", 3306, ""}, .user = "u", .password = "", .database = "db", .tls = {}});
  }

  Lock& lock() {
    if (!made) made = std::make_unique<Lock>(settings, server.dial(), spec, Runtime{clock, log});
    return *made;
  }
  Granted granted() {
    const auto answer = lock().acquire(control);
    REQUIRE(answer.has_value());
    if (const auto* refused = std::get_if<Refused>(&*answer)) FAIL(refused->error.message);
    return std::get<Granted>(*answer);
  }
  Error refused() {
    const auto answer = lock().acquire(control);
    REQUIRE(answer.has_value());
    REQUIRE(std::holds_alternative<Refused>(*answer));
    return std::get<Refused>(*answer).error;
  }
  TimePoint at(Duration since) const { return FakeClock::start() + since; }

  FakeClock clock;
  Log log;
  ScriptedControl control;
  FakeServer server;
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
  Settings settings;
  std::unique_ptr<Lock> made;
};

}  // namespace dlock::mysql::testing
