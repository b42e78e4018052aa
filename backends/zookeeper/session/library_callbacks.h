// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/session/session.h"

namespace dlock::zookeeper {

// The callbacks of libzookeeper, which runs them on the thread that calls it: each appends an event to the inbox of its
// session.

using Inbox = std::deque<Event>;

/// A request on its way; deleted by its completion, which comes exactly once. `inbox` outlives it.
struct Pending {
  Inbox* inbox;
  std::uint64_t ticket;
  std::vector<zoo_op_result_t> results = {};
  std::vector<std::string> paths = {};
  std::vector<Stat> stats = {};

  /// Deletes this.
  void answer(Answer answer);
};

// The completions of requests; `data` is their Pending.
void on_changed(int rc, const void* data) noexcept;
void on_created(int rc, const char* path, const Stat* stat, const void* data) noexcept;
void on_synced(int rc, const char* path, const void* data) noexcept;
void on_exists(int rc, const Stat* stat, const void* data) noexcept;
void on_read(int rc, const char* value, int size, const Stat* stat, const void* data) noexcept;
void on_listed(int rc, const String_vector* names, const Stat* stat, const void* data) noexcept;

/// A change of the session, or a watch that has fired; `context` is the Inbox.
void on_event(zhandle_t* handle, int type, int state, const char* path, void* context) noexcept;

/// A line of the library's log, of which it says errors only.
void on_log(const char* line) noexcept;

inline constexpr char kSilent[] = "no answer (is it a ZooKeeper server that listens there?)";

/// What the library has logged as an error. One for the process, because its log callback has no context.
struct Complaints {
  std::string last;  ///< for people; empty: of nothing, or of connections before the one that stands
  int refusals = 0;
  std::optional<std::string> left;  ///< we close the connection ourselves: the reason to report for it
};
Complaints& complaints();

}  // namespace dlock::zookeeper
