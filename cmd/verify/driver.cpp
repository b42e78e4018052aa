// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/driver.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "cmd/verify/hook.h"
#include "cmd/verify/stocktaking.h"
#include "lib/base/human_text.h"
#include "lib/base/process.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// How often the processes are looked at when nothing wakes us.
constexpr Duration kLookEvery = 20ms;
constexpr int kLongWorker = 1;  ///< the only one whose leases are long; not one of those behind the proxy
constexpr Duration kShowEvery = 500ms;

struct Worker {
  int number = 0;
  Dice dice{0};
  int round = 0;
  Order order = {};
  std::string section = {};
  SandboxProcess run = {};
  std::string said = {};
  bool queued = false;
  TimePoint next{};  ///< when its next round begins
  bool busy() const { return run.pid != 0; }
};

/// Something that goes on until it is healed.
struct Ongoing {
  TimePoint until{};
  Fault fault = Fault::kKillRun;
  std::string section;
  std::vector<ProcessId> stopped;
};

class Driver {
 public:
  Driver(const VerifyPlan& plan, const Sandbox& sandbox, const Proxy* network, Clock& clock, SignalInbox& signals,
         TerminalLine* line)
      : plan_(plan),
        sandbox_(sandbox),
        network_(network),
        clock_(clock),
        signals_(signals),
        line_(line),
        reader_(sandbox.history()),
        hook_(plan.hook) {
    for (int i = 0; i < plan.workers; ++i) {
      workers_.push_back({.number = i, .dice = Dice(plan.seed * 1000 + static_cast<std::uint64_t>(i) + 1)});
    }
  }

  Driven run() {
    start_ = clock_.now();
    end_ = start_ + plan_.duration;
    progress_ = start_;
    for (Worker& worker : workers_) plan_round(worker);
    while (clock_.now() < end_ || any_busy() || hook_.is_at_work() || revoker_.pid != 0) {
      const TimePoint now = clock_.now();
      if (now >= end_ && !draining_) drain();
      for (Worker& worker : workers_) {
        if (!worker.busy() && now >= worker.next && !draining_) start_round(worker);
      }
      do_what_is_due(now);
      if (draining_ && is_stuck()) give_up();
      if (line_) show_progress(now);
      wait_a_little();
    }
    if (line_) line_->wipe();
    heal_all();
    return std::move(driven_);
  }

 private:
  Act act(std::string who, Act::What what, std::string words = {}) const {
    return {clock_.now(), std::move(who), what, std::move(words)};
  }
  void note(const Act& act) {
    if (auto noted = sandbox_.note(act); !noted) end_without_verdict(noted.error());
  }
  bool any_busy() const {
    return std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.busy(); });
  }

  void show_progress(TimePoint now) {
    if (now < next_line_) return;
    next_line_ = now + kShowEvery;
    int faults = 0;
    for (const auto& [fault, count] : driven_.done) faults += count;
    line_->draw((draining_ ? "the last runs end, " : human_duration(now - start_) + " of ") +
                human_duration(plan_.duration) + ": " + std::to_string(runs_) + " runs, " + std::to_string(faults) +
                " faults");
  }

  // --- workers ---

  void plan_round(Worker& worker) {
    worker.order = next_order(worker.dice, plan_.can, plan_.ttl);
    worker.next = clock_.now() + worker.order.pause;
  }

  void start_round(Worker& worker) {
    Order& order = worker.order;
    const bool proxied = !plan_.proxied.empty() && worker.number % 2 == 0;
    // What an outage leaves taken is free soon; and of locks that a store does not release, one at a time is for long.
    if (proxied || hook_.is_at_work() || worker.number != kLongWorker) order.ttl = plan_.ttl;
    worker.section = order.key + '.' + std::to_string(worker.number) + '.' + std::to_string(++worker.round);
    const std::string& url = proxied ? plan_.proxied : plan_.direct;
    auto words = order.key == "s" ? selling_words(worker.section, url, plan_.ttl) : run_words(order, url);
    // What a hook loses is seen by who holds it for longer than that takes, and takes its time to end.
    const bool stubborn = hook_.is_at_work() || order.stubborn;
    const Duration hold = hook_.is_at_work() ? order.long_hold : order.hold;
    words.insert(words.end(),
                 {"--", sandbox_.program(), "__section", sandbox_.history(), worker.section, ms_word(hold)});
    if (stubborn) words.emplace_back("stubborn");
    note(act(worker.section, Act::What::kAsk, ask_words(order, proxied)));
    auto started = sandbox_.start(words);
    if (!started) {
      note(act(worker.section, Act::What::kGone, "exit 71 " + started.error().message));
      worker.next = clock_.now() + 100ms;
      return;
    }
    worker.run = std::move(*started);
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
    note(act(worker.section, Act::What::kQueued));
  }

  void end_round(Worker& worker) {
    listen(worker);
    const int status = reap(worker.run.pid);
    if (status == kHistoryFull) {
      end_without_verdict({ErrorCode::kSystem, "a worker cannot write " + sandbox_.history(),
                           "there must be room for it: ulimit -f, the disk of $TMPDIR"});
    }
    std::string how = status > 128 ? "signal " + std::to_string(status - 128) : "exit " + std::to_string(status);
    if (status != 0 && status <= 128) how += ' ' + last_message(worker.said);
    note(act(worker.section, Act::What::kGone, how));
    worker.run = {};
    ++runs_;
    progress_ = clock_.now();
    plan_round(worker);
    if (status == 69 || status == 77) worker.next += 100ms;  // unreachable: not at once again
  }

  // --- faults ---

  void do_what_is_due(TimePoint now) {
    for (auto it = ongoing_.begin(); it != ongoing_.end();) {
      if (it->until > now) {
        ++it;
        continue;
      }
      heal(*it);
      it = ongoing_.erase(it);
    }
    reap_hook();
    reap_revoker();
    while (next_fault_ < plan_.faults.size() && now >= start_ + plan_.faults[next_fault_].at && !draining_) {
      const PlannedFault& planned = plan_.faults[next_fault_++];
      if (planned.fault == Fault::kHook) call_hook();
      else if (planned.fault == Fault::kRevoke) ask_back(planned);
      else if (is_of_network(planned.fault)) disturb(planned);
      else hit(planned);
    }
  }

  void disturb(const PlannedFault& planned) {
    note(act("net", Act::What::kHit, std::string(fault_name(planned.fault))));
    network_->start(planned);
    ++driven_.done[planned.fault];
    // A cut is over when its message came; it is given a moment.
    const Duration lasts = planned.fault == Fault::kCut ? Duration(200ms) : planned.lasts;
    ongoing_.push_back({clock_.now() + lasts, planned.fault, "net", {}});
  }

  /// Three times of four a holder, and one for whom somebody waits, if there is one.
  const Worker* choose(std::uint64_t target) {
    reader_.read_into(history_);
    std::vector<const Worker*> holders;
    std::vector<const Worker*> wanted;
    std::vector<const Worker*> waiters;
    for (const Worker& worker : workers_) {
      const Section* section = worker.busy() ? history_.find(worker.section) : nullptr;
      if (!section || !section->hits.empty()) continue;
      if (section->waits()) waiters.push_back(&worker);
      if (!section->holds()) continue;
      holders.push_back(&worker);
      if (section->mode == Mode::kExclusive && is_wanted(section->key)) wanted.push_back(&worker);
    }
    if (!wanted.empty()) holders = std::move(wanted);
    const auto& from = (target % 4 != 0 && !holders.empty()) || waiters.empty() ? holders : waiters;
    return from.empty() ? nullptr : from[target / 4 % from.size()];
  }

  bool is_wanted(const std::string& key) const {
    return std::any_of(workers_.begin(), workers_.end(), [&](const Worker& worker) {
      const Section* section = worker.busy() && worker.queued ? history_.find(worker.section) : nullptr;
      return section && section->waits() && section->key == key;
    });
  }

  void hit(const PlannedFault& planned) {
    const Worker* worker = choose(planned.target);
    if (!worker) {
      ++driven_.missed;
      return;
    }
    const RunFamily family = family_of(worker->run.pid);
    Fault fault = planned.fault;
    const bool is_long = worker->order.ttl > plan_.ttl;  // without its keeper, its lock would be taken for too long
    if (family.keeper == 0 || is_long) {                 // a lock of this machine, or not there yet
      fault = fault_family(fault) == "kill" ? Fault::kKillRun : Fault::kStopRun;
    }
    const bool stops = fault_family(fault) == "stop";
    std::vector<ProcessId> targets;
    const auto aim = [&](pid_t pid) {
      const auto seen = pid > 0 ? look_up_process(pid) : std::nullopt;
      if (seen) targets.push_back(seen->id);
    };
    if (fault != Fault::kKillRun && fault != Fault::kStopRun) aim(family.keeper);
    if (fault != Fault::kKillKeeper && fault != Fault::kStopKeeper) aim(worker->run.pid);
    if (fault == Fault::kStopRun || fault == Fault::kStopAll) aim(family.command);
    note(act(worker->section, Act::What::kHit, std::string(fault_name(fault))));
    for (const ProcessId& process : targets) signal_process(process, stops ? SIGSTOP : SIGKILL);
    ++driven_.done[fault];
    if (stops) ongoing_.push_back({clock_.now() + planned.lasts, fault, worker->section, std::move(targets)});
  }

  /// Whoever holds that key when the word comes. What --at-least keeps is left alone.
  void ask_back(const PlannedFault& planned) {
    const Worker* worker = choose(planned.target | 1);
    const std::string key = worker ? worker->order.key : "s";
    auto started = revoker_.pid != 0 || key == "s" || key == "a"
                       ? Result<SandboxProcess>(Error{})
                       : sandbox_.start({"revoke", "-n", "-q", "--backend", plan_.direct, kVerifyPrefix + key});
    if (!started) {
      ++driven_.missed;
      return;
    }
    note(act("revoke", Act::What::kHit, key));
    revoker_ = std::move(*started);
    ++driven_.done[Fault::kRevoke];
  }

  void reap_revoker() {
    int status = 0;
    if (revoker_.pid == 0 || waitpid(revoker_.pid, &status, WNOHANG) == 0) return;
    note(act("revoke", Act::What::kHealed));
    revoker_ = {};
  }

  void heal(const Ongoing& one) {
    // Noted before, so that no act can come in front of it.
    note(act(one.section, Act::What::kHealed, std::string(fault_name(one.fault))));
    for (const ProcessId& process : one.stopped) signal_process(process, SIGCONT);
    if (is_of_network(one.fault)) network_->heal();
  }

  void heal_all() {
    for (const Ongoing& one : ongoing_) heal(one);
    ongoing_.clear();
  }

  // --- the hook ---

  void call_hook() {
    if (hook_.is_at_work()) return;
    hook_.next_phase();
    note(act("hook", Act::What::kHit, "hook " + hook_.phase()));
    if (const auto begun = hook_.call(); !begun) note_end_of_hook(begun);
  }

  void reap_hook() {
    if (const auto ended = hook_.reap()) note_end_of_hook(*ended);
  }

  void note_end_of_hook(const Result<void>& end) {
    note(act("hook", Act::What::kHealed));
    if (end) ++driven_.done[Fault::kHook];
    else if (end.error().code == ErrorCode::kMisconfigured) end_without_verdict(end.error());
    else driven_.hooks_failed.push_back(end.error().message);
  }

  // --- the end ---

  void end_without_verdict(Error why) {
    if (!driven_.failure) driven_.failure = std::move(why);
    end_ = std::min(end_, clock_.now());
  }

  void drain() {
    draining_ = true;
    progress_ = clock_.now();
    heal_all();
  }

  /// Nobody has got on for longer than everything takes that may hold up all.
  bool is_stuck() {
    const std::size_t before = history_.lines();
    reader_.read_into(history_);
    if (history_.lines() != before) progress_ = clock_.now();
    return clock_.now() - progress_ > 4 * plan_.ttl + 10s;
  }

  void give_up() {
    for (const Worker& worker : workers_) {
      if (!worker.busy()) continue;
      note(act(worker.section, Act::What::kHit, "given-up"));
      kill(worker.run.pid, SIGKILL);
    }
    hook_.kill();
    progress_ = clock_.now();
  }

  void wait_a_little() {
    std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
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
    while (const auto signal = signals_.next()) {
      if (!is_an_end(signal->number)) continue;
      if (driven_.interrupted != 0) die_of(signal->number);
      driven_.interrupted = signal->number;
      end_ = std::min(end_, clock_.now());
    }
    for (std::size_t i = 0; i < whose.size(); ++i) {
      const short ended = fds[1 + 2 * i].revents;
      const short speaks = fds[2 + 2 * i].revents;
      if (ended != 0) end_round(*whose[i]);
      else if ((speaks & POLLIN) != 0) listen(*whose[i]);
      else if (speaks != 0) whose[i]->run.said.reset();
    }
  }

  const VerifyPlan& plan_;
  const Sandbox& sandbox_;
  const Proxy* network_;
  Clock& clock_;
  SignalInbox& signals_;
  TerminalLine* const line_;
  HistoryReader reader_;
  VerifyHistory history_;
  std::vector<Worker> workers_;
  std::vector<Ongoing> ongoing_;
  std::size_t next_fault_ = 0;
  SandboxProcess revoker_ = {};
  Hook hook_;
  bool draining_ = false;
  TimePoint start_{};
  TimePoint end_{};
  TimePoint progress_{};
  TimePoint next_line_{};
  int runs_ = 0;  ///< that have ended
  Driven driven_;
};

}  // namespace

Driven drive(const VerifyPlan& plan, const Sandbox& sandbox, const Proxy* network, Clock& clock, SignalInbox& signals,
             TerminalLine* line) {
  return Driver(plan, sandbox, network, clock, signals, line).run();
}

}  // namespace dlock
