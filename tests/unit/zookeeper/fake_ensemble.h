// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/session/session.h"

namespace dlock::zookeeper::testing {

/// An ensemble in memory: its tree, its sessions, its watches, and replies that get lost when a test says so.
class FakeEnsemble {
 public:
  static constexpr int kStorm = 100'000;  ///< so many requests reach nobody only if who asks makes no pause

  struct Node {
    std::string data;
    NodeStat stat;
    int next_number = 0;
  };

  /// As the library's sessions: answers in order; a reply that is lost takes the connection with it, and with that
  /// everything that is asked until it has come back.
  class FakeSession final : public Session {
   public:
    FakeSession(FakeEnsemble& ensemble, std::int64_t id, Duration timeout)
        : ensemble_(ensemble), key_{id, "password"}, timeout_(timeout) {
      come_back();
    }
    ~FakeSession() override { close(); }

    void ask(std::uint64_t ticket, const Request& request) override {
      if (silent) return;
      if (!alive) return answer(ticket, {.code = Code::kInvalidState});
      if (!is_down_ && !ensemble_.takes(*this)) go_down();
      if (is_down_ && ++ensemble_.reached_nobody > kStorm) throw std::runtime_error("asks without a pause");
      if (is_down_) return answer(ticket, {.code = Code::kConnectionLoss});
      const bool lost = ++ensemble_.requests == ensemble_.lose_reply_of;
      if (ensemble_.before_each) ensemble_.before_each(*this, request);
      Answer found;
      if (!lost || ensemble_.lost_is_done) found = ensemble_.serve(*this, request);
      if (!lost) return answer(ticket, std::move(found));
      go_down();
      answer(ticket, {.code = Code::kConnectionLoss});
    }
    std::optional<Event> next() override {
      if (looked_at) looked_at();
      if (inbox_.empty() && is_down_) come_back();
      if (inbox_.empty()) return std::nullopt;
      Event first = std::move(inbox_.front());
      inbox_.pop_front();
      return first;
    }
    void add_interest(std::vector<pollfd>& /*fds*/) const override {}
    std::optional<TimePoint> wake_at() const override { return due; }
    std::string trouble() const override { return "cut by the test"; }
    void reconnect() override { ++reconnected; }
    void close() override { ensemble_.end(*this); }
    void abandon() override { abandoned = true; }
    void log_in(const std::string& digest) override {
      if (digest == ensemble_.opened_by) ensemble_.closed.clear();
    }

    void tell(Event event) { inbox_.push_back(std::move(event)); }
    void go_down() {
      is_down_ = true;
      inbox_.push_back(StateChanged{});
    }
    std::int64_t id() const { return key_.id; }

    bool alive = true;
    int era = 0;  ///< of the data that it has seen; 0: of none
    bool silent = false;
    int reconnected = 0;
    bool abandoned = false;
    std::optional<TimePoint> due;     ///< when it wants to be looked at
    std::function<void()> looked_at;  ///< each time

   private:
    void come_back() {
      is_down_ = !ensemble_.takes(*this);
      if (is_down_) return;
      era = ensemble_.era_;
      alive = ensemble_.known_.contains(id());
      inbox_.push_back(alive ? StateChanged{SessionState::kConnected, key_, timeout_}
                             : StateChanged{SessionState::kExpired, {}, {}});
    }
    void answer(std::uint64_t ticket, Answer found) { inbox_.push_back(Answered{ticket, std::move(found)}); }

    FakeEnsemble& ensemble_;
    const SessionKey key_;
    const Duration timeout_;
    std::deque<Event> inbox_;
    bool is_down_ = false;
  };

  FakeEnsemble() { nodes["/"]; }

  Result<std::unique_ptr<Session>> open(const SessionSettings& settings) {
    last_timeout = settings.timeout;
    const std::int64_t id = settings.attach ? settings.attach->id : ++last_session_;
    if (!settings.attach) known_.insert(id);
    auto session = std::make_unique<FakeSession>(*this, id, std::min(settings.timeout, longest_session));
    sessions.push_back(session.get());
    return std::unique_ptr<Session>(std::move(session));
  }

  /// The server ends it: its nodes go, and it hears of that.
  void expire(FakeSession& session) {
    session.alive = false;
    known_.erase(session.id());
    remove_nodes_of(session);
    session.tell(StateChanged{SessionState::kExpired, {}, {}});
  }

  /// The server of this session hears of nothing more, until the session asks it for a sync or for a change.
  void fall_behind(const FakeSession& session) { behind_[session.id()] = nodes; }

  struct Copy {
    std::map<std::string, Node> nodes;
    std::set<std::int64_t> known;  ///< sessions
  };
  Copy copy() const { return {nodes, known_}; }
  /// The servers go on with a copy of their data, or with none: they close each connection of who has seen others.
  void restore(const Copy& copy) {
    nodes = copy.nodes;
    known_ = copy.known;
    ++era_;
    cut_all();
  }
  void empty() { restore({{{"/", {}}}, {}}); }

  /// They are gone, or there again.
  void stop() { is_gone_ = true, cut_all(); }
  void start() { is_gone_ = false; }

  void remove(const std::string& path) {
    if (nodes.erase(path) == 0) return;
    ++nodes[parent(path)].stat.cversion;
    fire(node_watches_, path);
    fire(child_watches_, parent(path));
  }

  /// Somebody else writes into it.
  void write(const std::string& path, const std::string& data) {
    nodes.at(path).data = data;
    ++nodes.at(path).stat.version;
    fire(node_watches_, path);
  }

  std::string create(const std::string& path, const std::string& data, std::int64_t owner, bool numbered) {
    Node& directory = nodes.at(parent(path));
    std::string digits = std::to_string(directory.next_number++);
    digits.insert(0, 10 - digits.size(), '0');
    const std::string name = numbered ? path + digits : path;
    ++directory.stat.cversion;
    nodes[name] = {data,
                   {.czxid = zxid_, .ctime = time_ms(), .mzxid = zxid_, .mtime = time_ms(), .ephemeral_owner = owner}};
    fire(child_watches_, parent(path));
    return name;
  }

  std::vector<std::string> children(const std::string& directory) const {
    const std::string below = directory == "/" ? directory : directory + "/";
    std::vector<std::string> found;
    for (auto node = nodes.upper_bound(below); node != nodes.end() && node->first.starts_with(below); ++node) {
      if (node->first.find('/', below.size()) == std::string::npos) found.push_back(node->first.substr(below.size()));
    }
    return found;
  }

  /// A foreign client's node, of a session that is not of this process.
  std::string foreign(const std::string& path) {
    ++zxid_;
    return create(path, "127.0.0.1", -1, true);
  }

  std::map<std::string, Node> nodes;
  std::vector<FakeSession*> sessions;  ///< those that live
  Duration longest_session = std::chrono::hours(1);
  Duration last_timeout{0};  ///< that was asked for
  int requests = 0;
  int reached_nobody = 0;  ///< requests while no server took them
  int lose_reply_of = 0;   ///< which request, counted from 1; 0: of none
  bool lost_is_done = true;
  /// What happens just before a request is served; it may ask the ensemble itself.
  std::function<void(FakeSession&, const Request&)> before_each;
  std::string closed;                                        ///< a folder where nobody may do anything
  std::string opened_by;                                     ///< the digest of who may all the same
  std::function<std::int64_t()> time_ms = [] { return 0; };  ///< the leader's clock

 private:
  using Watches = std::set<std::pair<std::string, FakeSession*>>;

  static std::string parent(const std::string& path) {
    const std::string found = parent_of(path);
    return found.empty() ? "/" : found;
  }

  void fire(Watches& watches, const std::string& path) {
    for (auto watch = watches.begin(); watch != watches.end();) {
      if (watch->first == path) {
        watch->second->tell(WatchFired{path});
        watch = watches.erase(watch);
      } else {
        ++watch;
      }
    }
  }

  void remove_nodes_of(const FakeSession& session) {
    std::vector<std::string> gone;
    for (const auto& [path, node] : nodes) {
      if (node.stat.ephemeral_owner == session.id()) gone.push_back(path);
    }
    ++zxid_;
    for (const std::string& path : gone) remove(path);
  }

  void end(FakeSession& session) {
    for (Watches* watches : {&node_watches_, &child_watches_}) {
      std::erase_if(*watches, [&](const auto& watch) { return watch.second == &session; });
    }
    std::erase(sessions, &session);
    if (session.alive && !session.abandoned && takes(session)) {
      known_.erase(session.id());
      remove_nodes_of(session);
    }
    session.alive = false;
  }

  bool takes(const FakeSession& session) const { return !is_gone_ && (session.era == 0 || session.era == era_); }

  void cut_all() {
    for (Watches* watches : {&node_watches_, &child_watches_}) watches->clear();
    for (FakeSession* session : sessions) session->go_down();
  }

  using Nodes = std::map<std::string, Node>;

  bool is_closed(const std::string& path) const {
    return !closed.empty() && nodes.contains(path) && (path == closed || path.starts_with(closed + "/"));
  }

  /// Makes the change in `all` as far as later ones of its transaction depend on it, or refuses it.
  Code refusal(Nodes& all, const Change& change) const {
    const auto found = all.find(change.path);
    const bool is_of_folder = change.kind == Change::Kind::kCreate || change.kind == Change::Kind::kDelete;
    if (is_closed(is_of_folder ? parent(change.path) : change.path)) return Code::kNoAuth;
    if (change.kind == Change::Kind::kCreate) {
      if (!all.contains(parent(change.path))) return Code::kNoNode;
      if (change.node == NodeKind::kEphemeralSequential) return Code::kOk;
      return all.try_emplace(change.path).second ? Code::kOk : Code::kNodeExists;
    }
    if (found == all.end()) return Code::kNoNode;
    if (change.version >= 0 && change.version != found->second.stat.version) return Code::kBadVersion;
    if (change.kind == Change::Kind::kSet) ++found->second.stat.version;
    if (change.kind != Change::Kind::kDelete) return Code::kOk;
    const auto below = all.lower_bound(change.path + "/");
    if (below != all.end() && below->first.starts_with(change.path + "/")) return Code::kNotEmpty;
    all.erase(found);
    return Code::kOk;
  }

  Answer apply(const FakeSession& session, const std::vector<Change>& changes, bool tells_stat) {
    Answer refused;
    Nodes trial = nodes;
    for (const Change& change : changes) {
      const Code code = refusal(trial, change);
      refused.changed.push_back({code, {}, {}});
      if (code == Code::kOk) continue;
      refused.code = code;
      return refused;
    }
    ++zxid_;
    Answer answer;
    for (const Change& change : changes) {
      Answer::Changed changed;
      if (change.kind == Change::Kind::kDelete) {
        remove(change.path);
      } else if (change.kind == Change::Kind::kCreate) {
        const bool numbered = change.node == NodeKind::kEphemeralSequential;
        const bool ephemeral = numbered || change.node == NodeKind::kEphemeral;
        changed.path = create(change.path, change.data, ephemeral ? session.id() : 0, numbered);
        if (tells_stat) changed.stat = nodes.at(changed.path).stat;
      } else if (change.kind == Change::Kind::kSet) {
        Node& node = nodes.at(change.path);
        node.data = change.data;
        ++node.stat.version;
        node.stat.mzxid = zxid_;
        node.stat.mtime = time_ms();
        changed.stat = node.stat;
        fire(node_watches_, change.path);
      }
      answer.changed.push_back(std::move(changed));
    }
    return answer;
  }

  Answer serve(FakeSession& session, const Request& request) {
    if (request.kind <= Request::Kind::kCreate || request.kind == Request::Kind::kSync) behind_.erase(session.id());
    if (request.kind == Request::Kind::kSync) return {};
    if (request.kind == Request::Kind::kList || request.kind == Request::Kind::kRead) {
      if (is_closed(request.path)) return {.code = Code::kNoAuth};
    }
    if (request.kind == Request::Kind::kChange) return apply(session, request.changes, false);
    if (request.kind == Request::Kind::kCreate) return apply(session, request.changes, true);
    const bool lists = request.kind == Request::Kind::kList;
    if (request.watch) (lists ? child_watches_ : node_watches_).emplace(request.path, &session);
    const auto behind = behind_.find(session.id());
    const Nodes& seen = behind == behind_.end() ? nodes : behind->second;
    const auto found = seen.find(request.path);
    if (found == seen.end()) return {.code = Code::kNoNode};
    Answer answer{.code = Code::kOk, .data = found->second.data, .stat = found->second.stat};
    auto names = children(request.path);
    answer.stat.children = static_cast<int>(names.size());
    if (lists) answer.children = std::move(names);
    return answer;
  }

  std::int64_t last_session_ = 0x1000;
  std::set<std::int64_t> known_;  ///< the sessions that live
  int era_ = 1;                   ///< counts the restores
  bool is_gone_ = false;
  std::int64_t zxid_ = 100;
  std::map<std::int64_t, std::map<std::string, Node>> behind_;  ///< what servers know that are behind, by session
  Watches node_watches_;
  Watches child_watches_;
};

}  // namespace dlock::zookeeper::testing
