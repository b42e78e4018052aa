// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef DLOCK_SANITIZED
/// A look at a descriptor that the client library of ZooKeeper closes just then finds nothing, which is an answer.
extern "C" const char* __tsan_default_suppressions() { return "race:for_each_unmarked\nrace:break_connections\n"; }
#endif
