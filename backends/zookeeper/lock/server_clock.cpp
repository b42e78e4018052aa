// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/server_clock.h"

#include "backends/zookeeper/lock/names.h"
#include "lib/base/random.h"

namespace dlock::zookeeper {

void ServerClock::move_to_ours(LockState& state, Calls& calls, const std::string& root, TimePoint until,
                               Control* control) {
  if (state.holders.empty() && state.waiters.empty()) return;
  if (calls.clock().now() >= read_again_at_) read(calls, root, until, control);
  if (theirs_) move_to_our_clock(state, *theirs_, asked_, answered_);
}

void ServerClock::read(Calls& calls, const std::string& root, TimePoint until, Control* control) {
  const std::string path = own_directory(root, "clock-" + random_hex(8));
  const Change creation = create_node(path, "", NodeKind::kEphemeral);
  asked_ = calls.clock().wall();
  const auto created = calls.call(ask_creation(creation), until, control);
  answered_ = calls.clock().wall();
  read_again_at_ = calls.clock().now() + std::chrono::minutes(1);
  theirs_.reset();
  if (!created || created->code != Code::kOk) return;
  calls.forget(calls.send(ask_change({delete_node(path)})));
  theirs_ = WallTime(std::chrono::milliseconds(created->changed.front().stat.ctime));
}

}  // namespace dlock::zookeeper
