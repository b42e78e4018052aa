// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/server_group.h"

#include <algorithm>
#include <utility>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/wire/connections.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

/// A server that has been silent for this long, or for this many commands, is connected to again.
constexpr Duration kLongestSilence = 30s;
constexpr std::size_t kMostOnTheWay = 256;
/// Time for a server that was silent before, in case it has come back.
constexpr Duration kForTheSilent = 100ms;

bool all_done(const ServerGroup::Answers& answers) {
  return std::none_of(answers.begin(), answers.end(), [](const auto& answer) { return answer.is_open(); });
}

}  // namespace

ServerGroup::ServerGroup(std::vector<ConnectionSettings> settings, Clock& clock, Duration connect_timeout)
    : clock_(clock), connect_timeout_(std::max<Duration>(connect_timeout, 100ms)) {
  for (ConnectionSettings& one : settings) {
    servers_.emplace_back().connection = std::make_unique<Connection>(std::move(one));
  }
}

void ServerGroup::refresh() {
  const TimePoint now = clock_.now();
  for (Server& server : servers_) {
    advance(server, nullptr);
    const bool silent = !server.on_the_way.empty() && (now - server.on_the_way.front().second > kLongestSilence ||
                                                       server.on_the_way.size() > kMostOnTheWay);
    if (silent) {
      server.connection->close();
      server.on_the_way.clear();
      server.failed.reset();
    }
    if (!server.connection->is_closed()) continue;
    server.connection->open(now + connect_timeout_);
    server.answered = false;
  }
}

ServerGroup::Answers ServerGroup::send(const std::vector<std::vector<Command>>& commands) {
  refresh();
  ++round_;
  Answers answers(servers_.size());
  const TimePoint now = clock_.now();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& server = servers_[i];
    answers[i].asked = !commands[i].empty();
    answers[i].sent = now;
    if (!answers[i].asked) continue;
    for (const Command& command : commands[i]) {
      server.connection->send(command);
      server.on_the_way.emplace_back(round_, now);
    }
  }
  return answers;
}

void ServerGroup::collect(Server& server, Answer* answer, std::size_t expected) {
  while (auto reply = server.connection->next_reply()) {
    server.answered = true;
    if (server.on_the_way.empty()) return;
    const int round = server.on_the_way.front().first;
    server.on_the_way.pop_front();
    if (answer == nullptr || answer->done || round != round_) continue;
    answer->replies.push_back(std::move(*reply));
    if (answer->replies.size() < expected) continue;
    answer->done = true;
    answer->received = clock_.now();
  }
}

void ServerGroup::advance(Server& server, Answer* answer) {
  if (server.connection->is_closed()) return;
  const std::size_t expected =
      static_cast<std::size_t>(std::count_if(server.on_the_way.begin(), server.on_the_way.end(),
                                             [this](const auto& one) { return one.first == round_; })) +
      (answer == nullptr ? 0 : answer->replies.size());
  const auto advanced = server.connection->advance(clock_.now());
  collect(server, answer, expected);
  if (advanced) return;
  server.connection->close();
  server.on_the_way.clear();
  server.failed = advanced.error();
  if (answer == nullptr || !answer->is_open()) return;
  answer->done = true;
  answer->error = advanced.error();
}

/// All others have answered, and they are a majority.
bool ServerGroup::only_silent_ones_are_open(const Answers& answers) const {
  std::size_t answered = 0;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (answers[i].has_replies()) ++answered;
    if (!answers[i].is_open()) continue;
    const auto& owed = servers_[i].on_the_way;
    if (owed.empty() || owed.front().first == round_) return false;
  }
  return answered > servers_.size() / 2;
}

ServerGroup::Answers ServerGroup::ask(const std::vector<std::vector<Command>>& commands, TimePoint until,
                                      Control* control, const Enough& enough) {
  Answers answers = send(commands);
  bool is_enough = false;
  for (;;) {
    for (std::size_t i = 0; i < servers_.size(); ++i) advance(servers_[i], &answers[i]);
    auto grace = is_enough ? std::nullopt : enough(answers);
    if (!is_enough && !grace && waits_once_ && only_silent_ones_are_open(answers)) grace = kForTheSilent;
    if (grace) {
      is_enough = true;
      until = std::min(until, clock_.now() + *grace);
    }
    const bool stopped = control != nullptr && control->stop_requested();
    if (all_done(answers) || stopped || clock_.now() >= until) {
      explain(answers);
      return answers;
    }
    std::vector<pollfd> fds;
    std::optional<TimePoint> wake = until;
    if (control != nullptr) control->add_interest(fds);
    for (const Server& server : servers_) {
      if (server.connection->is_closed()) continue;
      server.connection->add_interest(fds);
      wake = earlier(wake, server.connection->wake_at());
    }
    clock_.wait(fds, wake);
  }
}

/// A server that is not even connected when the round is over was not reached, for the reason of the attempt before.
void ServerGroup::explain(Answers& answers) const {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (!answers[i].is_open() || servers_[i].connection->is_ready() || !servers_[i].failed) continue;
    answers[i].done = true;
    answers[i].error = servers_[i].failed;
  }
}

void ServerGroup::tell(const std::vector<std::vector<Command>>& commands) {
  send(commands);
  for (Server& server : servers_) advance(server, nullptr);
}

void ServerGroup::add_interest(std::vector<pollfd>& fds) const {
  for (const Server& server : servers_) {
    if (server.connection->is_ready()) server.connection->add_interest(fds);
  }
}

std::optional<std::string> ServerGroup::ended() {
  std::optional<std::string> why;
  for (Server& server : servers_) {
    if (!server.connection->is_ready()) continue;
    advance(server, nullptr);
    if (server.connection->is_closed() && server.answered && server.failed && !why) why = server.failed->message;
  }
  return why;
}

std::string ServerGroup::reasons(const Answers& answers) const {
  std::string text;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].asked || answers[i].has_replies()) continue;
    if (!text.empty()) text.append("; ");
    const std::string why = answers[i].error ? answers[i].error->message : "no answer in time";
    if (why.find(name(i)) == std::string::npos) text.append(name(i)).append(": ");
    text.append(why);
  }
  return text;
}

Result<std::vector<ConnectionSettings>> group_settings(const BackendUrl& url, Greet greet) {
  std::vector<ConnectionSettings> all;
  for (const Endpoint& endpoint : endpoints(url)) {
    TRY_ASSIGN(auto settings, connection_settings(url, endpoint, greet));
    all.push_back(std::move(settings));
  }
  return all;
}

}  // namespace dlock::redis
