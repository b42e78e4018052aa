// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlock::redis {

/// The scripts of the native layout, our own text. All have KEYS = key, fence, holders, until, queue, waiting, and as
/// the first argument the channel prefix of waiters. Every decision about a lock is made inside one of them, by the
/// server's clock. What gives back begins with a command that is allowed when memory is full. Arguments and answers:
/// native_store.cpp.
extern const char* const kAcquireScript;
extern const char* const kRenewScript;
extern const char* const kReleaseScript;
extern const char* const kForceScript;
extern const char* const kLookScript;

}  // namespace dlock::redis
