// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlock {

/// The main function of "dlock-NAME --keeper": keeps one lock, of a backend that is inside this program, for the dlock
/// that started it (run_keeper()). Returns the exit status of the process.
int run_keeper_program();

}  // namespace dlock
