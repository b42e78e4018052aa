// SPDX-License-Identifier: Apache-2.0
// The only file that knows libzookeeper. Its two threads run nothing of ours but the callbacks below, which put what
// they are told into an inbox and wake whoever polls it.
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>

#include "backends/zookeeper/session/server_text.h"
#include "backends/zookeeper/session/session.h"
#include "lib/base/last_words.h"
#include "lib/base/signals_blocked.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

namespace dlock::zookeeper {
namespace {

constexpr int kMostLooks = 5000;
constexpr useconds_t kLookPause = 200;
constexpr std::size_t kNumberRoom = 16;  ///< for what a sequential create appends

constexpr char kClosed[] =
    "the server closed the connection (is it a ZooKeeper server that listens there? "
    "Does its maxClientCnxns allow one more from here?)";

/// What the library complained of last. Its log callback has no context, hence one for the process.
class LastComplaint {
 public:
  static LastComplaint& instance() {
    static LastComplaint one;
    return one;
  }
  /// A line such as "...@1234: Socket [..] zk retcode=-4, errno=111(Connection refused): server refused ...".
  void take(const char* line) {
    const char* open = std::strstr(line, "errno=");
    if (open) open = std::strchr(open, '(');
    const char* end = open ? std::strchr(open, ')') : nullptr;
    if (!end) return;
    const std::lock_guard lock(mutex_);
    text_.assign(open + 1, end);
    if (text_ == std::strerror(EHOSTDOWN)) text_ = kClosed;  // so the library calls it
    if (text_ == std::strerror(ECONNREFUSED)) ++refusals_;
  }
  int refusals() {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
  int refusals_ = 0;
};

void on_log(const char* line) { LastComplaint::instance().take(line); }

/// Filled by the library's threads, emptied by ours.
class Inbox {
 public:
  Inbox() : ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return ready_.get(); }

  void put(Event event) {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) eventfd_write(ready_.get(), 1);
    queue_.push_back(std::move(event));
  }

  std::optional<Event> take() {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return std::nullopt;
    Event first = std::move(queue_.front());
    queue_.pop_front();
    eventfd_t count = 0;
    if (queue_.empty()) eventfd_read(ready_.get(), &count);
    return first;
  }

  /// Held by whoever of us looks at the handle's client id or changes it.
  std::mutex client_id;

 private:
  UniqueFd ready_;
  std::mutex mutex_;
  std::deque<Event> queue_;
};

NodeStat stat_of(const Stat* stat) {
  if (!stat) return {};
  return {stat->czxid,          stat->ctime,   stat->mzxid,    stat->mtime,
          stat->ephemeralOwner, stat->version, stat->cversion, stat->numChildren};
}

/// A request on its way; deleted by its completion, which comes exactly once.
struct Pending {
  Inbox* inbox;
  std::uint64_t ticket;
  std::vector<zoo_op_result_t> results = {};
  std::vector<std::string> paths = {};
  std::vector<Stat> stats = {};

  void answer(Answer answer) {
    inbox->put(Answered{ticket, std::move(answer)});
    delete this;
  }
};

Pending& pending_of(const void* data) { return *static_cast<Pending*>(const_cast<void*>(data)); }

void on_changed(int rc, const void* data) {
  Pending& pending = pending_of(data);
  Answer answer{.code = Code(rc)};
  for (std::size_t i = 0; i < pending.results.size(); ++i) {
    answer.changed.push_back(
        {Code(pending.results[i].err), std::string(pending.paths[i].c_str()), stat_of(&pending.stats[i])});
  }
  pending.answer(std::move(answer));
}

void on_created(int rc, const char* path, const Stat* stat, const void* data) {
  Answer answer{.code = Code(rc)};
  if (rc == ZOK && path) answer.changed.push_back({Code::kOk, path, stat_of(stat)});
  else if (rc == ZOK) answer.code = Code::kNonsense;
  pending_of(data).answer(std::move(answer));
}

/// Its answer is all that a renewal has: one without the path that was asked is no answer.
void on_synced(int rc, const char* path, const void* data) {
  const bool answers = rc != ZOK || (path && pending_of(data).paths.front() == path);
  pending_of(data).answer({.code = answers ? Code(rc) : Code::kNonsense});
}

void on_exists(int rc, const Stat* stat, const void* data) {
  pending_of(data).answer({.code = Code(rc), .stat = stat_of(rc == ZOK ? stat : nullptr)});
}

void on_read(int rc, const char* value, int size, const Stat* stat, const void* data) {
  Answer answer{.code = Code(rc)};
  if (rc == ZOK) {
    if (value && size > 0) answer.data.assign(value, static_cast<std::size_t>(size));
    answer.stat = stat_of(stat);
  }
  pending_of(data).answer(std::move(answer));
}

void on_listed(int rc, const String_vector* names, const Stat* stat, const void* data) {
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

void on_event(zhandle_t* handle, int type, int state, const char* path, void* context) {
  Inbox& inbox = *static_cast<Inbox*>(context);
  if (type != ZOO_SESSION_EVENT) {
    inbox.put(WatchFired{path ? path : ""});
    return;
  }
  StateChanged changed{.state = state_of(state), .key = {}, .timeout = {}};
  if (changed.state == SessionState::kConnected) {
    const std::lock_guard lock(inbox.client_id);
    const clientid_t* id = zoo_client_id(handle);
    changed.key = {id->client_id, std::string(id->passwd, sizeof id->passwd), server_of(handle)};
    changed.timeout = std::chrono::milliseconds(zoo_recv_timeout(handle));
  }
  inbox.put(std::move(changed));
}

int flags_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kPersistent:
      return ZOO_PERSISTENT;
    case NodeKind::kEphemeral:
      return ZOO_EPHEMERAL;
    case NodeKind::kEphemeralSequential:
      return ZOO_EPHEMERAL_SEQUENTIAL;
    case NodeKind::kContainer:
      return ZOO_CONTAINER;
  }
  return ZOO_PERSISTENT;
}

/// With a digest: all rights for its user, and everybody may read. Watching by getData, as Curator and kazoo do,
/// needs the right to read.
const ACL_vector* rights(bool own) {
  static char world[] = "world";
  static char anyone[] = "anyone";
  static char auth[] = "auth";
  static char nobody[] = "";
  static ACL owned[] = {{ZOO_PERM_ALL, {auth, nobody}}, {ZOO_PERM_READ, {world, anyone}}};
  static const ACL_vector own_rights = {2, owned};
  return own ? &own_rights : &ZOO_OPEN_ACL_UNSAFE;
}

/// The library has no call that breaks a connection, and does not tell its descriptor. That is what a handle begins
/// with (zsock_t*, since 3.7); believed only if it is a TCP socket. -1: there is none at the moment.
int socket_of(zhandle_t* handle) {
  const zsock_t* socket = *reinterpret_cast<zsock_t**>(handle);
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  if (!socket || getsockopt(socket->sock, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return -1;
  size = sizeof type;
  if (getsockopt(socket->sock, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return -1;
  return (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM ? socket->sock : -1;
}

void break_connection(zhandle_t* handle) {
  const int fd = socket_of(handle);
  if (fd >= 0) shutdown(fd, SHUT_RDWR);
}

class LibrarySession final : public Session {
 public:
  LibrarySession(std::unique_ptr<Inbox> inbox, zhandle_t* handle, bool own_rights)
      : inbox_(std::move(inbox)), handle_(handle), acl_(rights(own_rights)) {}
  ~LibrarySession() override { close(); }

  void ask(std::uint64_t ticket, const Request& request) override {
    auto* pending = new Pending{inbox_.get(), ticket};
    const int rc = handle_ ? send(request, *pending) : static_cast<int>(ZCLOSING);
    if (rc != ZOK) pending->answer({.code = Code(rc)});
  }

  std::optional<Event> next() override { return inbox_->take(); }

  void add_interest(std::vector<pollfd>& fds) const override { fds.push_back({inbox_->fd(), POLLIN, 0}); }

  std::string trouble() const override { return LastComplaint::instance().text(); }
  int refusals() const override { return LastComplaint::instance().refusals() - refused_before_; }

  void reconnect() override {
    if (handle_) break_connection(handle_);
  }

  void close() override {
    if (handle_ && zoo_state(handle_) == ZOO_READONLY_STATE) return leak();  // it asks, without end, for another server
    if (handle_) zookeeper_close(std::exchange(handle_, nullptr));  // joins its threads: no callback comes afterwards
  }

  /// The library ends its session when it closes a connection that stands. So it is made to forget the session, and its
  /// connection is broken: what it ends then is a new session, or none.
  void abandon() override {
    if (!handle_) return;
    auto* id = const_cast<clientid_t*>(zoo_client_id(handle_));
    {
      const std::lock_guard lock(inbox_->client_id);
      *id = {};
    }
    break_connection(handle_);
    const auto is_theirs = [&] { return zoo_state(handle_) == ZOO_CONNECTED_STATE && id->client_id == 0; };
    for (int i = 0; i < kMostLooks && is_theirs(); ++i) usleep(kLookPause);
    if (!is_theirs()) return close();
    leak();  // rather than the end of the session
  }

 private:
  /// The library's threads go on using the handle and the inbox.
  void leak() {
    handle_ = nullptr;
    (void)inbox_.release();
    inbox_ = std::make_unique<Inbox>();
  }

  int send(const Request& request, Pending& pending) {
    const char* path = request.path.c_str();
    const int watch = request.watch ? 1 : 0;
    switch (request.kind) {
      case Request::Kind::kChange:
        return send_changes(request.changes, pending);
      case Request::Kind::kCreate: {
        const Change& change = request.changes.front();
        return zoo_acreate2(handle_, change.path.c_str(), change.data.data(), static_cast<int>(change.data.size()),
                            acl_, flags_of(change.node), on_created, &pending);
      }
      case Request::Kind::kList:
        return zoo_aget_children2(handle_, path, watch, on_listed, &pending);
      case Request::Kind::kRead:
        return zoo_aget(handle_, path, watch, on_read, &pending);
      case Request::Kind::kExists:
        return zoo_aexists(handle_, path, watch, on_exists, &pending);
      case Request::Kind::kSync:
        pending.paths = {request.path};
        return zoo_async(handle_, path, on_synced, &pending);
    }
    return ZBADARGUMENTS;
  }

  int send_changes(const std::vector<Change>& changes, Pending& pending) {
    const std::size_t count = changes.size();
    std::vector<zoo_op_t> ops(count);
    pending.results.assign(count, {});
    pending.stats.assign(count, {});
    pending.paths.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Change& change = changes[i];
      const int size = static_cast<int>(change.data.size());
      switch (change.kind) {
        case Change::Kind::kCreate:
          pending.paths[i].assign(change.path.size() + kNumberRoom, '\0');
          zoo_create_op_init(&ops[i], change.path.c_str(), change.data.data(), size, acl_, flags_of(change.node),
                             pending.paths[i].data(), static_cast<int>(pending.paths[i].size()));
          break;
        case Change::Kind::kDelete:
          zoo_delete_op_init(&ops[i], change.path.c_str(), change.version);
          break;
        case Change::Kind::kSet:
          zoo_set_op_init(&ops[i], change.path.c_str(), change.data.data(), size, change.version, &pending.stats[i]);
          break;
        case Change::Kind::kCheck:
          zoo_check_op_init(&ops[i], change.path.c_str(), change.version);
          break;
      }
      pending.results[i].stat = &pending.stats[i];
    }
    return zoo_amulti(handle_, static_cast<int>(count), ops.data(), pending.results.data(), on_changed, &pending);
  }

  std::unique_ptr<Inbox> inbox_;
  zhandle_t* handle_;
  const ACL_vector* acl_;
  const int refused_before_ = LastComplaint::instance().refusals();
};

/// With an even number of servers the library (ZOOKEEPER-2466) can try every other one only, for ever.
std::string server_list(std::vector<std::string> servers) {
  if (servers.size() % 2 == 0 && !servers.empty()) servers.push_back(servers.front());
  std::string list;
  for (const std::string& server : servers) list.append(list.empty() ? "" : ",").append(server);
  return list;
}

/// In milliseconds: the library counts in an int, and doubles it on its way to two thirds.
constexpr std::int64_t kLongestTimeout = std::numeric_limits<int>::max() / 2;

void ignore_answer(int /*rc*/, const void* /*data*/) {}

}  // namespace

Result<std::unique_ptr<Session>> open_session(const SessionSettings& settings) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  set_last_words("the ZooKeeper client library crashed on what " + server_list(settings.servers) + " sent");
  auto inbox = std::make_unique<Inbox>();
  if (inbox->fd() < 0) return system_error("cannot make a descriptor", errno);
  clientid_t id{};
  if (settings.attach) {
    id.client_id = settings.attach->id;
    std::memcpy(id.passwd, settings.attach->password.data(),
                std::min(sizeof id.passwd, settings.attach->password.size()));
  }
  const auto timeout =
      std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(settings.timeout).count(), kLongestTimeout);
  const SignalsBlocked blocked;  // its threads take none
  zhandle_t* handle = zookeeper_init2(server_list(settings.servers).c_str(), on_event, static_cast<int>(timeout),
                                      settings.attach ? &id : nullptr, inbox.get(), ZOO_NO_LOG_CLIENTENV, on_log);
  if (!handle) return system_error("cannot start a ZooKeeper session", errno);
  zoo_set_servers_resolution_delay(handle, -1);  // else it looks the servers up in every turn of its loop
  const bool own = !settings.digest.empty();
  if (own) {
    zoo_add_auth(handle, "digest", settings.digest.data(), static_cast<int>(settings.digest.size()), ignore_answer,
                 nullptr);
  }
  return std::unique_ptr<Session>(std::make_unique<LibrarySession>(std::move(inbox), handle, own));
}

}  // namespace dlock::zookeeper
