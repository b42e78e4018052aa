// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/key_watch.h"

#include <algorithm>

namespace dlock::redis {

KeyWatch::KeyWatch(ServerGroup& group, NativeNames names, std::string owner, Clock& clock)
    : group_(group), names_(std::move(names)), owner_(std::move(owner)), clock_(clock) {
  for (std::size_t i = 0; i < group_.size(); ++i) watches_.push_back({WakeChannel(clock_)});
}

bool KeyWatch::is_due(std::size_t server) const {
  const Watch& watch = watches_[server];
  if (group_.at(server).is_closed()) return false;
  return watch.connection != group_.connection(server) || (watch.tries && !watch.channel.is_open());
}

void KeyWatch::begin(TimePoint at) {
  bool any = false;
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    watches_[i].tries = watches_[i].deafness.tries();
    any = any || is_due(i);
  }
  if (any) opens_at_ = at;
}

std::optional<TimePoint> KeyWatch::wake_at() const {
  std::optional<TimePoint> at = opens_at_;
  for (const Watch& watch : watches_) at = earlier(at, watch.channel.wake_at());
  return at;
}

void KeyWatch::add_interest(std::vector<pollfd>& fds) const {
  for (const Watch& watch : watches_) watch.channel.add_interest(fds);
}

/// Each server has its share of the time, and one that is silent takes no more.
void KeyWatch::open(TimePoint until) {
  std::vector<std::vector<Command>> commands(group_.size());
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    if (!is_due(i)) continue;
    Watch& watch = watches_[i];
    const TimePoint now = clock_.now();
    const TimePoint by = now + (until - now) / static_cast<int>(watches_.size() - i + 1);
    if (watch.connection != group_.connection(i)) watch.deafness.over();
    watch.connection = group_.connection(i);
    if (watch.channel.open(group_.at(i), names_.wake + owner_, by, nullptr))
      commands[i] = {watch.channel.tracking(true), {"PTTL", names_.key}};
    else watch.deafness.failed();
  }
  const auto answers = group_.ask(commands, until, nullptr, [](const auto&) { return std::nullopt; });
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    if (!answers[i].asked) continue;
    const bool told =
        answers[i].has_replies() && !answers[i].replies[0].is_error() && !answers[i].replies[1].is_error();
    if (told) {
      watches_[i].deafness.over();
    } else {
      watches_[i].deafness.failed();
      watches_[i].channel.close();
    }
  }
}

std::optional<std::string> KeyWatch::heard(TimePoint now, Duration budget) {
  if (opens_at_ && now >= *opens_at_) {
    opens_at_.reset();
    open(now + budget);
  }
  std::optional<std::string> server;
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    if (!watches_[i].channel.heard(now)) continue;
    watches_[i].told = true;
    server = group_.name(i);
  }
  return server;
}

void KeyWatch::was_nothing(TimePoint now) {
  for (Watch& watch : watches_) {
    if (watch.told) watch.channel.was_nothing(now);
    watch.told = false;
  }
}

}  // namespace dlock::redis
