// SPDX-License-Identifier: Apache-2.0
// One session by libzookeeper, the one without threads: it does its work when it is called.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "backends/zookeeper/session/library_callbacks.h"
#include "backends/zookeeper/session/session.h"
#include "lib/base/last_words.h"
#include "lib/base/system_error.h"

namespace dlock::zookeeper {
namespace {

constexpr int kMostMessages = 100;       ///< that are read before somebody looks at the clock again
constexpr std::size_t kNumberRoom = 16;  ///< for what a sequential create appends

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

/// By the clock that stands behind SystemClock: the library tells what is left.
TimePoint in(const timeval& left) {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return TimePoint(std::chrono::seconds(now.tv_sec + left.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) +
                   std::chrono::microseconds(left.tv_usec));
}

/// With an even number of servers the library (ZOOKEEPER-2466) can try every other one only, for ever.
std::string server_list(std::vector<std::string> servers) {
  if (servers.size() % 2 == 0 && !servers.empty()) servers.push_back(servers.front());
  std::string list;
  for (const std::string& server : servers) list.append(list.empty() ? "" : ",").append(server);
  return list;
}

class LibrarySession final : public Session {
 public:
  LibrarySession(std::unique_ptr<Inbox> inbox, zhandle_t* handle, bool own_rights)
      : inbox_(std::move(inbox)), handle_(handle), acl_(rights(own_rights)) {
    look();
  }
  ~LibrarySession() override { close(); }

  void ask(std::uint64_t ticket, const Request& request) override {
    auto* pending = new Pending{inbox_.get(), ticket};
    cork(true);
    const bool stood = handle_ && is_connected();
    const int rc = handle_ ? send(request, *pending) : static_cast<int>(ZCLOSING);
    if (rc != ZOK) pending->answer({.code = Code(rc)});
    if (stood && !is_connected()) lose_what_was_sent();
    look();
  }

  std::optional<Event> next() override {
    if (corked_)
      cork(false);  // nothing can have been answered yet, and what has come before makes the descriptor ready
    else if (inbox_->empty() && handle_) work();
    if (inbox_->empty()) return std::nullopt;
    Event first = std::move(inbox_->front());
    inbox_->pop_front();
    return first;
  }

  void add_interest(std::vector<pollfd>& fds) const override {
    if (fd_ >= 0) fds.push_back({fd_, events_, 0});
  }

  std::optional<TimePoint> wake_at() const override { return inbox_->empty() && !corked_ ? wake_at_ : TimePoint(); }

  std::string trouble() const override { return complaints().last; }
  int refusals() const override { return complaints().refusals - refused_before_; }

  void reconnect() override {
    if (fd_ < 0) return;
    complaints().left = zoo_state(handle_) == ZOO_ASSOCIATING_STATE ? kSilent : "";
    shutdown(fd_, SHUT_RDWR);
  }

  void use_servers(const std::vector<std::string>& servers) override {
    if (handle_) zoo_set_servers(handle_, server_list(servers).c_str());
  }

  void close() override {
    if (!handle_) return;
    cork(false);
    work();  // what has come and is not read would take the last word with it
    let_go();
  }

  /// The library ends the session when it closes a connection that stands.
  void abandon() override {
    if (!handle_) return;
    leave_server();
    let_go();
  }

 private:
  /// The library sends each request in two pieces, and a server is woken by each packet.
  void cork(bool on) {
    if (corked_ == on || !handle_ || (on && !is_connected())) return;
    const int value = on ? 1 : 0;
    if (fd_ >= 0) setsockopt(fd_, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
    corked_ = on;
  }

  void let_go() {
    zookeeper_close(std::exchange(handle_, nullptr));
    fd_ = -1;
    corked_ = false;
    wake_at_.reset();
  }

  /// A request that could not be sent has closed the connection, and the library tells nobody: it would go on with
  /// what is left of that request on the next connection, where nothing of it was read, and the server would wait for
  /// the rest of nonsense. All is answered as lost when the next connection breaks before it stands.
  void lose_what_was_sent() {
    inbox_->emplace_back(StateChanged{.state = SessionState::kConnecting, .key = {}, .timeout = {}});
    look();
    if (fd_ < 0) return;  // none could be begun, which has done the same
    shutdown(fd_, SHUT_RDWR);
    zookeeper_process(handle_, ready());
  }

  /// Breaks the connection, for which the library has no call, and lets it see that.
  void leave_server() {
    reconnect();
    for (int i = 0; i < kMostMessages && is_connected(); ++i) zookeeper_process(handle_, ZOOKEEPER_READ);
  }

  bool is_connected() const {
    const int state = zoo_state(handle_);
    return state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE;
  }

  /// Asks the library what it wants next. Then it also connects, pings, and gives up a server that is silent.
  void look() {
    if (!handle_) return;
    timeval left{};
    int events = 0;
    fd_ = -1;
    if (zookeeper_interest(handle_, &fd_, &events, &left) == ZINVALIDSTATE) return wake_at_.reset();
    events_ = static_cast<short>((events & ZOOKEEPER_READ ? POLLIN : 0) | (events & ZOOKEEPER_WRITE ? POLLOUT : 0));
    wake_at_ = in(left);
  }

  /// Reads what has come, one message at a time, until there is something for us.
  void work() {
    if (fd_ < 0 && wake_at_ && in({}) < *wake_at_) return;  // it rests between two rounds through its servers
    for (int i = 0; i < kMostMessages && inbox_->empty(); ++i) {
      const int rc = zookeeper_process(handle_, ready());
      // It would ask, blocking, for another server.
      if (zoo_state(handle_) == ZOO_READONLY_STATE) leave_server();
      look();
      if (rc != ZOK || events_ == 0) return;
    }
  }

  /// Reading finds out by itself whether there is something; a connection that is not made yet must not be read.
  int ready() const {
    if (zoo_state(handle_) != ZOO_CONNECTING_STATE) return (events_ & POLLOUT ? ZOOKEEPER_WRITE : 0) | ZOOKEEPER_READ;
    pollfd connecting{fd_, POLLOUT, 0};
    return poll(&connecting, 1, 0) > 0 ? ZOOKEEPER_WRITE : 0;
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

  const std::unique_ptr<Inbox> inbox_;
  zhandle_t* handle_;
  const ACL_vector* acl_;
  int fd_ = -1;
  short events_ = 0;
  bool corked_ = false;
  std::optional<TimePoint> wake_at_;
  const int refused_before_ = complaints().refusals;
};

/// In milliseconds: the library counts in an int, and doubles it on its way to two thirds.
constexpr std::int64_t kLongestTimeout = std::numeric_limits<int>::max() / 2;

void ignore_answer(int /*rc*/, const void* /*data*/) noexcept {}

}  // namespace

Result<std::unique_ptr<Session>> open_session(const SessionSettings& settings) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  set_last_words("the ZooKeeper client library crashed on what " + server_list(settings.servers) + " sent");
  auto inbox = std::make_unique<Inbox>();
  clientid_t id{};
  if (settings.attach) {
    id.client_id = settings.attach->id;
    std::memcpy(id.passwd, settings.attach->password.data(),
                std::min(sizeof id.passwd, settings.attach->password.size()));
  }
  const auto timeout =
      std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(settings.timeout).count(), kLongestTimeout);
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
