// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef DLOCK_SANITIZED
/// libzookeeper forgets events of a session, and completions, that come while its handle is closed.
extern "C" const char* __lsan_default_suppressions() { return "leak:libzookeeper_mt\n"; }
#endif
