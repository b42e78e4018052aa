// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlock {

/// The command line, from argv to the exit status: the same in dlock and in the programs that keep its locks. Throws
/// nothing: a bug is exit status 70.
int run_program(int argc, char** argv);

}  // namespace dlock
