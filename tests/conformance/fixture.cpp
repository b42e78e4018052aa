// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"

#include <doctest/doctest.h>

#include "tests/support/acquisition.h"
#include "tests/support/local_store.h"

namespace dlock::testing {
namespace {

/// What the fixtures' stores live in: removed when the program ends.
const std::string& local_directory() {
  static const TemporaryDirectory directory;
  return directory.path();
}

}  // namespace

std::vector<Fixture>& fixtures() {
  static std::vector<Fixture> all{Fixture{.name = "local", .store = local_directory()}};
  return all;
}

std::unique_ptr<Backend> connect(const std::string& store) { return local_store(store); }

void on_every_backend(const std::string& key, const std::function<void(World&)>& test) {
  for (const Fixture& fixture : fixtures()) {
    INFO("backend: ", fixture.name);
    const auto a = connect(fixture.store);
    const auto b = connect(fixture.store);
    World world{fixture, *a, *b, key};
    test(world);
  }
}

}  // namespace dlock::testing
