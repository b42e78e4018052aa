// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "tests/support/acquisition.h"
#include "tests/support/store_table.h"
#include "tests/support/stores.h"

namespace dlock::testing {
namespace {

/// What the fixtures' stores live in: removed when the program ends.
const std::string& local_directory() {
  static const TemporaryDirectory directory;
  return directory.path();
}

constexpr std::pair<const char*, bool Fixture::*> kAbilities[] = {
    {"shared", &Fixture::shared},
    {"permits", &Fixture::permits},
    {"fair", &Fixture::fair},
    {"lock_delay", &Fixture::lock_delay},
    {"readers_give_way", &Fixture::readers_give_way},
    {"sees_waiters", &Fixture::sees_waiters},
    {"told_at_once", &Fixture::told_at_once},
    {"revokes", &Fixture::revokes},
    {"freed_at_once", &Fixture::freed_at_once},
    {"detaches", &Fixture::detaches},
    {"watches", &Fixture::watches},
    {"tokens", &Fixture::tokens},
    {"tells_end", &Fixture::tells_end},
    {"fence_stays_open", &Fixture::fence_stays_open},
};

std::vector<Fixture> all_fixtures() {
  std::set<std::string> known;
  for (const auto& [word, member] : kAbilities) known.insert(word);
  std::vector<Fixture> all;
  for (const FoundStore& found : stores_of("lock", "local:" + local_directory(), known)) {
    Fixture fixture{.name = found.row.name, .store = found.url};
    for (const auto& [word, member] : kAbilities) fixture.*member = found.row.lacks.count(word) == 0;
    all.push_back(std::move(fixture));
  }
  return all;
}

}  // namespace

std::vector<Fixture>& fixtures() {
  static std::vector<Fixture> all = all_fixtures();
  return all;
}

bool every_backend_runs() {
  fixtures();
  return every_store_was_found();
}

void on_every_backend(const std::string& key, const std::function<void(World&)>& test) {
  for (const Fixture& fixture : fixtures()) {
    INFO("backend: ", fixture.name);
    const auto a = connect_store(fixture.store);
    const auto b = connect_store(fixture.store);
    // Several runs, and several fixtures, may share a server.
    const auto number = &fixture - fixtures().data();
    World world{fixture, *a, *b, key + "." + std::to_string(getpid()) + "." + std::to_string(number)};
    test(world);
  }
}

}  // namespace dlock::testing
