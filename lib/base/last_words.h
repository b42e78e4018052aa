// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dlock {

/// For programs with a library that may crash on the data of a server: from now on SIGSEGV, SIGBUS, SIGFPE, SIGILL or
/// SIGABRT in any thread reports `why` with the signal's name, and ends this process with status 69.
void set_last_words(const std::string& why);

/// Has that report sent as one packet, encode(why), on `descriptor`, if that is a packet socket then; otherwise it is a
/// line on stderr. Called at most once, before set_last_words().
void send_last_words(int descriptor, std::string (*encode)(const std::string& why));

}  // namespace dlock
