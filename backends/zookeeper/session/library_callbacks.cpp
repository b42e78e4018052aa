// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/library_callbacks.h"

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "backends/zookeeper/session/session.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"

namespace dlock::zookeeper {
namespace {

constexpr char kClosed[] =
    "the server closed the connection (is it a ZooKeeper server that listens there? "
    "Is that its port for TLS, which the client library has not? Does its maxClientCnxns allow one more from here? "
    "Is a majority of its ensemble running?)";

/// Host down is what the library calls an end of file. A write at that moment sees the other two first.
bool is_closing(int error) { return error == EHOSTDOWN || error == EPIPE || error == ECONNRESET; }

NodeStat stat_of(const Stat* stat) {
  if (!stat) return {};
  return {stat->czxid,          stat->ctime,   stat->mzxid,    stat->mtime,
          stat->ephemeralOwner, stat->version, stat->cversion, stat->numChildren};
}

/// Completes the request of `data` with what `fill` makes of the arguments. An answer that there is no memory for is
/// nonsense: a server sent it.
template <typename Fill>
void complete(const void* data, int rc, Fill fill) noexcept {
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(const_cast<void*>(data)));
  Answer& answer = std::get<Answered>(pending->event.front()).answer;
  answer.code = Code(rc);
  try {
    fill(*pending, answer);
  } catch (const std::exception&) {
    answer = {.code = Code::kNonsense};
  }
  pending->inbox->put(std::move(pending->event));
}

SessionState state_of(int state) {
  if (state == ZOO_CONNECTED_STATE) return SessionState::kConnected;
  if (state == ZOO_EXPIRED_SESSION_STATE) return SessionState::kExpired;
  if (state == ZOO_AUTH_FAILED_STATE) return SessionState::kAuthFailed;
  return SessionState::kConnecting;
}

std::string server_of(zhandle_t* handle) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  const auto* found = zookeeper_get_connected_host(handle, reinterpret_cast<sockaddr*>(&address), &length);
  return found ? server_text(found) : std::string();
}

struct Complaints {
  std::mutex mutex;
  std::string last;
  int refusals = 0;
  std::optional<std::string> instead;
};

/// Never destroyed: a session that could not be closed in time still has its threads when the process ends.
Complaints& complaints() {
  static auto& one = *new Complaints;
  return one;
}

void forget_complaints() {
  const std::lock_guard lock(complaints().mutex);
  complaints().last.clear();
  complaints().instead.reset();
}

}  // namespace

Result<std::shared_ptr<Inbox>> Inbox::make() {
  UniqueFd ready(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.valid()) return system_error("cannot start a ZooKeeper session", errno);
  return std::make_shared<Inbox>(std::move(ready));
}

void Inbox::put(std::list<Event> one) noexcept {
  const std::lock_guard lock(mutex_);
  if (shut_) return;
  if (events_.empty()) eventfd_write(ready_.get(), 1);
  events_.splice(events_.end(), one);
}

std::list<Event> Inbox::take() {
  const std::lock_guard lock(mutex_);
  if (eventfd_t times = 0; !events_.empty()) eventfd_read(ready_.get(), &times);
  return std::exchange(events_, {});
}

void Inbox::shut() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
}

std::string last_complaint() {
  const std::lock_guard lock(complaints().mutex);
  return complaints().last;
}

int refused_connections() {
  const std::lock_guard lock(complaints().mutex);
  return complaints().refusals;
}

void report_instead(std::optional<std::string> reason) {
  const std::lock_guard lock(complaints().mutex);
  complaints().instead = std::move(reason);
}

/// A line such as "...@1234: Socket [..] zk retcode=-4, errno=111(Connection refused): server refused ...".
void on_log(const char* line) noexcept {
  const char* number = std::strstr(line, "errno=");
  const char* open = number ? std::strchr(number, '(') : nullptr;
  const char* end = open ? std::strchr(open, ')') : nullptr;
  if (!end) return;
  const int error = leading_number<int>(std::string_view(number).substr(std::strlen("errno=")));
  const std::lock_guard lock(complaints().mutex);
  std::string& last = complaints().last.assign(open + 1, end);
  if (is_closing(error)) last = std::exchange(complaints().instead, std::nullopt).value_or(kClosed);
  if (error == ECONNREFUSED) ++complaints().refusals;
}

void on_changed(int rc, const void* data) noexcept {
  complete(data, rc, [](const Pending& pending, Answer& answer) {
    for (std::size_t i = 0; i < pending.results.size(); ++i) {
      answer.changed.push_back(
          {Code(pending.results[i].err), std::string(pending.paths[i].c_str()), stat_of(&pending.stats[i])});
    }
  });
}

void on_created(int rc, const char* path, const Stat* stat, const void* data) noexcept {
  complete(data, rc, [&](const Pending&, Answer& answer) {
    if (rc == ZOK && path) answer.changed.push_back({Code::kOk, path, stat_of(stat)});
    else if (rc == ZOK) answer.code = Code::kNonsense;
  });
}

/// Its answer is all that a renewal has: one without the path that was asked is not an answer.
void on_synced(int rc, const char* path, const void* data) noexcept {
  complete(data, rc, [&](const Pending& pending, Answer& answer) {
    if (rc == ZOK && (!path || pending.paths.front() != path)) answer.code = Code::kNonsense;
  });
}

void on_exists(int rc, const Stat* stat, const void* data) noexcept {
  complete(data, rc, [&](const Pending&, Answer& answer) { answer.stat = stat_of(rc == ZOK ? stat : nullptr); });
}

void on_read(int rc, const char* value, int size, const Stat* stat, const void* data) noexcept {
  complete(data, rc, [&](const Pending&, Answer& answer) {
    if (rc != ZOK) return;
    if (value && size > 0) answer.data.assign(value, static_cast<std::size_t>(size));
    answer.stat = stat_of(stat);
  });
}

void on_listed(int rc, const String_vector* names, const Stat* stat, const void* data) noexcept {
  complete(data, rc, [&](const Pending&, Answer& answer) {
    if (rc != ZOK) return;
    for (int i = 0; names && i < names->count; ++i) {
      if (names->data[i]) answer.children.emplace_back(names->data[i]);
      else answer.code = Code::kNonsense;
    }
    answer.stat = stat_of(stat);
  });
}

void on_event(zhandle_t* handle, int type, int state, const char* path, void* context) noexcept {
  Inbox& inbox = *static_cast<Inbox*>(context);
  if (type != ZOO_SESSION_EVENT) return inbox.put({WatchFired{path ? path : ""}});
  StateChanged changed{.state = state_of(state), .key = {}, .timeout = {}};
  if (changed.state == SessionState::kConnected) {
    if (zoo_state(handle) == ZOO_CONNECTED_STATE) forget_complaints();  // they were about connections before this one
    const clientid_t* id = zoo_client_id(handle);
    changed.key = {id->client_id, std::string(id->passwd, sizeof id->passwd), server_of(handle)};
    changed.timeout = std::chrono::milliseconds(zoo_recv_timeout(handle));
  }
  inbox.put({std::move(changed)});
}

std::string server_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  std::uint16_t port = 0;
  if (address->sa_family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(address);
    inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
    port = ntohs(in->sin6_port);
  } else {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    port = ntohs(in->sin_port);
  }
  return std::string(text) + ":" + std::to_string(port);
}

}  // namespace dlock::zookeeper
