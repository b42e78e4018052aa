// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/script_calls.h"

#include <algorithm>
#include <iterator>

#include "backends/redis/deployment/errors.h"

namespace dlock::redis {
namespace {

constexpr Duration kReplicaPatience = std::chrono::seconds(1);
/// A waiter looks at least every 5 s, and then learns where its key is now.
constexpr Duration kUnsettled = std::chrono::seconds(6);

std::vector<Command> request_of(Command command) {
  std::vector<Command> request;  // braces would copy it, script and all
  request.push_back(std::move(command));
  return request;
}

}  // namespace

Result<ScriptCalls::Answer> ScriptCalls::answer_of(std::vector<Reply>& replies) const {
  for (const Reply& reply : replies) {
    if (auto error = error_of(reply, store_)) return *error;
  }
  Reply& answer = replies.front();
  if (answer.kind != Reply::Kind::kArray || answer.elements.empty()) return not_understood(store_);
  return std::move(answer.elements);
}

/// Looked at before a call: within it a deployment connects anew without a word.
TimePoint ScriptCalls::unsettled_until() {
  const TimePoint now = clock_.now();
  Connection* asked = deployment_.current(key_);
  if (asked && !asked->is_closed()) (void)asked->advance(now);
  if (!node_.empty() && (!asked || asked->is_closed())) unsettled_until_ = now + kUnsettled;
  return unsettled_until_;
}

Result<std::vector<Reply>> ScriptCalls::send(const std::vector<Command>& commands, TimePoint until, Control* control) {
  const bool settled = answered_ || node_.empty();
  auto replies = deployment_.call(key_, commands, until, control);
  answered_ = static_cast<bool>(replies);
  const Connection* asked = deployment_.current(key_);
  std::string node = asked ? asked->settings().endpoint.text() : std::string();
  if (!node_.empty() && (!answered_ || !settled || node != node_)) unsettled_until_ = clock_.now() + kUnsettled;
  if (!node.empty()) node_ = std::move(node);
  if (replies) sent_ = deployment_.asked_at();
  return replies;
}

Result<ScriptCalls::Answer> ScriptCalls::ask(const std::vector<Command>& request, TimePoint until, Control* control) {
  auto replies = send(request, until, control);
  if (!replies) return replies.error();
  return answer_of(*replies);
}

Result<ScriptCalls::Answer> ScriptCalls::run(Command command, TimePoint until, Control* control) {
  return ask(request_of(std::move(command)), until, control);
}

Result<ScriptCalls::Answer> ScriptCalls::run_confirmed(Command command, bool (*done)(const Answer&), TimePoint until,
                                                       Control* control) {
  return run_confirmed(request_of(std::move(command)), done, until, control);
}

Result<ScriptCalls::Answer> ScriptCalls::run_confirmed(const std::vector<Command>& request, bool (*done)(const Answer&),
                                                       TimePoint until, Control* control) {
  ReplicaCheck check(replicas_, deployment_.known_replicas());
  if (!check.any()) return ask(request, until, control);
  std::vector<Command> commands = request;
  while (true) {
    commands.resize(1);
    const Duration patience = std::min<Duration>(kReplicaPatience, (until - clock_.now()) / 2);
    for (Command& behind : check.commands(patience)) commands.push_back(std::move(behind));
    auto replies = send(commands, until, control);
    if (!replies) return unmet_ && replies.error().code == ErrorCode::kUnavailable ? *unmet_ : replies.error();
    auto answer = answer_of(*replies);
    if (!answer || !done(*answer)) return answer;
    check.know(deployment_.known_replicas());
    const auto outcome =
        check.judge({std::make_move_iterator(replies->begin() + 1), std::make_move_iterator(replies->end())});
    if (outcome == ReplicaCheck::Outcome::kAgain) continue;
    unmet_.reset();
    if (outcome == ReplicaCheck::Outcome::kMet) return answer;
    unmet_ = {ErrorCode::kUnavailable,
              "the lock on " + name_ + " was confirmed by only " + check.text() + " of " + store_,
              "bring the replicas back, or lower wait_replicas"};
    return *unmet_;
  }
}

}  // namespace dlock::redis
