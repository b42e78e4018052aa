// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "lib/base/clock.h"
#include "lib/stock/stock.h"

namespace dlock::testing {

/// The clock of this machine.
Clock& test_clock();

/// A new client, with connections of its own, of any store that keeps stocks; throws if the URL is none.
std::unique_ptr<Stock> connect_stock(const std::string& url);

}  // namespace dlock::testing
