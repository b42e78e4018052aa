// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/store.h"

#include <algorithm>

#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/session/errors.h"
#include "lib/base/random.h"
#include "lib/base/text.h"

namespace dlock::zookeeper {
namespace {

constexpr std::uint64_t kLeastWrites = 16;  ///< more than a node gets before it is freed

/// A directory can be removed (by the server, or a cleaner) between our making it and our using it.
constexpr int kTries = 5;

Error vanishing(const std::string& directory) {
  return {ErrorCode::kUnavailable, "the directory " + directory + " is removed again and again",
          "find out who deletes it; two cleaners may be at work"};
}

bool is_unknown(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kCancelled;
}

}  // namespace

Result<void> make_directory(Calls& calls, const std::string& directory, bool persistent, const std::string& data,
                            TimePoint until, Control* control) {
  NodeKind kind = persistent ? NodeKind::kPersistent : NodeKind::kContainer;
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::uint64_t> tickets;
    for (std::size_t end = directory.find('/', 1);; end = directory.find('/', end + 1)) {
      const std::string path = directory.substr(0, end);
      const std::string& content = end == std::string::npos ? data : kDirectoryData;
      tickets.push_back(calls.send(ask_creation(create_node(path, content, kind))));
      if (end == std::string::npos) break;
    }
    Result<Answer> last = Error{};
    std::optional<Error> denied;  // what is above may be there all the same: the last one decides
    for (const std::uint64_t ticket : tickets) {
      last = calls.answer(ticket, until, control);
      if (!last && !denied && last.error().code == ErrorCode::kDenied) denied = last.error();
    }
    if (!last) return last.error();
    if (last->code == Code::kNoNode && denied) return *denied;
    if (last->code == Code::kUnimplemented && kind == NodeKind::kContainer) {
      kind = NodeKind::kPersistent;
      continue;
    }
    if (last->code == Code::kNoNode) continue;  // a container above it was empty, and went
    if (last->code == Code::kOk || last->code == Code::kNodeExists) return {};
    return unexpected(last->code, calls.store(), "does not make " + directory);
  }
  return vanishing(directory);
}

ContenderStore::ContenderStore(Calls& calls, QueueDirectory queue, std::string data)
    : calls_(calls), queue_(std::move(queue)), data_(std::move(data)), guid_(Guid::random()) {}

void ContenderStore::forget() {
  own_.clear();
  czxid_ = token_ = 0;
  kept_ = Kept::kBySession;
  unknown_ = false;
  removal_.reset();
  guid_ = Guid::random();
}

void ContenderStore::answered_by_leader(TimePoint sent) {
  previously_sent_ = sent_ == TimePoint() ? sent : sent_;
  sent_ = sent;
}

/// Rivals are named by their paths.
std::string ContenderStore::path_of(const std::string& name) const {
  return name.starts_with('/') ? name : queue_.directory + "/" + name;
}

Change ContenderStore::creation() const {
  return create_node(path_of(guid_.node(queue_.family)), data_, NodeKind::kEphemeralSequential);
}

void ContenderStore::adopt(std::string path, const NodeStat& stat, TimePoint sent) {
  own_ = std::move(path);
  czxid_ = stat.czxid;
  if (token_ == 0) token_ = stat.czxid;
  kept_ = stat.ephemeral_owner == 0 ? Kept::kAsLease : Kept::kBySession;
  answered_by_leader(sent);
}

Result<QueueTurn> ContenderStore::judged(const Result<Answer>& list) {
  if (!list) return list.error();
  if (list->code == Code::kNoNode) return QueueTurn{QueueTurn::Kind::kGone};
  seen_ = list->children;
  return judge(queue_.rule, seen_, base_of(own_), queue_.permits);
}

std::vector<std::string> ContenderStore::strangers() const {
  return zookeeper::strangers(queue_.rule, seen_, base_of(own_));
}

/// The first one stands for all of dlock's, since each has asked this when it came. Curator's say no number.
Result<bool> ContenderStore::agrees_with_holders(TimePoint until, Control* control) {
  const auto first = first_contender(seen_, base_of(own_));
  if (!first) return true;
  TRY_ASSIGN(const auto node, calls_.call(ask_data(path_of(*first)), until, control));
  const auto record = decode_record(node.data);
  return !record || std::max(record->permits, 1) == queue_.permits;
}

namespace {

/// Of one that has taken the place of another node, a lease or after one, that of the first.
std::int64_t age_of(const Answer& node) {
  const auto record = decode_record(node.data);
  return record && !record->token.is_none() ? static_cast<std::int64_t>(record->token.value()) : node.stat.czxid;
}

}  // namespace

/// Of a key's queue and its semaphore: each looks after it has made its node, so of two at least one sees the other,
/// and whose node is the younger one waits.
Result<QueueTurn> ContenderStore::among_rivals(Result<QueueTurn> turn, TimePoint until, Control* control) {
  if (!turn || queue_.rivals.empty() || turn->kind == QueueTurn::Kind::kGone) return turn;
  if (counts()) {
    TRY_ASSIGN(const auto agrees, agrees_with_holders(until, control));
    if (!agrees) return QueueTurn{QueueTurn::Kind::kDisagrees, {}, turn->leases};
  }
  const bool are_there = counts() || std::find(seen_.begin(), seen_.end(), base_of(queue_.rivals)) != seen_.end();
  if (turn->kind != QueueTurn::Kind::kHolds || !are_there) return turn;
  TRY_ASSIGN(const auto list, calls_.call(ask_list(queue_.rivals), until, control));
  const auto first = first_contender(list.children);
  if (!first) return turn;
  const std::string path = queue_.rivals + "/" + *first;
  const NodeName name = *parse_node_name(*first);
  TRY_ASSIGN(const auto node, calls_.call(ask_data(path), until, control));
  if (node.code != Code::kOk) return among_rivals(std::move(turn), until, control);  // it has gone this moment
  if (age_of(node) > czxid_) return turn;
  const bool share = queue_.rule == Rule::kShared || (counts() && is_reader(name.family));
  const auto kind = share ? QueueTurn::Kind::kDisagrees : QueueTurn::Kind::kWaits;
  return QueueTurn{kind, path, name.is_lease ? std::vector{path} : std::vector<std::string>()};
}

/// The remains of an unanswered request. The sync makes a server that we came to since show all that was done.
Result<void> ContenderStore::find(TimePoint until, Control* control) {
  const TimePoint sent = calls_.clock().now();
  const auto answers = calls_.call_all({ask_sync(queue_.directory), ask_list(queue_.directory)}, until, control);
  for (const Result<Answer>& answer : answers) {
    if (!answer) return answer.error();
  }
  const Result<Answer>& list = answers.back();
  own_.clear();
  for (const std::string& name : list->children) {
    const bool is_numbered = guid_.is_in(name);
    if (!is_numbered && name != queue_.name) continue;
    TRY_ASSIGN(const auto node, calls_.call(ask_stat(path_of(name)), until, control));
    const std::int64_t owner = node.stat.ephemeral_owner;
    const bool ours = owner == calls_.key().id || (is_numbered && owner == 0);
    if (node.code == Code::kOk && ours) adopt(path_of(name), node.stat, sent);
  }
  unknown_ = false;
  return {};
}

Result<QueueTurn> ContenderStore::enter(TimePoint until, Control* control) {
  if (unknown_) {
    TRY(find(until, control));
  }
  if (!own_.empty()) return judge_again(until, control);
  if (queue_.rule == Rule::kOneNode) return create_one(path_of(queue_.name), until, control);
  return enter_numbered(until, control);
}

Result<QueueTurn> ContenderStore::enrol(const Answer& creation, std::uint64_t listed, TimePoint until,
                                        Control* control) {
  own_ = creation.changed.front().path;
  czxid_ = token_ = creation.changed.front().stat.czxid;
  auto turn = among_rivals(judged(calls_.answer(listed, until, control)), until, control);
  // Before the first connection stands, a request may be sent again after later ones: this list is older than our node.
  if (turn && turn->kind == QueueTurn::Kind::kGone) turn = judge_again(until, control);
  const auto name = parse_node_name(base_of(own_));
  if (!name || (name->number < kLastNumber && name->number >= 0)) return turn;
  return Error{ErrorCode::kUnsupported,
               queue_.directory + " has used up its numbers: the next one is " + std::to_string(name->number),
               "at 2147483647 two holders become possible: delete the directory while nobody uses it"};
}

/// Creation and list go out together: a server answers in the order in which it was asked.
Result<QueueTurn> ContenderStore::enter_numbered(TimePoint until, Control* control) {
  for (int i = 0; i < kTries; ++i) {
    const TimePoint sent = calls_.clock().now();
    const auto created = calls_.send(ask_creation(creation()));
    const auto listed = calls_.send(ask_list(queue_.directory));
    const auto answer = calls_.answer(created, until, control);
    if (!answer) {
      calls_.forget(listed);
      unknown_ = is_unknown(answer.error());
      return answer.error();
    }
    if (answer->code == Code::kNoNode) {
      calls_.forget(listed);
      const bool kazoo = queue_.rule == Rule::kKazooWrite || queue_.rule == Rule::kKazooRead;
      if (const auto made = make_directory(calls_, queue_.directory, kazoo, kDirectoryData, until, control); !made) {
        return made.error();
      }
      continue;
    }
    if (answer->code != Code::kOk) {
      calls_.forget(listed);
      return unexpected(answer->code, calls_.store(), "does not take a node in " + queue_.directory);
    }
    answered_by_leader(sent);
    return enrol(*answer, listed, until, control);
  }
  return vanishing(queue_.directory);
}

Result<QueueTurn> ContenderStore::create_one(const std::string& path, TimePoint until, Control* control) {
  for (int i = 0; i < kTries; ++i) {
    const TimePoint sent = calls_.clock().now();
    const auto answer = calls_.call(ask_creation(create_node(path, data_, NodeKind::kEphemeral)), until, control);
    if (!answer) {
      unknown_ = is_unknown(answer.error());
      return answer.error();
    }
    if (answer->code == Code::kNodeExists) {
      TRY_ASSIGN(const auto node, calls_.call(ask_stat(path), until, control));
      if (node.code == Code::kNoNode) continue;
      if (node.stat.ephemeral_owner != 0) return QueueTurn{QueueTurn::Kind::kWaits, base_of(path)};
      return is_directory(calls_, path);
    }
    if (answer->code == Code::kOk) {
      own_ = path;
      czxid_ = token_ = answer->changed.front().stat.czxid;
      answered_by_leader(sent);
      return QueueTurn{QueueTurn::Kind::kHolds};
    }
    if (answer->code != Code::kNoNode) {
      return unexpected(answer->code, calls_.store(), "does not make " + path);
    }
    TRY(make_directory(calls_, queue_.directory, false, kDirectoryData, until, control));
  }
  return vanishing(queue_.directory);
}

Result<QueueTurn> ContenderStore::judge_again(TimePoint until, Control* control) {
  if (own_.empty()) return enter(until, control);
  const TimePoint sent = calls_.clock().now();
  const auto answers =
      calls_.call_all({ask_sync(queue_.directory), ask_list(queue_.directory, counts())}, until, control);
  if (!answers.front()) return answers.front().error();
  answered_by_leader(sent);
  return among_rivals(judged(answers.back()), until, control);
}

Result<bool> ContenderStore::watch(const QueueTurn& turn, TimePoint until, Control* control) {
  const bool list = turn.watch.empty();
  const auto answer =
      calls_.call(list ? ask_list(queue_.directory, true) : ask_stat(path_of(turn.watch), true), until, control);
  if (!answer) return answer.error();
  if (!list) return answer->code == Code::kOk;
  const auto now = judged(answer);
  return now ? Result<bool>(now->kind == QueueTurn::Kind::kWaits) : now.error();
}

bool ContenderStore::is_woken(const QueueTurn& turn) {
  bool fired = calls_.take_fired(turn.watch.empty() ? queue_.directory : path_of(turn.watch));
  for (const std::string& lease : turn.leases) fired = calls_.take_fired(path_of(lease)) || fired;
  return fired;
}

Result<void> ContenderStore::keep(Kept how, const std::string& data, TimePoint until) {
  while (true) {
    auto kept = keep_once(how, data, until);
    if (kept || kept.error().code != ErrorCode::kUnavailable || calls_.clock().now() >= until) return kept;
    calls_.rest(until, nullptr);
  }
}

Result<void> ContenderStore::keep_once(Kept how, const std::string& data, TimePoint until) {
  if (unknown_) {
    TRY(find(until, nullptr));
  }
  const Error gone{ErrorCode::kLost, "it was deleted on " + calls_.store()};
  if (own_.empty()) return gone;
  const bool lease = how == Kept::kAsLease;
  const std::string name = base_of(own_);
  const std::string next = lease ? lease_name(name) : guid_.node(queue_.family) + name.substr(name.size() - 10);
  std::vector<Change> changes{set_node(own_, data)};
  if (kept_ != how) {
    const auto kind = lease ? NodeKind::kPersistent : NodeKind::kEphemeral;
    changes = {delete_node(own_), create_node(path_of(next), data, kind)};
  }
  const TimePoint sent = calls_.clock().now();
  auto answers = calls_.call_all({ask_change(changes), ask_stat(path_of(next))}, until, nullptr);
  const Result<Answer>& done = answers.front();
  unknown_ = !done ? is_unknown(done.error()) : done->code == Code::kOk && !answers.back();
  if (!done) return done.error();
  if (done->code == Code::kNoNode) return gone;
  if (done->code != Code::kOk) return unexpected(done->code, calls_.store(), "does not keep " + path_of(next));
  if (!answers.back()) return answers.back().error();
  if (answers.back()->code != Code::kOk) return gone;
  adopt(path_of(next), answers.back()->stat, sent);
  return {};
}

/// One try. Under recipe=simple everybody's node has the same name: what is not ours any more is left alone.
Result<Answer> ContenderStore::remove_node(TimePoint until) {
  Change removal = delete_node(own_);
  if (queue_.rule == Rule::kOneNode) {
    TRY_ASSIGN(const auto version, stamp_one_node(calls_, own_, czxid_, until));
    if (!version) return Answer{.code = Code::kNoNode};
    removal.version = *version;
  }
  auto removed = calls_.call(ask_change({removal}), until, nullptr);
  if (removed && removed->code == Code::kBadVersion) return Answer{.code = Code::kNoNode};  // another's
  return removed;
}

Result<void> ContenderStore::remove(TimePoint until) {
  bool unanswered = removal_.has_value();
  if (removal_) calls_.forget(*std::exchange(removal_, std::nullopt));
  while (unknown_) {
    const auto found = find(until, nullptr);
    unanswered = true;
    if (!found && found.error().code == ErrorCode::kLost) return {};  // its nodes have gone with the session
    if (!found && (found.error().code != ErrorCode::kUnavailable || calls_.clock().now() >= until)) return found;
    if (!found) calls_.rest(until, nullptr);
  }
  if (own_.empty()) return {};
  while (true) {
    const auto answer = remove_node(until);
    const bool gone = answer && answer->code == Code::kNoNode;
    if (gone || (answer && answer->code == Code::kOk)) {
      own_.clear();
      if (!gone || unanswered) return {};
      return Error{ErrorCode::kLost, "it was deleted on " + calls_.store()};
    }
    if (answer) return unexpected(answer->code, calls_.store(), "does not remove our node");
    if (answer.error().code != ErrorCode::kUnavailable || calls_.clock().now() >= until) return answer.error();
    unanswered = true;
    calls_.rest(until, nullptr);
  }
}

void ContenderStore::remove_meanwhile() {
  if (removal_ && !calls_.has_answer(*removal_)) return;
  if (removal_) {
    const auto answer = calls_.answer(*removal_, TimePoint(), nullptr);
    removal_.reset();
    // NoNode: another was quicker. Without the right to delete it would be refused again: it goes with the session.
    if (answer || answer.error().code == ErrorCode::kDenied) own_.clear();
  }
  if (!own_.empty()) removal_ = calls_.send(ask_change({delete_node(own_)}));
}

Result<std::optional<int>> stamp_one_node(Calls& calls, const std::string& path, std::int64_t czxid, TimePoint until) {
  while (true) {
    TRY_ASSIGN(const auto node, calls.call(ask_data(path), until, nullptr));
    if (node.code != Code::kOk || node.stat.czxid != czxid) return std::optional<int>();
    std::vector<Change> writes(kLeastWrites + random_below(kLeastWrites), set_node(path, node.data));
    writes.front().version = node.stat.version;
    TRY_ASSIGN(const auto written, calls.call(ask_change(writes), until, nullptr));
    if (written.code == Code::kBadVersion && calls.clock().now() < until) continue;
    if (written.code != Code::kOk || written.changed.back().stat.czxid != czxid) return std::optional<int>();
    return std::optional(written.changed.back().stat.version);
  }
}

Error is_directory(const Calls& calls, const std::string& path) {
  return {ErrorCode::kUnsupported, path + " on " + calls.store() + " is a directory, and not a lock of recipe=simple",
          "choose another key, or the recipe that made it"};
}

}  // namespace dlock::zookeeper
