// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <limits>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "backends/zookeeper/session/library_callbacks.h"
#include "backends/zookeeper/session/session.h"
#include "lib/base/signals_blocked.h"
#include "lib/base/system_error.h"

// One session by libzookeeper, whose threads keep it: they connect, ping, send and read, and leave what comes in an
// Inbox. All calls come from the loop, but for the one that closes.

namespace dlock::zookeeper {
namespace {

// The descriptors of libzookeeper, which has no call that breaks a connection, and makes its sockets and pipes without
// close-on-exec. All others of ours have it, but for those that this process has been started with: what is left are
// the library's. Any thread may call these.

constexpr int kMostDescriptors = 1024;  ///< the lowest free number is taken: more are never open
constexpr int kLongestGap = 64;         ///< between two of them

/// The target of an open descriptor; its number is used again once it is closed.
using File = std::pair<dev_t, ino_t>;

/// Calls `visit(descriptor, file)` with each that is open and without close-on-exec.
template <typename Visit>
void for_each_unmarked(Visit visit) {
  int missing = 0;
  for (int fd = 0; fd < kMostDescriptors && missing < kLongestGap; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    missing = flags < 0 ? missing + 1 : 0;
    struct stat status {};
    if (flags < 0 || (flags & FD_CLOEXEC) != 0 || fstat(fd, &status) != 0) continue;
    if (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode)) visit(fd, File(status.st_dev, status.st_ino));
  }
}

/// The descriptors that this process has been started with. To be called before the library is.
const std::set<File>& inherited() {
  static const std::set<File> at_start = [] {
    std::set<File> files;
    for_each_unmarked([&](int, const File& file) { files.insert(file); });
    return files;
  }();
  return at_start;
}

/// Calls `visit` with each of the library's.
template <typename Visit>
void for_each_of_library(Visit visit) {
  for_each_unmarked([&](int fd, const File& file) {
    if (!inherited().contains(file)) visit(fd);
  });
}

bool is_stream_of_internet(int fd) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return false;
  size = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return false;
  return (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM;
}

/// Or to none yet.
bool leads_to(int fd, const std::vector<std::string>& servers) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return true;
  const std::string text = server_text(reinterpret_cast<const sockaddr*>(&peer));
  return std::find(servers.begin(), servers.end(), text) != servers.end();
}

/// Breaks the library's connections to `servers` ("10.0.0.1:2181"), also those that are being made. Another session
/// with one of these servers has to connect again as well, which costs it nothing but time. False: there was none.
bool break_connections(const std::vector<std::string>& servers) {
  bool broken = false;
  for_each_of_library([&](int fd) {
    if (is_stream_of_internet(fd) && leads_to(fd, servers)) broken = shutdown(fd, SHUT_RDWR) == 0 || broken;
  });
  return broken;
}

/// Has the library's descriptors closed when a program is executed.
void close_on_exec() {
  for_each_of_library([](int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); });
}

using namespace std::chrono_literals;

constexpr auto kCloseBudget = 1s;         ///< for the last word to a server, which takes a round trip
constexpr std::size_t kStack = 1U << 20;  ///< of each thread: the usual 8 MiB are much of a keeper's address space
constexpr std::size_t kNumberRoom = 16;   ///< for what a sequential create appends

int flags_of(NodeKind kind) {
  const int flags[] = {ZOO_PERSISTENT, ZOO_EPHEMERAL, ZOO_EPHEMERAL_SEQUENTIAL, ZOO_CONTAINER};
  return flags[static_cast<std::size_t>(kind)];
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

/// With an even number of servers the library (ZOOKEEPER-2466) can try every other one only, for ever.
std::string server_list(std::vector<std::string> servers) {
  if (servers.size() % 2 == 0 && !servers.empty()) servers.push_back(servers.front());
  std::string list;
  for (const std::string& server : servers) list.append(list.empty() ? "" : ",").append(server);
  return list;
}

/// Closes `handle`, whose callbacks need `inbox`. The library joins its threads, and waits up to 4.5 s for a server
/// that hangs: a thread does that, and is abandoned when the budget is spent. The last words have been sent by
/// then.
void close_handle(zhandle_t* handle, std::shared_ptr<Inbox> inbox) {
  std::promise<void> closing;
  const std::future<void> closed = closing.get_future();
  try {
    const SignalsBlocked blocked;
    std::thread([handle, inbox = std::move(inbox), done = std::move(closing)]() mutable {
      zookeeper_close(handle);
      done.set_value();
    }).detach();
  } catch (const std::system_error&) {  // no thread to be had
    zookeeper_close(handle);
    return;
  }
  if (closed.wait_for(kCloseBudget) == std::future_status::timeout) close_on_exec();
}

void ignore_answer(int /*rc*/, const void* /*data*/) noexcept {}

void add_user(zhandle_t* handle, const std::string& digest) {
  if (!handle || digest.empty()) return;
  zoo_add_auth(handle, "digest", digest.data(), static_cast<int>(digest.size()), ignore_answer, nullptr);
}

class LibrarySession final : public Session {
 public:
  LibrarySession(std::shared_ptr<Inbox> inbox, zhandle_t* handle, const SessionSettings& settings)
      : inbox_(std::move(inbox)), handle_(handle), acl_(rights(!settings.digest.empty())), servers_(settings.servers) {}
  ~LibrarySession() override { close(); }

  void ask(std::uint64_t ticket, const Request& request) override {
    asked_.insert(ticket);
    auto pending = std::make_unique<Pending>(inbox_, ticket);
    const int rc = handle_ ? send(request, *pending) : static_cast<int>(ZCLOSING);
    if (rc == ZOK) (void)pending.release();  // its completion deletes it, and may have done so
    else taken_.emplace_back(Answered{ticket, {.code = Code(rc)}});
  }

  std::optional<Event> next() override {
    while (true) {
      if (taken_.empty()) taken_ = inbox_->take();
      if (taken_.empty()) return std::nullopt;
      Event first = std::move(taken_.front());
      taken_.pop_front();
      // The library would ask, blocking its thread, for another server.
      if (handle_ && zoo_state(handle_) == ZOO_READONLY_STATE) reconnect();
      const auto* answered = std::get_if<Answered>(&first);
      if (!answered || asked_.erase(answered->ticket) > 0) return first;
    }
  }

  void add_interest(std::vector<pollfd>& fds) const override { fds.push_back({inbox_->fd(), POLLIN, 0}); }

  std::optional<TimePoint> wake_at() const override {
    if (taken_.empty()) return std::nullopt;
    return TimePoint();
  }

  std::string trouble() const override { return last_complaint(); }
  int refusals() const override { return refused_connections() - refused_before_; }

  void reconnect() override {
    if (!handle_) return;
    report_instead(zoo_state(handle_) == ZOO_ASSOCIATING_STATE ? kSilent : "");
    if (!break_connections(servers_)) report_instead(std::nullopt);
  }

  void log_in(const std::string& digest) override { add_user(handle_, digest); }

  /// The library looks at them when its thread wakes up, for which any request will do.
  void use_servers(const std::vector<std::string>& servers) override {
    if (!handle_) return;
    servers_ = servers;
    zoo_set_servers(handle_, server_list(servers).c_str());
    zoo_aexists(handle_, "/", 0, ignore_stat, nullptr);
  }

  void close() override {
    if (!handle_) return;
    close_handle(std::exchange(handle_, nullptr), inbox_);
    answer_the_rest();
  }

  /// The library ends the session when it closes a connection that stands, and connects again by itself when it is
  /// broken. With another password it cannot: a server calls that session expired, and keeps the real one.
  void abandon() override {
    if (!handle_) return;
    inbox_->shut();  // no word of what follows
    auto* password = const_cast<char*>(zoo_client_id(handle_)->passwd);
    std::memset(password, '-', sizeof(clientid_t::passwd));
    const bool stands = zoo_state(handle_) == ZOO_CONNECTED_STATE;
    zhandle_t* handle = std::exchange(handle_, nullptr);
    // At once, before its thread connects again. It has nothing to wait for without a connection.
    if (break_connections(servers_) || !stands) zookeeper_close(handle);
    answer_the_rest();
  }

 private:
  static void ignore_stat(int /*rc*/, const Stat* /*stat*/, const void* /*data*/) noexcept {}

  /// Of a session that is closed.
  void answer_the_rest() {
    inbox_->shut();
    taken_.splice(taken_.end(), inbox_->take());
    for (const std::uint64_t ticket : asked_) taken_.emplace_back(Answered{ticket, {.code = Code::kClosing}});
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

  const std::shared_ptr<Inbox> inbox_;
  zhandle_t* handle_;
  const ACL_vector* acl_;
  std::vector<std::string> servers_;
  std::set<std::uint64_t> asked_;  ///< the tickets without an answer
  std::list<Event> taken_;         ///< from the inbox
  const int refused_before_ = refused_connections();
};

/// In milliseconds: the library counts in an int, and doubles it on its way to two thirds.
constexpr std::int64_t kLongestTimeout = std::numeric_limits<int>::max() / 2;

/// Settings of the whole process.
void prepare_library() {
  static const bool once = [] {
    inherited();
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    mallopt(M_ARENA_MAX, 1);  // a thread with an arena of its own takes half the address space of a keeper
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
    return true;
  }();
  (void)once;
}

}  // namespace

Result<std::unique_ptr<Session>> open_session(const SessionSettings& settings) {
  prepare_library();
  TRY_ASSIGN(auto inbox, Inbox::make());
  clientid_t id{};
  if (settings.attach) {
    id.client_id = settings.attach->id;
    std::memcpy(id.passwd, settings.attach->password.data(),
                std::min(sizeof id.passwd, settings.attach->password.size()));
  }
  const auto timeout =
      std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(settings.timeout).count(), kLongestTimeout);
  const SignalsBlocked blocked;  // its threads inherit that
  zhandle_t* handle = zookeeper_init2(server_list(settings.servers).c_str(), on_event, static_cast<int>(timeout),
                                      settings.attach ? &id : nullptr, inbox.get(), ZOO_NO_LOG_CLIENTENV, on_log);
  if (!handle) return system_error("cannot start a ZooKeeper session", errno);
  zoo_set_servers_resolution_delay(handle, -1);  // else it looks the servers up in every turn of its loop
  add_user(handle, settings.digest);
  return std::unique_ptr<Session>(std::make_unique<LibrarySession>(std::move(inbox), handle, settings));
}

}  // namespace dlock::zookeeper
