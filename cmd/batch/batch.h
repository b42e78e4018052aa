// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/owner.h"
#include "lib/stock/stock.h"

namespace dlock {

/// `dlock stock batch`: returns the exit status. What the input has is served in
/// blocks of at most --window, each when the one before it is answered; the answers of a block are written before the
/// next one is read. Nothing of a line that was not answered stays behind but what the store did: the same input again
/// finds it by its ids.
int batch_command(const Options& options, Stock& stock, const Runtime& runtime, Output& out);

/// The owner of a batch's reservation for a request: always the same for an id, so that a repeated batch finds the
/// reservations of the first.
Owner batch_owner(const LockName& stock, const LockName& id);

}  // namespace dlock
