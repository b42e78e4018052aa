// SPDX-License-Identifier: Apache-2.0
#include "tests/verify/workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "lib/base/clock.h"
#include "lib/base/process.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// How often the processes are looked at when nothing wakes us.
constexpr Duration kLookEvery = 20ms;

struct Worker {
  int number = 0;
  Dice dice{};
  int round = 0;
  Order order = {};
  std::string section = {};
  StartedProcess run = {};
  std::string said = {};
  bool queued = false;
  TimePoint next{};  ///< when its next round begins
  bool busy() const { return run.pid != 0; }
};

/// Processes that are stopped until then.
struct Stop {
  TimePoint until{};
  Fault fault = Fault::kStopAll;
  std::string section;
  std::vector<ProcessId> stopped;
};

class Driver {
 public:
  Driver(const VerifyPlan& plan, const Abilities& can, const Workshop& workshop, VerifyHistory& history)
      : plan_(plan),
        can_(can),
        faults_(plan_faults(plan)),
        workshop_(workshop),
        history_(history),
        reader_(workshop.history()) {
    for (int i = 0; i < plan.workers; ++i) {
      workers_.push_back({.number = i, .dice = Dice(plan.seed * 1000 + static_cast<std::uint64_t>(i) + 1)});
    }
  }

  Driven run() {
    start_ = progress_ = clock_.now();
    end_ = start_ + plan_.duration;
    while (clock_.now() < end_ || any_busy() || hook_ != 0) {
      const TimePoint now = clock_.now();
      if (now >= end_ && !draining_) drain();
      for (Worker& worker : workers_) {
        if (!worker.busy() && now >= worker.next && !draining_) start_round(worker);
      }
      do_what_is_due(now);
      if (draining_ && is_stuck()) give_up();
      wait_a_little();
    }
    reader_.read_into(history_);
    return std::move(driven_);
  }

 private:
  void note(const std::string& who, Act::What what, std::string words = {}) {
    workshop_.note({clock_.now(), who, what, std::move(words)});
  }
  bool any_busy() const { return std::ranges::any_of(workers_, &Worker::busy); }

  // --- workers ---

  void start_round(Worker& worker) {
    const Order& order = worker.order = next_order(worker.dice, can_, plan_.ttl);
    worker.section = order.key + '.' + std::to_string(worker.number) + '.' + std::to_string(++worker.round);
    auto words = run_words(order, plan_.ttl);
    // What a hook loses is seen by who holds it for longer than that takes, and takes its time to end.
    const Duration hold = hook_ != 0 ? plan_.ttl : order.hold;
    words.insert(words.end(), {"--", std::filesystem::read_symlink("/proc/self/exe"), "section", workshop_.history(),
                               worker.section, ms_word(hold)});
    if (hook_ != 0) words.emplace_back("stubborn");
    note(worker.section, Act::What::kAsk, order.key + ' ' + mode_name(order.mode) + (order.fair ? " fair" : " any"));
    worker.run = workshop_.start(std::move(words));
    worker.said.clear();
    worker.queued = false;
  }

  void listen(Worker& worker) {
    char block[4096];
    ssize_t size = 0;
    while ((size = read(worker.run.said.get(), block, sizeof block)) > 0) {
      worker.said.append(block, static_cast<std::size_t>(size));
    }
    if (worker.queued || !says_that_it_waits(worker.said, worker.order.fair)) return;
    worker.queued = true;
    note(worker.section, Act::What::kQueued);
  }

  void end_round(Worker& worker) {
    listen(worker);
    const int status = reap(worker.run.pid);
    std::string how = status > 128 ? "signal " + std::to_string(status - 128) : "exit " + std::to_string(status);
    if (status != 0 && status <= 128) how += ' ' + last_message(worker.said);
    note(worker.section, Act::What::kGone, how);
    worker.run = {};
    progress_ = clock_.now();
    if (status == 69 || status == 77) worker.next = progress_ + 100ms;  // unreachable: not at once again
  }

  // --- faults ---

  void do_what_is_due(TimePoint now) {
    std::erase_if(stops_, [&](const Stop& stop) {
      if (stop.until > now) return false;
      heal(stop);
      return true;
    });
    reap_hook();
    while (next_fault_ < faults_.size() && now >= start_ + faults_[next_fault_].at && !draining_) {
      const PlannedFault& planned = faults_[next_fault_++];
      if (planned.fault == Fault::kHook) call_hook();
      else hit(planned);
    }
  }

  /// Three times of four a holder, if there is one.
  const Worker* choose(std::uint64_t target) {
    reader_.read_into(history_);
    std::vector<const Worker*> holders;
    std::vector<const Worker*> waiters;
    for (const Worker& worker : workers_) {
      const Section* section = worker.busy() ? history_.find(worker.section) : nullptr;
      if (section && section->hits.empty() && section->holds()) holders.push_back(&worker);
      if (section && section->hits.empty() && section->waits()) waiters.push_back(&worker);
    }
    const auto& from = (target % 4 != 0 && !holders.empty()) || waiters.empty() ? holders : waiters;
    return from.empty() ? nullptr : from[target / 4 % from.size()];
  }

  void hit(const PlannedFault& planned) {
    const Worker* worker = choose(planned.target);
    if (!worker) return;
    const RunFamily family = family_of(worker->run.pid);
    const bool stops = is_stop(planned.fault);
    Fault fault = planned.fault;
    // Without a keeper: a lock of this machine, or not there yet.
    if (family.keeper == 0) fault = stops ? Fault::kStopRun : Fault::kKillRun;
    std::vector<ProcessId> targets;
    const auto aim = [&](pid_t pid) {
      const auto seen = pid > 0 ? look_up_process(pid) : std::nullopt;
      if (seen) targets.push_back(seen->id);
    };
    if (fault != Fault::kKillRun && fault != Fault::kStopRun) aim(family.keeper);
    if (fault != Fault::kKillKeeper && fault != Fault::kStopKeeper) aim(worker->run.pid);
    if (fault == Fault::kStopRun || fault == Fault::kStopAll) aim(family.command);
    note(worker->section, Act::What::kHit, std::string(fault_name(fault)));
    for (const ProcessId& process : targets) signal_process(process, stops ? SIGSTOP : SIGKILL);
    ++driven_.done[fault];
    if (stops) stops_.push_back({clock_.now() + planned.lasts, fault, worker->section, std::move(targets)});
  }

  void heal(const Stop& stop) {
    // Noted before, so that no act can come in front of it.
    note(stop.section, Act::What::kHealed, std::string(fault_name(stop.fault)));
    for (const ProcessId& process : stop.stopped) signal_process(process, SIGCONT);
  }

  void call_hook() {
    if (hook_ != 0) return;
    phase_ = "fault-" + std::to_string(++calls_);
    note("hook", Act::What::kHit, "hook " + phase_);
    hook_ = fork();
    if (hook_ != 0) return;
    setpgid(0, 0);                       // so that all of it can be killed
    dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for the verdict
    execl("/bin/sh", "sh", "-c", (plan_.hook + " \"$@\"").c_str(), "sh", phase_.c_str(), nullptr);
    _exit(127);
  }

  void reap_hook() {
    int status = 0;
    if (hook_ == 0 || waitpid(hook_, &status, WNOHANG) == 0) return;
    hook_ = 0;
    note("hook", Act::What::kHealed);
    ++driven_.done[Fault::kHook];
    if (status != 0) die("the hook failed at " + phase_);
  }

  // --- the end ---

  void drain() {
    draining_ = true;
    progress_ = clock_.now();
    for (const Stop& stop : stops_) heal(stop);
    stops_.clear();
  }

  /// Nobody has got on for longer than everything takes that may hold up all.
  bool is_stuck() const { return clock_.now() - progress_ > 4 * plan_.ttl + 10s; }

  void give_up() {
    for (const Worker& worker : workers_) {
      if (!worker.busy()) continue;
      note(worker.section, Act::What::kHit, "given-up");
      kill(worker.run.pid, SIGKILL);
    }
    if (hook_ > 0) kill(-hook_, SIGKILL);
    progress_ = clock_.now();
  }

  void wait_a_little() {
    std::vector<pollfd> fds;
    std::vector<Worker*> whose;
    for (Worker& worker : workers_) {
      if (!worker.busy()) continue;
      fds.push_back({worker.run.process.get(), POLLIN, 0});
      fds.push_back({worker.run.said.get(), POLLIN, 0});
      whose.push_back(&worker);
    }
    const TimePoint before = clock_.now();
    clock_.wait(fds, before + kLookEvery);
    driven_.late = std::max(driven_.late, clock_.now() - before - kLookEvery);
    for (std::size_t i = 0; i < whose.size(); ++i) {
      const short speaks = fds[2 * i + 1].revents;
      if (fds[2 * i].revents != 0) end_round(*whose[i]);
      else if ((speaks & POLLIN) != 0) listen(*whose[i]);
      else if (speaks != 0) whose[i]->run.said.reset();
    }
  }

  const VerifyPlan& plan_;
  const Abilities can_;
  const std::vector<PlannedFault> faults_;
  const Workshop& workshop_;
  VerifyHistory& history_;
  SystemClock clock_;
  HistoryReader reader_;
  std::vector<Worker> workers_;
  std::vector<Stop> stops_;
  std::size_t next_fault_ = 0;
  pid_t hook_ = 0;
  std::string phase_;
  int calls_ = 0;
  bool draining_ = false;
  TimePoint start_{};
  TimePoint end_{};
  TimePoint progress_{};
  Driven driven_;
};

}  // namespace

Driven drive(const VerifyPlan& plan, const Abilities& can, const Workshop& workshop, VerifyHistory& history) {
  return Driver(plan, can, workshop, history).run();
}

}  // namespace dlock
