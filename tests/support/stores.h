// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backends/registry.h"
#include "lib/base/clock.h"
#include "lib/stock/stock.h"
#include "tests/support/client.h"

namespace dlock::testing {

/// What dlock and each of its keepers have, of the backends that are built (DLOCK_BACKENDS). Generated.
std::span<const RegisteredBackend> every_backend();

/// The clock of this machine.
Clock& test_clock();

/// A client of the store at `url`, which takes locks as dlock does: in this process where the store needs no keeper, or
/// else by the real keeper program, from $DLOCK_BUILD/libexec/dlock or beside this program's build. Throws
/// std::runtime_error if there is none, or if `url` is not valid.
std::unique_ptr<Client> connect_store(const std::string& url);

/// The same for its stocks, with connections of its own.
std::unique_ptr<Stock> connect_stock(const std::string& url);
/// And for rows of a space of the tests, where those that begin with "many/" are many.
std::unique_ptr<Rows> connect_rows(const std::string& url);

}  // namespace dlock::testing
