// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_gate.h"

#include <algorithm>

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 100ms;
constexpr int kLooks = 20;  ///< and at least for as long as so many looks take
constexpr Duration kLeaveBudget = 1s;

}  // namespace

Result<bool> StockGate::find(const LockName& name, bool closes, const CallLimit& limit) {
  if (std::string path = stock_path(session_.root(), name); path != path_) {
    known_.reset();
    path_ = std::move(path);
  }
  while (true) {
    if (auto seen = known_ ? Result<void>() : read(limit); !seen) return seen.error();
    if (seen_.code == Code::kNoNode) return false;
    if (!known_) return broken_stock(name, parse_head(seen_.data).error().message);
    const bool waits = !known_->gate.empty() && !is_ours();
    if (!waits && (!closes || is_ours())) return true;
    if (auto done = waits ? wait(limit) : close(limit); !done) return done.error();
    if (session_.now() >= limit.until) {
      return Error{ErrorCode::kUnavailable, session_.store() + ": " + name.text() + " was kept closed by others"};
    }
  }
}

Result<void> StockGate::read(const CallLimit& limit) {
  auto answer = session_.ask(ask_data(path_), limit);
  if (!answer) return answer.error();
  seen_ = std::move(*answer);
  if (auto head = parse_head(seen_.data); seen_.code == Code::kOk && head) known_ = std::move(*head);
  return {};
}

/// Until it is open, or is opened by us: who closed it must be gone.
Result<void> StockGate::wait(const CallLimit& limit) {
  const TimePoint begin = session_.now();
  const std::vector<Change> opening = with_gate("");
  known_.reset();
  for (TimePoint until = limit.until; session_.now() < until;) {
    const TimePoint asked = session_.now();
    const auto now = session_.ask(ask_data(path_, true), limit);
    if (!now) return now.error();
    if (now->code != Code::kOk || now->stat.version != seen_.stat.version) return {};
    until = std::min(begin + std::max(kPatience, kLooks * (session_.now() - asked)), limit.until);
    if (auto paused = session_.pause(until, path_, limit); !paused) return paused;
  }
  const auto opened = session_.ask(ask_change(opening), limit);
  return opened ? Result<void>() : opened.error();
}

/// And is read again, whoever closed it.
Result<void> StockGate::close(const CallLimit& limit) {
  if (ours_.empty()) ours_ = Owner::random().text();
  const std::vector<Change> closing = with_gate(ours_);
  known_.reset();
  const auto closed = session_.ask(ask_change(closing), limit);
  return closed ? Result<void>() : closed.error();
}

void StockGate::leave() {
  if (!is_ours()) return;
  const CallLimit soon{session_.now() + kLeaveBudget};
  (void)session_.ask(ask_change(with_gate("")), soon);
  known_.reset();
}

std::vector<Change> StockGate::beginning() const {
  if (is_ours()) return with_gate("");
  return {check_node(path_, seen_.stat.version)};
}

/// The head of a stock that was dropped and created again may have the same version; the old segments are not there any
/// more.
std::vector<Change> StockGate::with_gate(const std::string& gate) const {
  StockHead head = *known_;
  head.gate = gate;
  const std::string first = segment_path(life_path(session_.root(), head.life), 0);
  return {set_node(path_, head_text(head), seen_.stat.version), check_node(first, -1)};
}

}  // namespace dlock::zookeeper
