// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/library_callbacks.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/zookeeper/session/server_text.h"
#include "lib/base/text.h"

namespace dlock::zookeeper {
namespace {

constexpr char kClosed[] =
    "the server closed the connection (is it a ZooKeeper server that listens there? "
    "Does its maxClientCnxns allow one more from here? Is a majority of its ensemble there?)";

/// Host down is what the library calls an end of file. What comes first to who writes just then is the other two.
bool is_closing(int error) { return error == EHOSTDOWN || error == EPIPE || error == ECONNRESET; }

NodeStat stat_of(const Stat* stat) {
  if (!stat) return {};
  return {stat->czxid,          stat->ctime,   stat->mzxid,    stat->mtime,
          stat->ephemeralOwner, stat->version, stat->cversion, stat->numChildren};
}

Pending& pending_of(const void* data) { return *static_cast<Pending*>(const_cast<void*>(data)); }

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

}  // namespace

Complaints& complaints() {
  static Complaints one;
  return one;
}

/// A line such as "...@1234: Socket [..] zk retcode=-4, errno=111(Connection refused): server refused ...".
void on_log(const char* line) noexcept {
  const char* number = std::strstr(line, "errno=");
  const char* open = number ? std::strchr(number, '(') : nullptr;
  const char* end = open ? std::strchr(open, ')') : nullptr;
  if (!end) return;
  const int error = leading_number<int>(std::string_view(number).substr(std::strlen("errno=")));
  std::string& last = complaints().last.assign(open + 1, end);
  if (is_closing(error)) last = std::exchange(complaints().left, std::nullopt).value_or(kClosed);
  if (error == ECONNREFUSED) ++complaints().refusals;
}

void Pending::answer(Answer answer) {
  inbox->emplace_back(Answered{ticket, std::move(answer)});
  delete this;
}

void on_changed(int rc, const void* data) noexcept {
  Pending& pending = pending_of(data);
  Answer answer{.code = Code(rc)};
  for (std::size_t i = 0; i < pending.results.size(); ++i) {
    answer.changed.push_back(
        {Code(pending.results[i].err), std::string(pending.paths[i].c_str()), stat_of(&pending.stats[i])});
  }
  pending.answer(std::move(answer));
}

void on_created(int rc, const char* path, const Stat* stat, const void* data) noexcept {
  Answer answer{.code = Code(rc)};
  if (rc == ZOK && path) answer.changed.push_back({Code::kOk, path, stat_of(stat)});
  else if (rc == ZOK) answer.code = Code::kNonsense;
  pending_of(data).answer(std::move(answer));
}

/// Its answer is all that a renewal has: one without the path that was asked is no answer.
void on_synced(int rc, const char* path, const void* data) noexcept {
  const bool answers = rc != ZOK || (path && pending_of(data).paths.front() == path);
  pending_of(data).answer({.code = answers ? Code(rc) : Code::kNonsense});
}

void on_exists(int rc, const Stat* stat, const void* data) noexcept {
  pending_of(data).answer({.code = Code(rc), .stat = stat_of(rc == ZOK ? stat : nullptr)});
}

void on_read(int rc, const char* value, int size, const Stat* stat, const void* data) noexcept {
  Answer answer{.code = Code(rc)};
  if (rc == ZOK) {
    if (value && size > 0) answer.data.assign(value, static_cast<std::size_t>(size));
    answer.stat = stat_of(stat);
  }
  pending_of(data).answer(std::move(answer));
}

void on_listed(int rc, const String_vector* names, const Stat* stat, const void* data) noexcept {
  Answer answer{.code = Code(rc)};
  if (rc == ZOK) {
    for (int i = 0; names && i < names->count; ++i) {
      if (names->data[i]) answer.children.emplace_back(names->data[i]);
      else answer.code = Code::kNonsense;
    }
    answer.stat = stat_of(stat);
  }
  pending_of(data).answer(std::move(answer));
}

void on_event(zhandle_t* handle, int type, int state, const char* path, void* context) noexcept {
  Inbox& inbox = *static_cast<Inbox*>(context);
  if (type != ZOO_SESSION_EVENT) {
    inbox.emplace_back(WatchFired{path ? path : ""});
    return;
  }
  StateChanged changed{.state = state_of(state), .key = {}, .timeout = {}};
  if (changed.state == SessionState::kConnected) {
    complaints().last.clear();  // it was about connections before this one
    complaints().left.reset();
    const clientid_t* id = zoo_client_id(handle);
    changed.key = {id->client_id, std::string(id->passwd, sizeof id->passwd), server_of(handle)};
    changed.timeout = std::chrono::milliseconds(zoo_recv_timeout(handle));
  }
  inbox.emplace_back(std::move(changed));
}

}  // namespace dlock::zookeeper
