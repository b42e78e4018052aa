// SPDX-License-Identifier: Apache-2.0
// The half of StockCall that changes something.
#include <algorithm>
#include <set>
#include <utility>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/session/errors.h"
#include "backends/zookeeper/stock/stock_call.h"
#include "lib/stock/segment_plan.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kClockAge = 1s;        ///< how old a look at the leader's clock may be for an end that it decides
constexpr std::size_t kMostAtOnce = 100;  ///< reservations that one transaction gives back

Change change(Change::Kind kind, std::string path, std::string data = {}, int version = -1) {
  return {kind, std::move(path), std::move(data), NodeKind::kPersistent, version};
}

}  // namespace

Result<std::vector<SeenNote>> StockCall::reservations() {
  const auto list = session_.ask({.kind = Request::Kind::kList, .path = life() + kOpen}, limit_);
  if (!list) return list.error();
  std::vector<LockName> ids;
  std::vector<Request> requests;
  for (const std::string& child : list->children) {
    auto id = name_of_part(child);
    if (!id) return broken("'" + child + "' among its reservations is no request");
    requests.push_back({.kind = Request::Kind::kRead, .path = request_path(life(), *id)});
    ids.push_back(std::move(*id));
  }
  const auto answers = session_.ask(requests, limit_);
  if (!answers) return answers.error();
  std::vector<SeenNote> found;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto note = note_of(ids[i], (*answers)[i]);
    if (!note) return note.error();
    if (*note && (*note)->is_reserved()) found.push_back(std::move(**note));
  }
  return found;
}

/// Asks for a change that means nothing, for its stamp.
Result<std::int64_t> StockCall::leaders_time() {
  const Change tick = change(Change::Kind::kSet, life() + kOpen);
  const auto answer = session_.ask({.kind = Request::Kind::kChange, .changes = {tick}}, limit_);
  if (!answer) return answer.error();
  if (answer->code != Code::kOk) return broken("its directory of reservations is missing");
  session_.leader().seen(answer->changed.front().stat.mtime, session_.now());
  return answer->changed.front().stat.mtime;
}

Result<bool> StockCall::is_over(const SeenNote& reservation) {
  const std::int64_t end = reservation.mtime + reservation.note.ttl_ms;
  auto now = session_.leader().time(session_.now());
  if (now && *now < end) return false;
  now = session_.leader().time(session_.now(), kClockAge);
  if (now) return *now >= end;
  const auto asked = leaders_time();
  if (!asked) return asked.error();
  return *asked >= end;
}

Result<std::optional<SeenNote>> StockCall::request_now(const LockName& id, bool* given, int segment) {
  auto seen = request(id, segment);
  *given = false;
  if (!seen || !*seen || !(*seen)->is_reserved()) return seen;
  const auto over = is_over(**seen);
  if (!over) return over.error();
  if (!*over) return seen;
  if (auto back = give_back(**seen); !back) return back.error();
  *given = true;
  return seen;
}

Result<bool> StockCall::sweep() {
  if (std::exchange(swept_, true)) return false;
  const auto all = reservations();
  if (!all) return all.error();
  std::size_t count = 0;
  for (const SeenNote& one : *all) {
    if (group_ && group_->notes.contains(one.id.text())) continue;  // that is for its own step to see
    const auto over = is_over(one);
    if (!over) return over.error();
    if (!*over) continue;
    if (auto given = give_back(one); !given) return given.error();
    if (++count == kMostAtOnce) break;
  }
  return count > 0;
}

Result<void> StockCall::move(int segment, const StockCounts& more) {
  Page& page = pages_.at(segment);
  page.counts += more;
  page.changed = true;
  const StockCounts& now = page.counts;
  for (const Quantity number : {now.quantity, now.reserved, now.taken, now.refunded, now.added}) {
    if (number >= 0 && number <= kMostItems) continue;
    return broken("segment " + std::to_string(segment) + " would count to " + std::to_string(number));
  }
  return {};
}

Result<void> StockCall::move_parts(const StockParts& parts, const StockCounts& each) {
  if (auto loaded = load(parts); !loaded) return loaded;
  for (const StockPart& part : parts) {
    const Quantity q = part.quantity;
    const StockCounts more{each.quantity * q, each.reserved * q, each.taken * q, each.refunded * q, each.added * q};
    if (auto moved = move(home_of(part.segment, segments()), more); !moved) return moved;
  }
  return {};
}

void StockCall::remember(const LockName& id, const StockNote& note, const std::optional<SeenNote>& before) {
  const std::string path = request_path(life(), id);
  changes_.push_back(before ? change(Change::Kind::kSet, path, note_text(note), before->version)
                            : change(Change::Kind::kCreate, path, note_text(note)));
}

void StockCall::open_reservation(const LockName& id) {
  changes_.push_back(change(Change::Kind::kCreate, open_path(life(), id)));
}

void StockCall::close_reservation(const LockName& id) {
  changes_.push_back(change(Change::Kind::kDelete, open_path(life(), id)));
}

Result<void> StockCall::give_back(const SeenNote& reservation) {
  if (auto moved = move_parts(reservation.note.record.parts, {.quantity = 1, .reserved = -1}); !moved) return moved;
  changes_.push_back(change(Change::Kind::kDelete, request_path(life(), reservation.id), "", reservation.version));
  close_reservation(reservation.id);
  return {};
}

void StockCall::replace(const std::vector<StockCounts>& segments) {
  StockHead head = known_->head;
  head.gate.clear();
  head.segments = static_cast<int>(segments.size());
  head_change_ = change(Change::Kind::kSet, path_, head_text(head), known_->version);
  const std::size_t before = pages_.size();
  for (std::size_t i = 0; i < std::max(before, segments.size()); ++i) {
    const std::string path = segment_path(life(), static_cast<int>(i));
    const int version = i < before ? pages_.at(static_cast<int>(i)).version : -1;
    if (i >= segments.size()) {
      changes_.push_back(change(Change::Kind::kDelete, path, "", version));
    } else {
      const auto kind = i < before ? Change::Kind::kSet : Change::Kind::kCreate;
      changes_.push_back(change(kind, path, counts_text(segments[i]), version));
    }
  }
}

void StockCall::remove() {
  head_change_ = change(Change::Kind::kDelete, path_, "", known_->version);
  for (int i = 0; i < segments(); ++i) changes_.push_back(change(Change::Kind::kDelete, segment_path(life(), i)));
}

/// The head comes first: the codes of a refusal begin with what it says.
std::vector<Change> StockCall::gathered() const {
  std::vector<Change> all;
  if (head_change_) all.push_back(*head_change_);
  else if (has_gate()) all = head_with_gate("");
  else all.push_back(change(Change::Kind::kCheck, path_, "", known_->version));
  all.insert(all.end(), changes_.begin(), changes_.end());
  for (const auto& [segment, page] : pages_) {
    if (!page.changed) continue;
    all.push_back(change(Change::Kind::kSet, segment_path(life(), segment), counts_text(page.counts), page.version));
  }
  if (errand_) all.insert(all.end(), errand_->changes.begin(), errand_->changes.end());
  return all;
}

Result<StockCall::Written> StockCall::write() {
  const std::vector<Change> changes = gathered();
  std::vector<Request> requests{{.kind = Request::Kind::kChange, .changes = changes}};
  const bool lists = errand_ && !errand_->then_list.empty();
  if (lists) requests.push_back({.kind = Request::Kind::kList, .path = errand_->then_list});
  const TimePoint sent = session_.now();
  const auto answers = session_.ask(requests, limit_);
  if (!answers) return answers.error();
  const Answer* answer = &answers->front();
  if (answer->code != Code::kOk) return refused(changes, *answer);
  std::int64_t zxid = 0;
  for (const Answer::Changed& changed : answer->changed) {
    if (changed.stat.mzxid == 0) continue;
    zxid = changed.stat.mzxid;
    token_ = known_->first_token + zxid;
    session_.leader().seen(changed.stat.mtime, session_.now());
  }
  if (errand_) {
    const auto own = static_cast<std::ptrdiff_t>(changes.size() - errand_->changes.size());
    errand_->changed.assign(answer->changed.begin() + own, answer->changed.end());
    errand_->listed = lists ? answers->back().children : std::vector<std::string>();
    errand_->zxid = zxid;
    errand_->sent = sent;
  }
  if (changes.front().kind != Change::Kind::kCheck) known_.reset();
  return Written::kDone;
}

/// The directories of what is to be created: these are the first requests there. False: that is not it.
Result<bool> StockCall::make_room(const std::vector<Change>& changes) {
  std::set<std::string> rooms;
  for (const Change& one : changes) {
    if (one.kind == Change::Kind::kCreate && one.path.starts_with(life())) rooms.insert(parent_of(one.path));
  }
  std::vector<Request> requests;
  for (const std::string& room : rooms) {
    requests.push_back({.kind = Request::Kind::kCreate, .changes = {change(Change::Kind::kCreate, room)}});
  }
  const auto made = session_.ask(requests, limit_);
  if (!made) return made.error();
  return std::all_of(made->begin(), made->end(),
                     [](const Answer& answer) { return answer.code == Code::kOk || answer.code == Code::kNodeExists; });
}

Result<StockCall::Written> StockCall::refused(const std::vector<Change>& changes, const Answer& answer) {
  std::size_t at = 0;
  while (at < answer.changed.size() && answer.changed[at].code == Code::kOk) ++at;
  const bool known_is_old = at == 0 || at >= changes.size() || answer.code == Code::kNoNode;
  if (at < changes.size() && changes[at].kind == Change::Kind::kCreate && answer.code == Code::kNoNode) {
    const auto made = make_room(changes);
    if (!made) return made.error();
    if (*made) return Written::kMadeRoom;
  }
  if (known_is_old) known_.reset();
  for (const Code race : {Code::kBadVersion, Code::kNodeExists, Code::kNoNode, Code::kNotEmpty}) {
    if (answer.code == race) return Written::kLostRace;
  }
  return unexpected(ErrorCode::kUnavailable, answer.code, session_.store(), "does not change " + name_.text());
}

}  // namespace dlock::zookeeper
