// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlock {

/// "dlock-NAME --keeper": keeps one lock of this program's backends for the dlock that started it (run_keeper). Returns
/// the exit status.
int run_keeper_program();

}  // namespace dlock
