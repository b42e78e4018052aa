// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/holder.h"

#include <doctest/doctest.h>

namespace holder_test {

using namespace dlock;
using namespace std::chrono_literals;

TEST_CASE(
    "beside the command's name stands the command's process where it is known, in JSON that of its dlock as well") {
  Participant holder;
  holder.owner = "o";
  holder.host = "ci-4";
  holder.command = "deploy.sh";
  holder.pid = 8812;
  CHECK(participant_text(holder) == "ci-4 (deploy.sh, dlock pid 8812)");
  holder.command_pid = 8815;
  CHECK(participant_text(holder) == "ci-4 (deploy.sh, pid 8815)");
  JsonWriter json;
  put_participant(json, holder);
  CHECK(json.str().find(R"("command_pid":8815,"pid":8812)") != std::string::npos);
  std::vector<Participant> later{holder};
  later.front().command_pid = 0;
  keep_commands(later, {holder});
  CHECK(later.front().command_pid == 8815);
  later.front().token = FencingToken(9);  // another hold
  later.front().command_pid = 0;
  keep_commands(later, {holder});
  CHECK(later.front().command_pid == 0);
}

TEST_CASE("a duration of a holder is in ms in JSON, and says so") {
  Participant holder;
  JsonWriter none;
  put_participant(none, holder);
  CHECK(none.str().find("at_least") == std::string::npos);
  holder.at_least = 20s;
  JsonWriter json;
  put_participant(json, holder);
  CHECK(json.str().find(R"("at_least_ms":20000)") != std::string::npos);
}

TEST_CASE("the times of a store are moved to our clock, unless the two agree as far as anybody can tell") {
  struct Row {
    const char* what;
    std::chrono::milliseconds behind;  ///< the store's clock
    std::chrono::milliseconds took;    ///< to be told
    std::chrono::milliseconds moved;
  };
  const WallTime now(1'800'000'000s);
  for (const Row& row :
       {Row{"the same", 0s, 0s, 0s}, Row{"less than a second", 900ms, 0s, 0s}, Row{"behind", 600s, 0s, 600s},
        Row{"ahead", -600s, 0s, -600s}, Row{"whole seconds", 600s + 400ms, 0s, 600s}, Row{"a slow answer", 4s, 4s, 0s},
        Row{"behind, and a slow answer", 602s, 4s, 600s}}) {
    CAPTURE(row.what);
    LockState state{*LockName::parse("k"), "redis://h", Mode::kExclusive, 0, {}, {}};
    Participant participant;
    participant.since = now - 60s;
    state.holders.push_back(participant);
    participant.since.reset();
    participant.until = now + 30s;
    state.waiters.push_back(participant);
    CHECK(move_to_our_clock(state, now - row.behind, now - row.took, now) == row.moved);
    CHECK(state.holders.front().since == now - 60s + row.moved);
    CHECK_FALSE(state.holders.front().until);
    CHECK(state.waiters.front().until == now + 30s + row.moved);
  }
}

}  // namespace holder_test
