// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef DLOCK_SANITIZED
/// libzookeeper forgets the events of a session that come while its handle is closed.
extern "C" const char* __lsan_default_suppressions() { return "leak:queue_session_event\n"; }
#endif
