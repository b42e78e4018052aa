// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/wake_channel.h"

#include <algorithm>

#include "backends/redis/wire/connections.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr const char* kChanges = "__redis__:invalidate";

/// How many changes in a second are heard at once, and how long each further one may wait.
constexpr int kManyChanges = 32;
constexpr Duration kChangesPause = 50ms;

/// Not a message to this waiter or holder: a key that was looked at has changed, or the server has forgotten that it
/// was.
bool tells_change(const Reply& reply) { return reply.elements.size() > 1 && reply.elements[1].text == kChanges; }

/// The pauses after the second, third, ... change that was nothing, and after what time without one they begin anew.
constexpr Duration kFirstNothingPause = 250ms;
constexpr Duration kLongestNothingPause = 1s;
constexpr Duration kNothingInARow = 3s;

}  // namespace

bool WakeChannel::open(const Connection& main, const std::string& channel, TimePoint until, Control* control,
                       bool sharded) {
  id_.clear();
  connection_ = std::make_unique<Connection>(main.settings());
  const auto replies =
      exchange(*connection_, {{"CLIENT", "ID"}, {"SUBSCRIBE", channel}}, clock_, until, until, control);
  if (!replies || (*replies)[1].is_error()) {
    close();
    return false;
  }
  if (sharded && !exchange(*connection_, {{"SSUBSCRIBE", channel}}, clock_, until, until, control)) {
    close();
    return false;
  }
  // A server that refuses the second channel still announces releases.
  if ((*replies)[0].kind == Reply::Kind::kInteger) {
    const auto more = exchange(*connection_, {{"SUBSCRIBE", kChanges}}, clock_, until, until, control);
    if (!more) {
      close();
      return false;
    }
    if (!more->front().is_error()) id_ = std::to_string((*replies)[0].integer);
  }
  return true;
}

Command WakeChannel::tracking(bool all_reads) const {
  Command command{"CLIENT", "TRACKING", "ON", "REDIRECT", id_.empty() ? "0" : id_};
  command.push_back(all_reads ? "NOLOOP" : "OPTIN");
  return command;
}

void WakeChannel::add_interest(std::vector<pollfd>& fds) const {
  if (is_open() && !pauses_until_) connection_->add_interest(fds);
}

bool WakeChannel::heard(TimePoint now) {
  if (!is_open() || (pauses_until_ && now < *pauses_until_)) return false;
  pauses_until_.reset();
  if (const auto moved = connection_->advance(now); !moved) {
    close();
    return true;  // missed messages are made good by looking
  }
  bool changed = false;
  bool told = false;
  while (const auto reply = connection_->next_reply()) (tells_change(*reply) ? changed : told) = true;
  if (changed && !told) note_change(now);
  return changed || told;
}

/// A second look at a key makes a server whose table of tracked keys is full forget another one, and say so.
void WakeChannel::note_change(TimePoint now) {
  if (now >= changes_since_ + 1s) {
    changes_since_ = now;
    changes_ = 0;
  }
  if (++changes_ > kManyChanges) pauses_until_ = now + kChangesPause;
}

void WakeChannel::was_nothing(TimePoint now) {
  if (now >= nothing_at_ + kNothingInARow) nothing_pause_ = Duration(0);
  nothing_at_ = now;
  if (nothing_pause_ > Duration(0)) pauses_until_ = now + nothing_pause_;
  nothing_pause_ = std::clamp<Duration>(nothing_pause_ * 2, kFirstNothingPause, kLongestNothingPause);
}

}  // namespace dlock::redis
