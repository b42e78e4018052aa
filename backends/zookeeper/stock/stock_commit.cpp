// SPDX-License-Identifier: Apache-2.0
// How the transactions of a StockTree end.
#include <algorithm>
#include <set>
#include <utility>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/session/errors.h"
#include "backends/zookeeper/stock/stock_garbage.h"
#include "backends/zookeeper/stock/stock_tree.h"
#include "lib/base/random.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kReconnectPause = 20ms;
constexpr Duration kShortestPause = 1ms;
constexpr int kMostDoublings = 6;

bool is_in_range(const StockCounts& counts) {
  for (const Quantity number : {counts.quantity, counts.reserved, counts.taken, counts.refunded, counts.added}) {
    if (number < 0 || number > kMostItems) return false;
  }
  return true;
}

}  // namespace

Result<void> StockTree::commit() {
  if (error_ && error_->code != ErrorCode::kMisconfigured) return end_with(*error_);
  const auto changes = error_ ? Result<NodeChanges>(*error_) : gathered();
  if (changes) return changes->empty() ? verify() : write(*changes);
  if (error_ && error_->code != ErrorCode::kMisconfigured) return end_with(*error_);
  const auto holds = verify();  // an impossible state may have been read while it changed
  return holds ? Result<void>(changes.error()) : holds;
}

Result<void> StockTree::conclude() { return error_ ? end_with(*error_) : verify(); }

/// Whether everything that was read is still so, after a sync: then it was so at one moment.
Result<void> StockTree::verify() {
  if (believes_ || seen_.empty()) {
    gate_.leave();
    return {};
  }
  std::vector<Request> requests{ask_sync(seen_.begin()->first)};
  for (const auto& [path, answer] : seen_) requests.push_back(ask_data(path));
  const auto answers = session_.ask(requests, limit_);
  if (!answers) return end_with(answers.error());
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const Answer& before = seen_.at(requests[i].path);
    const Answer& now = (*answers)[i];
    const bool is_directory = requests[i].path.ends_with(kOpen);
    const bool is_same = is_directory ? before.stat.cversion == now.stat.cversion
                                      : before.stat.version == now.stat.version && before.stat.mzxid == now.stat.mzxid;
    if (before.code == now.code && is_same) continue;
    gate_.forget();
    return raced();
  }
  gate_.leave();
  return {};
}

Result<void> StockTree::raced() {
  const Duration most = kShortestPause * (1 << std::min(races_++, kMostDoublings));
  return repeat({ErrorCode::kUnavailable,
                 store() + ": " + name_->text() +
                     " was changed again and again while it was "
                     "looked at",
                 "are there more takers than segments? Add some with dlock stock resize"},
                session_.now() + jitter(most));
}

/// `why`, if there is no time for that.
Result<void> StockTree::repeat(Error why, TimePoint pause_until) {
  if (session_.now() < limit_.until) {
    if (auto paused = session_.pause(pause_until, "", limit_); !paused) why = paused.error();
    else again_ = true;
  }
  if (!again_) gate_.leave();
  return why;
}

Result<void> StockTree::end_with(Error error) {
  if (error.code != ErrorCode::kUnavailable) {
    gate_.leave();
    return error;
  }
  gate_.forget();
  return repeat(std::move(error), session_.now() + kReconnectPause);
}

Result<NodeChanges> StockTree::gathered() {
  NodeChanges changes = made_;
  if (!made_.empty()) return changes;
  if (!dropped_.empty()) {
    changes.push_back(delete_node(gate_.path(), gate_.seen().stat.version));
    for (int i = 0; i < segments(); ++i) changes.push_back(delete_node(segment_node(i)));
    return changes;
  }
  add_requests(changes);
  if (levelled_) add_levelled(changes);
  else if (auto added = add_segments(changes); !added) return added.error();
  if (changes.empty() && errand_.changes.empty()) return changes;
  NodeChanges all = gate_.beginning();
  if (levelled_) {
    StockHead head = gate_.head();
    head.gate.clear();
    head.segments = static_cast<int>(levelled_->size());
    all = {set_node(gate_.path(), head_text(head), gate_.seen().stat.version)};
  }
  all.insert(all.end(), changes.begin(), changes.end());
  if (ends_ && races_ == 0) errand_.changes = segment_locks_.removals();
  all.insert(all.end(), errand_.changes.begin(), errand_.changes.end());
  return all;
}

void StockTree::add_requests(NodeChanges& changes) const {
  for (const auto& [id, one] : drafts_) {
    if (!one.changed) continue;
    const std::string path = request_node(id);
    if (one.before && one.now) {
      changes.push_back(set_node(path, note_text(*one.now), one.version));
    } else if (one.now) {
      changes.push_back(create_node(path, note_text(*one.now)));
    } else if (one.before) {
      changes.push_back(delete_node(path, one.version));
    }
    const bool was_open = Draft::is_open(one.before);
    if (was_open == Draft::is_open(one.now)) continue;
    const std::string open = open_path(life(), id);
    changes.push_back(was_open ? delete_node(open) : create_node(open, ""));
  }
}

Result<void> StockTree::add_segments(NodeChanges& changes) {
  std::vector<std::string> paths;
  for (const auto& [segment, more] : moves_) paths.push_back(segment_node(segment));
  if (auto looked = look(paths); !looked) return looked;
  for (const auto& [segment, more] : moves_) {
    const auto now = counts(segment);
    if (!now) return now.error();
    if (!is_in_range(*now)) {
      return broken("segment " + std::to_string(segment) + " would be '" + counts_text(*now) + "'");
    }
    const std::string path = segment_node(segment);
    changes.push_back(set_node(path, counts_text(*now), seen(path).stat.version));
  }
  if (!relies_on_all_ || changes.empty()) return {};
  for (int i = 0; i < segments(); ++i) {
    const std::string path = segment_node(i);
    if (!moves_.contains(i)) changes.push_back(check_node(path, seen(path).stat.version));
  }
  return {};
}

void StockTree::add_levelled(NodeChanges& changes) const {
  const int count = static_cast<int>(levelled_->size());
  for (int i = 0; i < std::max(segments(), count); ++i) {
    const std::string path = segment_node(i);
    const bool is_there = i < segments();
    const int version = is_there ? seen(path).stat.version : -1;
    if (i >= count) {
      changes.push_back(delete_node(path, version));
    } else {
      const std::string text = counts_text((*levelled_)[static_cast<std::size_t>(i)]);
      changes.push_back(is_there ? set_node(path, text, version) : create_node(path, text));
    }
  }
}

Result<void> StockTree::write(const NodeChanges& changes) {
  std::vector<Request> requests{ask_change(changes)};
  if (!errand_.then_list.empty()) requests.push_back(ask_list(errand_.then_list));
  errand_.sent = session_.now();
  const auto answers = session_.ask(requests, limit_);
  unsure_ = unsure_ || !answers;
  if (!answers) return end_with(answers.error());
  if (answers->front().code != Code::kOk) return refused(changes, answers->front());
  written(changes, *answers);
  if (more_to_sweep_) return repeat({ErrorCode::kUnavailable, store() + ": too much comes back"}, session_.now());
  return {};
}

void StockTree::written(const NodeChanges& changes, const std::vector<Answer>& answers) {
  const Answer& answer = answers.front();
  for (const Answer::Changed& changed : answer.changed) {
    if (changed.stat.mzxid == 0) continue;
    errand_.zxid = changed.stat.mzxid;
    session_.leader().seen(changed.stat.mtime, session_.now());
  }
  if (made_.empty()) token_ = FencingToken(static_cast<std::uint64_t>(gate_.first_token() + errand_.zxid));
  const auto own = static_cast<std::ptrdiff_t>(changes.size() - errand_.changes.size());
  errand_.changed.assign(answer.changed.begin() + own, answer.changed.end());
  if (answers.size() > 1) errand_.listed = answers.back().children;
  if (ends_ && !errand_.changed.empty()) segment_locks_.released();
  for (const auto& [id, one] : drafts_) {
    if (one.changed && Draft::is_open(one.now)) aside_ = {id, one.now->record.parts.front().segment};
  }
  if (changes.front().kind != NodeChange::Kind::kCheck) gate_.forget();
  if (!dropped_.empty()) (void)remove_tree(session_, dropped_, limit_);  // the rest is left to gc
}

/// The directories of what is to be created: these are the first requests there, or the first stock. False: that is not
/// it.
Result<bool> StockTree::make_room(const NodeChanges& changes) {
  if (!made_.empty()) {
    for (const char* purpose : {kStocks, kStockData}) {
      const auto made = session_.make_directory(own_directory(session_.root(), purpose), limit_);
      if (!made) return made.error();
    }
    return true;
  }
  std::set<std::string> rooms;
  for (const NodeChange& one : changes) {
    if (one.kind == NodeChange::Kind::kCreate && one.path.starts_with(life())) rooms.insert(parent_of(one.path));
  }
  std::vector<Request> requests;
  for (const std::string& room : rooms) {
    requests.push_back(ask_creation(create_node(room, "")));
  }
  const auto made = session_.ask(requests, limit_);
  if (!made) return made.error();
  return std::all_of(made->begin(), made->end(),
                     [](const Answer& answer) { return answer.code == Code::kOk || answer.code == Code::kNodeExists; });
}

/// The head comes first: the codes of a refusal begin with what it says.
Result<void> StockTree::refused(const NodeChanges& changes, const Answer& answer) {
  std::size_t at = 0;
  while (at < answer.changed.size() && answer.changed[at].code == Code::kOk) ++at;
  const bool lacks_room =
      at < changes.size() && changes[at].kind == NodeChange::Kind::kCreate && answer.code == Code::kNoNode;
  if (lacks_room) {
    const auto room = make_room(changes);
    if (!room) return end_with(room.error());
    if (*room) return repeat({ErrorCode::kUnavailable, store() + " did not answer in time"}, session_.now());
  }
  if (at == 0 || at >= changes.size() || answer.code == Code::kNoNode) gate_.forget();
  for (const Code race : {Code::kBadVersion, Code::kNodeExists, Code::kNoNode, Code::kNotEmpty}) {
    if (answer.code == race) return raced();
  }
  const ErrorCode code = made_.empty() ? ErrorCode::kUnavailable : ErrorCode::kUnsupported;
  return end_with(unexpected(code, answer.code, store(), "does not change " + name_->text()));
}

}  // namespace dlock::zookeeper
