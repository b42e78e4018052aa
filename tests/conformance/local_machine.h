// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/conformance/fixture.h"
#include "tests/support/local_store.h"

namespace dlock::testing::local_test {

/// A directory for locks and one for other files, with two clients.
struct Machine {
  TemporaryDirectory locks;
  TemporaryDirectory files;
  std::unique_ptr<Client> a = local_store(locks.path());
  std::unique_ptr<Client> b = local_store(locks.path());
  std::string file(const std::string& leaf) const { return files.path() + "/" + leaf; }
};

}  // namespace dlock::testing::local_test
