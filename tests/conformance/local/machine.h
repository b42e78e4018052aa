// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/conformance/fixture.h"
#include "tests/support/acquisition.h"
#include "tests/support/stores.h"

namespace dlock::testing::local_test {

/// A directory for locks and one for other files, with two clients.
struct Machine {
  TemporaryDirectory locks;
  TemporaryDirectory files;
  const std::string store = "local:" + locks.path();
  std::unique_ptr<Client> a = connect_store(store);
  std::unique_ptr<Client> b = connect_store(store);
  std::string file(const std::string& leaf) const { return files.path() + "/" + leaf; }
};

}  // namespace dlock::testing::local_test
