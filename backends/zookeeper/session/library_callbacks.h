// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/session/session.h"
#include "lib/base/unique_fd.h"

namespace dlock::zookeeper {

/// Where the threads of the client library leave the events of one session for the loop that owns it. Each callback
/// shares it, so it outlives a session that was closed before its last answer came.
class Inbox {
 public:
  /// System without a descriptor.
  static Result<std::shared_ptr<Inbox>> make();

  explicit Inbox(UniqueFd ready) : ready_(std::move(ready)) {}

  /// Appends `one`, in any thread. Allocates nothing; after shut() it is dropped.
  void put(std::list<Event> one) noexcept;

  /// All that has come since the last call, in the order of its coming. For the loop, as all below.
  std::list<Event> take();

  /// Nothing comes any more.
  void shut();

  /// Readable while take() has something.
  int fd() const { return ready_.get(); }

 private:
  const UniqueFd ready_;  ///< an eventfd
  std::mutex mutex_;      ///< of what follows; never held while the library is called
  std::list<Event> events_;
  bool shut_ = false;
};

// The callbacks of libzookeeper, which runs them on threads of its own, and on the one that closes the session: each
// leaves an event in the inbox of its session. None waits, calls the library with a lock held, or throws through it.

/// A request on its way. Made by the loop, then the library's: its completion, which comes exactly once, deletes it.
struct Pending {
  Pending(std::shared_ptr<Inbox> to, std::uint64_t ticket) : inbox(std::move(to)) {
    event.emplace_back(Answered{ticket, {}});
  }

  const std::shared_ptr<Inbox> inbox;
  std::list<Event> event;  ///< one: the answer, which so needs no memory when it comes
  std::vector<zoo_op_result_t> results = {};
  std::vector<std::string> paths = {};
  std::vector<Stat> stats = {};
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

// The library's last error message. One for the process, because its log callback has no context. For any
// thread.

/// The last error, for people; empty: of nothing, or of connections before the one that stands.
std::string last_complaint();
/// How many connections have been refused so far.
int refused_connections();
/// We close the connection ourselves: the reason to report instead of the library's. nullopt: we do not after all.
void report_instead(std::optional<std::string> reason);

inline constexpr char kSilent[] = "no answer (is it a ZooKeeper server that listens there?)";

}  // namespace dlock::zookeeper
