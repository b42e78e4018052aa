// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/layout.h"

#include <algorithm>
#include <iterator>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/scripts.h"
#include "lib/base/human_text.h"

namespace dlock::redis {
namespace {

constexpr Duration kReplicaPatience = std::chrono::seconds(1);

std::vector<Command> request_of(Command command) {
  std::vector<Command> request;  // braces would copy it, script and all
  request.push_back(std::move(command));
  return request;
}

}  // namespace

Result<Layout::Answer> Layout::answer_of(std::vector<Reply>& replies) const {
  for (const Reply& reply : replies) {
    if (auto error = error_of(reply, store_)) return *error;
  }
  Reply& answer = replies.front();
  if (answer.kind != Reply::Kind::kArray || answer.elements.empty()) return not_understood(store_);
  return std::move(answer.elements);
}

Result<std::vector<Reply>> Layout::send(const std::vector<Command>& commands, TimePoint until, Control* control) {
  auto replies = deployment_.call(beside_.key, commands, until, control);
  answered_ = static_cast<bool>(replies);
  if (replies) sent_ = deployment_.asked_at();
  return replies;
}

Result<Layout::Answer> Layout::ask(const std::vector<Command>& request, TimePoint until, Control* control) {
  TRY_ASSIGN(auto replies, send(request, until, control));
  return answer_of(replies);
}

Result<Layout::Answer> Layout::run(Command command, TimePoint until, Control* control) {
  return ask(request_of(std::move(command)), until, control);
}

Result<Layout::Answer> Layout::run_confirmed(Command command, bool (*done)(const Answer&), TimePoint until,
                                             Control* control) {
  return run_confirmed(request_of(std::move(command)), done, until, control);
}

Result<Layout::Answer> Layout::run_confirmed(const std::vector<Command>& request, bool (*done)(const Answer&),
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
    if (outcome == ReplicaCheck::Confirmation::kAgain) continue;
    unmet_.reset();
    if (outcome == ReplicaCheck::Confirmation::kMet) return answer;
    unmet_ = {ErrorCode::kUnavailable,
              "the lock on " + name_.spoken() + " was confirmed by only " + check.text() + " of " + store_,
              "bring the replicas back, or lower wait_replicas"};
    return *unmet_;
  }
}

std::string Layout::keep_record(const Owner& owner, Duration ttl, const std::string& ran, TimePoint until,
                                Control* control) {
  const TimePoint now = clock_.now();
  const auto kept = run({"EVAL", deployment_scripts::kKeepRecord, "1", beside_.holders, holder_of(owner), ms_text(ttl),
                         ran.empty() ? "" : ran_word(ran)},
                        now + (until - now) / 4, control);
  return kept && kept->size() == 2 ? (*kept)[1].text : std::string();
}

Result<LockState> Layout::state_in(Reply reply, WallTime asked) {
  std::vector<Reply> replies;
  replies.push_back(std::move(reply));
  const auto parts = answer_of(replies);
  return parts ? understood(*parts, asked) : parts.error();
}

Result<LockState> Layout::read_state(TimePoint until, Control* control) {
  const WallTime asked = clock_.wall();
  const auto parts = run(state_command(), until, control);
  return parts ? understood(*parts, asked) : parts.error();
}

Result<void> Layout::drop_data(const std::string& data, TimePoint until) {
  TRY_ASSIGN(const auto answer, run(drop_command(key(), data), until, nullptr));
  return answer.front().text == "freed" ? Result<void>() : other_holders(name_);
}

}  // namespace dlock::redis
