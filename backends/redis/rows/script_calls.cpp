// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/rows/script_calls.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "backends/redis/deployment/errors.h"

namespace dlock::redis {
namespace {

constexpr Duration kReplicaTimeout = std::chrono::seconds(1);
constexpr const char* kByHash = "EVALSHA";
constexpr std::size_t kMostWords = 16;  ///< of one request, as most are

/// The server did nothing: it does not know the hash, or our user may not use any.
bool wants_text(const Command& script, const Reply& reply) {
  return script.front() == kByHash && (reply.is_error("NOSCRIPT") || reply.is_error("NOPERM"));
}

/// Of the question behind the scripts, which were done.
Error not_confirmed(Error error) {
  error.undone = false;
  return error;
}

}  // namespace

Command ScriptCalls::script(const char* text) {
  Script& script = scripts_[text];
  script.text = text;
  const bool by_hash = !script.hash.empty();
  if (!by_hash && ++script.sent == 2 && !hashes_refused_) unhashed_.push_back(&script);
  Command command;
  command.reserve(kMostWords);
  command.emplace_back(by_hash ? kByHash : "EVAL");
  command.emplace_back(by_hash ? script.hash.c_str() : text);
  return command;
}

Result<std::vector<Reply>> ScriptCalls::exchange(const std::string& key, std::vector<Command> scripts,
                                                 const CallLimit& limit, bool sure) {
  std::vector<Reply> answered;
  while (true) {
    auto replies = exchange_once(key, scripts, limit, sure);
    if (!replies) return replies;
    std::size_t done = 0;
    while (done < scripts.size() && !wants_text(scripts[done], (*replies)[done])) ++done;
    if (answered.empty() && done == scripts.size()) return replies;
    std::move(replies->begin(), replies->begin() + static_cast<std::ptrdiff_t>(done), std::back_inserter(answered));
    if (done == scripts.size()) return answered;
    hashes_refused_ = hashes_refused_ || (*replies)[done].is_error("NOPERM");
    scripts.erase(scripts.begin(), scripts.begin() + static_cast<std::ptrdiff_t>(done));
    send_as_text(scripts);
  }
}

Result<std::vector<Reply>> ScriptCalls::call(const std::string& key, const std::vector<Command>& commands,
                                             const CallLimit& limit) {
  auto replies = deployment_->call(key, commands, limit.until, limit.control);
  if (replies) return replies;
  Error error = std::move(replies).error();
  error.undone = deployment_->was_refused();
  return error;
}

/// Replicas are asked after the scripts, on their connection; an answer that is repeated writes as well, so that they
/// speak of it.
Result<std::vector<Reply>> ScriptCalls::exchange_once(const std::string& key, std::vector<Command>& scripts,
                                                      const CallLimit& limit, bool sure) {
  const std::size_t count = scripts.size();
  const ReplicaDemand demand = sure ? replicas_ : ReplicaDemand();
  if (demand.all) TRY(count_replicas(key, limit));
  ReplicaCheck replicas(demand, std::max(known_replicas_, deployment_->known_replicas()));
  if (!replicas.any() && unhashed_.empty()) return call(key, scripts, limit);
  for (Command& one : hash_questions()) scripts.push_back(std::move(one));
  const std::size_t asked = scripts.size();
  const Duration patience = std::min<Duration>(kReplicaTimeout, (limit.until - clock_.now()) / 2);
  for (Command& one : replicas.commands(patience)) scripts.push_back(std::move(one));
  auto replies = call(key, scripts, limit);
  scripts.resize(count);
  if (!replies) return replies;
  take_hashes(std::span(*replies).subspan(count, asked - count));
  const std::vector<Reply> behind(std::make_move_iterator(replies->begin() + static_cast<std::ptrdiff_t>(asked)),
                                  std::make_move_iterator(replies->end()));
  replies->resize(count);
  const auto refused = [&](const Reply& reply) { return error_of(reply, store_).has_value(); };
  if (!replicas.any() || std::any_of(replies->begin(), replies->end(), refused)) return replies;
  const auto unasked = std::find_if(behind.begin(), behind.end(), refused);
  if (unasked != behind.end()) return not_confirmed(*error_of(*unasked, store_));
  replicas.know(deployment_->known_replicas());
  const auto outcome = replicas.judge(behind);
  known_replicas_ = replicas.wanted();
  // A replica that came meanwhile has not confirmed: a script must not run twice, so the outcome is not known.
  if (outcome == ReplicaCheck::Confirmation::kMet) return replies;
  return unreplicated(replicas.text());
}

/// Before the first script for a key: "all" must be known when the replicas are waited for.
Result<void> ScriptCalls::count_replicas(const std::string& key, const CallLimit& limit) {
  if (key == counted_for_) return {};
  TRY_ASSIGN(const auto replies, call(key, {{"ROLE"}}, limit));
  if (auto error = error_of(replies.front(), store_)) {
    error->undone = true;
    return *error;
  }
  known_replicas_ = ReplicaCheck::count(replies.front());
  counted_for_ = key;
  return {};
}

/// One that changes nothing, so that a server which sends us elsewhere has done nothing.
std::vector<Command> ScriptCalls::hash_questions() const {
  std::vector<Command> questions;
  for (const Script* one : unhashed_) questions.push_back({"SCRIPT", "LOAD", one->text});
  return questions;
}

/// A server that does not list them, or not for us, is not asked again.
void ScriptCalls::take_hashes(std::span<const Reply> answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].is_text()) unhashed_[i]->hash = answers[i].text;
    else hashes_refused_ = true;
  }
  unhashed_.clear();
}

/// And all that were known by their hash from now on, until they are asked for again.
void ScriptCalls::send_as_text(std::span<Command> scripts) {
  for (auto& [_, known] : scripts_) {
    if (known.hash.empty()) continue;
    for (Command& one : scripts) {
      if (one.front() != kByHash || one[1] != known.hash) continue;
      one[0] = "EVAL";
      one[1] = known.text;
    }
    known.hash.clear();
    known.sent = 1;
  }
}

/// It has happened, but a failover now might undo it: an outcome that is not known, until it is asked for again.
Error ScriptCalls::unreplicated(const std::string& replicas) const {
  return {ErrorCode::kUnavailable, "confirmed by only " + replicas + " of " + store_ + ": a failover now might undo it",
          "bring the replicas back, then repeat the request with the same --id"};
}

}  // namespace dlock::redis
