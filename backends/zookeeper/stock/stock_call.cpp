// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_call.h"

#include <algorithm>

#include "backends/zookeeper/lock/names.h"
#include "lib/base/random.h"
#include "lib/stock/segment_plan.h"
#include "lib/stock/taking.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kReconnectPause = 20ms;
constexpr Duration kShortestPause = 1ms;
constexpr int kMostDoublings = 6;
constexpr Duration kGatePatience = 100ms;
constexpr int kGateLooks = 20;  ///< and at least for as long as so many looks take
constexpr Duration kLeaveBudget = 1s;

Request read(const std::string& path, bool watch = false) {
  return {.kind = Request::Kind::kRead, .path = path, .watch = watch};
}

}  // namespace

Result<void> StockCall::run(int gate_after, const Decision& decide) {
  while (true) {
    auto done = attempt(gate_after, decide);
    if (done && *done) break;
    // What makes no sense may have been read while it changed: behind the gate nothing does, as long as it is closed.
    if (!done && done.error().code == ErrorCode::kMisconfigured && has_gate() && !kept_gate()) done = false;
    const ErrorCode code = done ? ErrorCode::kUnavailable : done.error().code;
    if (done && session_.now() >= limit_.until) {
      done = Error{ErrorCode::kUnavailable,
                   session_.store() + ": " + name_.text() + " was changed again and again while it was looked at",
                   "are there more takers than segments? dlock stock resize gives it more"};
    }
    bool is_final = session_.now() >= limit_.until || code == ErrorCode::kCancelled || code == ErrorCode::kDenied;
    if (code == ErrorCode::kMisconfigured && known_ && !has_gate()) gate_after = is_fresh_ ? 0 : gate_after;
    else if (code != ErrorCode::kUnavailable && is_fresh_) is_final = true;
    if (!done && is_final) {
      if (has_gate()) leave_gate();
      return done.error();
    }
    if (!done) is_fresh_ = true;
    if (!done && code == ErrorCode::kUnavailable) {
      known_.reset();
      if (auto paused = session_.pause(session_.now() + kReconnectPause, "", limit_); !paused) return paused;
    }
  }
  if (has_gate()) leave_gate();
  return {};
}

/// False: again.
Result<bool> StockCall::attempt(int gate_after, const Decision& decide) {
  pages_.clear();
  group_.reset();
  swept_ = false;
  if (errand_) errand_->changes.clear();
  changes_.clear();
  head_change_.reset();
  if (auto found = find_head(gate_after); !found) return found.error();
  const auto step = decide(*this);
  if (!step) return step.error();
  if (*step == Step::kConclude) return std::exchange(is_fresh_, true);
  if (*step == Step::kAsSeen) return true;
  if (*step != Step::kReadAgain) {
    const auto written = write();
    if (!written) unsure_ = true;
    if (!written) return written.error();
    if (*written != Written::kLostRace) return *step == Step::kWrite && *written == Written::kDone;
    if (auto paused = pause_after_race(); !paused) return paused.error();
  }
  ++tries_;
  return false;
}

Result<void> StockCall::pause_after_race() {
  const Duration most = kShortestPause * (1 << std::min(tries_, kMostDoublings));
  return session_.pause(session_.now() + jitter(most), "", limit_);
}

Result<void> StockCall::find_head(int gate_after) {
  missing_ = false;
  while (true) {
    if (!known_ || is_fresh_) {
      if (auto seen = read_head(); !seen) return seen;
    }
    if (!known_->head.gate.empty() && !has_gate()) {
      if (auto waited = wait_at_gate(); !waited) return waited;
    } else if (tries_ >= gate_after && !has_gate()) {
      if (auto closed = close_gate(); !closed) return closed;
    } else {
      return {};
    }
    if (session_.now() >= limit_.until) {
      return Error{ErrorCode::kUnavailable, session_.store() + ": " + name_.text() + " was kept closed by others"};
    }
  }
}

Result<void> StockCall::read_head() {
  known_.reset();
  std::vector<Request> requests{read(path_)};
  if (is_fresh_) requests.insert(requests.begin(), {.kind = Request::Kind::kSync, .path = path_});
  const auto answers = session_.ask(requests, limit_);
  if (!answers) return answers.error();
  const Answer& answer = answers->back();
  if (answer.code == Code::kNoNode) {
    missing_ = true;
    return no_such_stock(name_, session_.store());
  }
  auto head = parse_head(answer.data);
  if (!head) return broken(head.error().message);
  known_ = SeenHead{std::move(*head), answer.stat.version, (answer.stat.ctime + 1) * 1000 - answer.stat.czxid};
  return {};
}

/// Until it is open, or is opened by us: who closed it must be gone.
Result<void> StockCall::wait_at_gate() {
  const int closed = known_->version;
  const TimePoint begin = session_.now();
  const std::vector<Change> opening = head_with_gate("");
  known_.reset();
  for (TimePoint until = limit_.until; session_.now() < until;) {
    const TimePoint asked = session_.now();
    const auto now = session_.ask(read(path_, true), limit_);
    if (!now) return now.error();
    if (now->code != Code::kOk || now->stat.version != closed) return {};
    until = std::min(begin + std::max(kGatePatience, kGateLooks * (session_.now() - asked)), limit_.until);
    if (auto paused = session_.pause(until, path_, limit_); !paused) return paused;
  }
  const auto opened = session_.ask({.kind = Request::Kind::kChange, .changes = opening}, limit_);
  return opened ? Result<void>() : opened.error();
}

/// The head of a stock that was dropped and made anew may have the same version; the old segments are not there any
/// more.
std::vector<Change> StockCall::head_with_gate(const std::string& gate) const {
  StockHead head = known_->head;
  head.gate = gate;
  return {{Change::Kind::kSet, path_, head_text(head), NodeKind::kPersistent, known_->version},
          {Change::Kind::kCheck, segment_path(life(), 0), "", NodeKind::kPersistent, -1}};
}

Result<void> StockCall::close_gate() {
  if (gate_.empty()) gate_ = Owner::random().text();
  const auto closed = session_.ask({.kind = Request::Kind::kChange, .changes = head_with_gate(gate_)}, limit_);
  if (!closed) return closed.error();
  is_fresh_ = true;  // and is looked at again, whoever closed it
  return {};
}

bool StockCall::kept_gate() {
  const int closed = known_->version;
  return read_head() && known_->version == closed;
}

void StockCall::leave_gate() {
  const CallLimit soon{session_.now() + kLeaveBudget};
  (void)session_.ask({.kind = Request::Kind::kChange, .changes = head_with_gate("")}, soon);
  known_.reset();
}

Result<std::optional<SeenNote>> StockCall::note_of(const LockName& id, const Answer& answer) const {
  if (answer.code == Code::kNoNode) return std::optional<SeenNote>();
  auto note = parse_note(answer.data);
  if (!note) return broken("request '" + id.text() + "': " + note.error().message);
  return std::optional(SeenNote{id, std::move(*note), answer.stat.version, answer.stat.mtime});
}

Result<StockCall::Page> StockCall::page_of(int segment, const Answer& answer) const {
  const std::string which = "segment " + std::to_string(segment);
  if (answer.code == Code::kNoNode) return broken(which + " is missing");
  const auto counts = parse_counts(answer.data);
  if (!counts) return broken(which + ": " + counts.error().message);
  return Page{*counts, answer.stat.version, answer.stat.mzxid, false};
}

Result<std::optional<SeenNote>> StockCall::request(const LockName& id, int segment) {
  if (group_) return group_->notes.at(id.text());
  std::vector<Request> requests{read(request_path(life(), id))};
  if (segment >= 0) requests.push_back(read(segment_path(life(), segment)));
  const auto own = static_cast<std::ptrdiff_t>(requests.size());
  if (errand_) requests.insert(requests.end(), errand_->reads.begin(), errand_->reads.end());
  auto answers = session_.ask(requests, limit_);
  if (!answers) return answers.error();
  if (segment >= 0) {
    const auto page = page_of(segment, (*answers)[1]);
    if (!page) return page.error();
    pages_[segment] = *page;
  }
  if (errand_) errand_->seen.assign(answers->begin() + own, answers->end());
  return note_of(id, answers->front());
}

Result<std::vector<Answer>> StockCall::load_with(const std::vector<Request>& requests) {
  std::vector<Request> all = requests;
  for (int i = 0; i < segments(); ++i) all.push_back(read(segment_path(life(), i)));
  auto answers = session_.ask(all, limit_);
  if (!answers) return answers;
  for (int i = 0; i < segments(); ++i) {
    const auto page = page_of(i, (*answers)[requests.size() + static_cast<std::size_t>(i)]);
    if (!page) return page.error();
    pages_[i] = *page;
  }
  answers->resize(requests.size());
  return answers;
}

Result<void> StockCall::load(const StockParts& parts) {
  std::vector<int> missing;
  std::vector<Request> requests;
  for (const StockPart& part : parts) {
    const int home = home_of(part.segment, segments());
    if (pages_.contains(home) || std::count(missing.begin(), missing.end(), home) > 0) continue;
    missing.push_back(home);
    requests.push_back(read(segment_path(life(), home)));
  }
  if (requests.empty()) return {};
  const auto answers = session_.ask(requests, limit_);
  if (!answers) return answers.error();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const auto page = page_of(missing[i], (*answers)[i]);
    if (!page) return page.error();
    pages_[missing[i]] = *page;
  }
  return {};
}

Result<void> StockCall::load_group(const std::vector<LockName>& ids) {
  std::vector<Request> requests;
  for (const LockName& id : ids) requests.push_back(read(request_path(life(), id)));
  const auto answers = session_.ask(requests, limit_);
  if (!answers) return answers.error();
  Group group;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto note = note_of(ids[i], (*answers)[i]);
    if (!note) return note.error();
    group.notes.emplace(ids[i].text(), std::move(*note));
  }
  if (auto loaded = load_all(&group.steady); !loaded) return loaded;
  group_ = std::move(group);
  return {};
}

Result<void> StockCall::load_all(bool* steady) {
  if (group_ && steady) *steady = group_->steady;
  if (group_) return {};
  const auto count = static_cast<std::size_t>(segments());
  std::vector<Request> requests;
  for (std::size_t i = 0; i < count; ++i) requests.push_back(read(segment_path(life(), static_cast<int>(i))));
  requests.push_back({.kind = Request::Kind::kExists, .path = life() + kOpen});
  const std::size_t once = requests.size();
  if (steady != nullptr) {
    const std::vector<Request> again = requests;
    requests.insert(requests.end(), again.begin(), again.end());
    requests.push_back(read(path_));
  }
  const auto answers = session_.ask(requests, limit_);
  if (!answers) return answers.error();
  for (std::size_t i = 0; i < count; ++i) {
    const auto page = page_of(static_cast<int>(i), (*answers)[i]);
    if (!page) return page.error();
    pages_[static_cast<int>(i)] = *page;
  }
  open_ = (*answers)[once - 1].stat.children;
  if (!steady) return {};
  *steady = answers->back().code == Code::kOk && answers->back().stat.version == known_->version;
  for (std::size_t i = 0; i < once; ++i) {
    const NodeStat& first = (*answers)[i].stat;
    const NodeStat& again = (*answers)[once + i].stat;
    *steady = *steady && first.mzxid == again.mzxid && first.cversion == again.cversion;
  }
  return {};
}

std::vector<Quantity> StockCall::quantities() const {
  std::vector<Quantity> have;
  for (int i = 0; i < segments(); ++i) have.push_back(counts(i).quantity);
  return have;
}

}  // namespace dlock::zookeeper
