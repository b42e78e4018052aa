// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/client.h"

namespace dlock::testing {

/// A kind of store that the suite runs against, and what it can do. A new backend says which it has in its
/// conformance.txt (store_table.h), and is then held to every sentence of the port. What it cannot do must be refused
/// with Unsupported, which is tested too; the cases that ask for it leave it out (skips.h), and skips.txt says that
/// they may.
struct Fixture {
  std::string name;   ///< "local", "redis"
  std::string store;  ///< its URL; the same text in every process means the same store, empty at first
  bool shared = true;
  bool permits = true;
  bool fair = true;  ///< first come first served, always
  bool lock_delay = true;
  bool readers_give_way = true;  ///< to a writer that waits
  bool sees_waiters = true;      ///< inspect lists them
  bool told_at_once = true;      ///< of a force-release, without a renewal
  bool revokes = true;           ///< a holder can be asked to end
  bool freed_at_once = true;     ///< after SIGKILL of the holder; else within its ttl
  bool detaches = true;
  bool watches = true;           ///< a lease can last as long as a process
  bool tokens = true;            ///< each grant has a fencing token
  bool tells_end = true;         ///< inspect knows when a lease ends by itself
  bool fence_stays_open = true;  ///< an open fence keeps other checks out

  /// Of a later grant the token is `newer`, of an earlier one `older`: it has grown, or there is none.
  bool grows(FencingToken older, FencingToken newer) const {
    return tokens ? older < newer : older.is_none() && newer.is_none();
  }
};

/// Those that can run here, each with an empty store. Made on first use, gone at exit.
std::vector<Fixture>& fixtures();
/// False if the environment has no server for some, or leaves them out.
bool every_backend_runs();

/// Runs `test` for each fixture, with two independent clients of a fresh key space.
struct World {
  const Fixture& fixture;
  Client& a;
  Client& b;
  std::string key;  ///< of this test alone
};
void on_every_backend(const std::string& key, const std::function<void(World&)>& test);

}  // namespace dlock::testing
