// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/holder_process.h"

#include <poll.h>

#include <chrono>
#include <utility>

#include "lib/base/human_text.h"
#include "lib/base/process.h"
#include "lib/run/holder_process.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 1s;  ///< most commands end at once when they get TERM

std::string place_text(const Participant& participant) {
  const std::int64_t pid = shown_pid(participant);
  std::string text = pid > 0 ? "pid " + std::to_string(pid) : "";
  if (!participant.host.empty()) text += (text.empty() ? "on " : " on ") + printable(participant.host);
  return text;
}

class Fate {
 public:
  Fate(const char* of_one, const char* of_several) : of_one_(of_one), of_several_(of_several) {}

  void add(const Participant& participant) {
    ++count_;
    if (const std::string place = place_text(participant); !place.empty()) who_ += (who_.empty() ? ": " : ", ") + place;
  }

  std::string line() const {
    if (count_ == 0) return {};
    return std::string(count_ > 1 ? "  the old holders " : "  the old holder ") + (count_ > 1 ? of_several_ : of_one_) +
           who_ + '\n';
  }

 private:
  const char* of_one_;
  const char* of_several_;
  int count_ = 0;
  std::string who_;
};

}  // namespace

OldHolders::OldHolders(const std::vector<Participant>& holders, const Runtime& runtime) : runtime_(runtime) {
  for (const Participant& participant : holders) {
    if (UniqueFd process = process_of_holder(participant, runtime.clock.wall()); process.valid())
      known_.push_back({participant.owner, std::move(process)});
  }
}

const UniqueFd* OldHolders::process_of(const Participant& participant) const {
  for (const Known& one : known_) {
    if (one.owner == participant.owner) return &one.process;
  }
  return nullptr;
}

bool OldHolders::any_lives(const std::vector<Participant>& freed) const {
  for (const Participant& participant : freed) {
    if (const UniqueFd* process = process_of(participant); process != nullptr && !has_ended(*process)) return true;
  }
  return false;
}

std::string OldHolders::fate(const std::vector<Participant>& freed) const {
  const TimePoint until = runtime_.clock.now() + kPatience;
  while (any_lives(freed) && runtime_.clock.now() < until) {
    std::vector<pollfd> lives;
    for (const Known& one : known_) {
      if (!has_ended(one.process)) lives.push_back({one.process.get(), POLLIN, 0});
    }
    runtime_.clock.wait(lives, until);
  }
  Fate ended{"has ended", "have ended"};
  Fate runs{"still runs", "still run"};
  Fate unknown{"may still be running", "may still be running"};
  Fate lease{"is a lease without a process, and what it was taken for may still be running",
             "are leases without a process, and what they were taken for may still be running"};
  for (const Participant& participant : freed) {
    if (!participant.ran.empty() || !is_hold(participant.standing)) continue;  // its command has ended before
    const UniqueFd* process = process_of(participant);
    (participant.lease && shown_pid(participant) == 0 ? lease
     : process == nullptr                             ? unknown
     : has_ended(*process)                            ? ended
                                                      : runs)
        .add(participant);
  }
  return ended.line() + runs.line() + unknown.line() + lease.line();
}

}  // namespace dlock
