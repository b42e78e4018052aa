// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include "backends/mysql/lease/admin.h"
#include "backends/mysql/lease/lock.h"
#include "tests/unit/mysql/lock_world.h"

namespace dlock::mysql::testing {

struct LeaseWorld : LockWorld<LeaseLock> {
  LeaseWorld() : LockWorld(Strategy::kLease) {}

  /// A hold of somebody else, who has the gate unless `gate` is false.
  Owner somebody_holds(Duration ttl, bool gate = true) {
    LockSpec other = spec;
    other.owner = Owner::random();
    other.ttl = ttl;
    LeaseLock first(settings, server.dial(), other, Runtime{clock, log});
    const auto answer = first.acquire(control);
    REQUIRE(std::holds_alternative<Granted>(*answer));
    server.gate_is_taken = gate;
    server.log.clear();
    return other.owner;
  }
  LockState seen() {
    Servers servers(settings.servers, server.dial(), clock);
    auto state = LeaseAdmin(settings, std::move(servers), Runtime{clock, log}).inspect(spec.name);
    REQUIRE(state);
    return *state;
  }
};

}  // namespace dlock::mysql::testing
