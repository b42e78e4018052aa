// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/holder_process.h"

#include <poll.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "cmd/show/contention.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "lib/base/process.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 1s;  ///< most commands end at once when they get TERM

std::string place_text(const Participant& participant) {
  std::string text = participant.pid > 0 ? "pid " + std::to_string(participant.pid) : "";
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

constexpr Duration kClocksDiffer = 1s;  ///< the store's, which says since when, and this machine's

Duration lifetime(const ProcessId& process) {
  timespec since_boot{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return std::chrono::seconds(since_boot.tv_sec) + std::chrono::nanoseconds(since_boot.tv_nsec - started_ns(process));
}

/// The child of `parent` that is not one of dlock's helpers; 0 if it has none.
pid_t command_below(pid_t parent) {
  for (const ProcessId& child : children_of(parent)) {
    const std::string name = read_proc(child.pid, "comm");
    if (name == "dlock.guard\n") return command_below(child.pid);
    if (!name.starts_with("dlock-")) return child.pid;
  }
  return 0;
}

/// The dlock that `participant` is, where that is a living process on this machine: one that is called dlock and is
/// older than the hold. Invalid if it is not, or if that is not known.
UniqueFd process_of_holder(const Participant& participant, WallTime now) {
  if (participant.owner.empty() || participant.pid <= 0 || participant.lease || !participant.since ||
      participant.host != this_process().host)
    return {};
  const auto pid = static_cast<pid_t>(participant.pid);
  UniqueFd process = open_process(pid);
  const auto seen = look_up_process(pid);
  if (!process.valid() || !seen || read_proc(pid, "comm") != "dlock\n") return {};
  if (lifetime(seen->id) + kClocksDiffer < age(*participant.since, now) || has_ended(process)) return {};
  return process;
}

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
  for (const Participant& participant : freed) {
    if (!participant.ran.empty()) continue;  // its command has ended before
    const UniqueFd* process = process_of(participant);
    (process == nullptr ? unknown : has_ended(*process) ? ended : runs).add(participant);
  }
  return ended.line() + runs.line() + unknown.line();
}

std::string holder_text(Participant participant, WallTime now) {
  if (participant.command.empty() || !process_of_holder(participant, now).valid()) return participant_text(participant);
  const pid_t command = command_below(static_cast<pid_t>(participant.pid));
  if (command > 0) participant.pid = command;
  return participant_text(participant);
}

}  // namespace dlock
