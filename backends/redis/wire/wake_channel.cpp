// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/wake_channel.h"

namespace dlock::redis {

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
  // A server that refuses the second channel still tells of releases.
  if ((*replies)[0].kind == Reply::Kind::kInteger) {
    const auto more = exchange(*connection_, {{"SUBSCRIBE", "__redis__:invalidate"}}, clock_, until, until, control);
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
  if (is_open()) connection_->add_interest(fds);
}

bool WakeChannel::heard(TimePoint now) {
  if (!is_open()) return false;
  if (const auto moved = connection_->advance(now); !moved) {
    close();
    return true;  // what was missed is found out by looking
  }
  bool heard = false;
  while (connection_->next_reply()) heard = true;
  return heard;
}

}  // namespace dlock::redis
