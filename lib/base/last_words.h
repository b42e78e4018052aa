// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dlock {

/// For programs with a library in them that may crash on what a server sends. From now on SIGSEGV, SIGBUS, SIGFPE,
/// SIGILL and SIGABRT in any thread say `why`, with the signal's name, and end this process with 69.
void set_last_words(const std::string& why);

/// Where they go: as what `encode` makes of `why`, in one packet on `descriptor`, if that is a socket of packets still.
/// Without it: to stderr, as a line of dlock's. Called before set_last_words(), once.
void send_last_words(int descriptor, std::string (*encode)(const std::string& why));

}  // namespace dlock
