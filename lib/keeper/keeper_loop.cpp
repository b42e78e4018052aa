// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/keeper_loop.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "lib/keeper/keeper_session.h"
#include "lib/keeper/orphans.h"
#include "lib/keeper/renewal_schedule.h"
#include "lib/keeper/supervisor_link.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr int kStatusNonsense = 70;
/// Less than the supervisor waits for the answer to a detach.
constexpr Duration kLeaveBudget = 4s;
/// For giving back when nobody waits for the answer. A lease is asked about until it has ended.
constexpr Duration kLoneReleaseBudget = 10s;
constexpr Duration kLateReleaseBudget = 1s;
/// For the next holder to get on its way, after the supervisor has ended.
constexpr Duration kAfterYou = 5ms;
constexpr Duration kFarewell = kLastWordToEnd - kAfterYou;

/// One lock, from acquire to the end. Single-threaded: every wait, the lock's own included, polls the link as well.
class Keeping {
 public:
  Keeping(SupervisorLink& link, KeptLock& lock, const LockSpec& spec, Clock& clock, Processes& processes)
      : link_(link), lock_(lock), spec_(spec), clock_(clock), processes_(processes), schedule_(spec, TimePoint(), {}) {}

  void run();

 private:
  void hold();
  void give_back(TimePoint until);
  void withdraw(TimePoint until);
  void detach(const SupervisorLink::Detach& detach);
  void leave(Duration ttl);
  void watch(pid_t pid);
  void end_orphans();
  void give_back_alone(bool orderly = true);

  bool stay_owner(std::optional<TimePoint> limit = {});
  bool take(const Renewal& answer, TimePoint began, bool asked);
  bool lose(const std::string& why);
  void wait(const std::vector<pollfd>& others = {}, std::optional<TimePoint> until = {});
  void answer_end(const Result<void>& result);

  SupervisorLink& link_;
  KeptLock& lock_;
  const LockSpec& spec_;
  Clock& clock_;
  Processes& processes_;
  RenewalSchedule schedule_;
  bool holds_ = false;       ///< false for a spec that takes nothing
  bool news_ = false;        ///< the store has said something
  std::string trouble_;      ///< why the last renewal was not confirmed
  bool store_lost_ = false;  ///< the store itself said that it is not ours
  std::string owner_;        ///< whose marks the command's processes bear; empty: an outer hold's, which are not ours
  bool asked_ = false;       ///< somebody wants it; the supervisor has been told, and ends its command
  bool started_ = false;
  ProcessId command_;  ///< {} as well if it had ended before we looked
};

void Keeping::run() {
  auto answer = lock_.acquire(link_);
  if (!answer) {
    link_.tell(Withdrawn{});
    return;
  }
  if (const auto* refused = std::get_if<Refused>(&*answer)) {
    link_.tell(*refused);
    return;
  }
  const Granted& granted = *std::get_if<Granted>(&*answer);
  holds_ = !granted.locks.empty();
  if (holds_ && !granted.locks.front().reentered) owner_ = granted.locks.front().owner.text();
  schedule_ = RenewalSchedule(spec_, clock_.now(), granted.deadline);
  if (!link_.stop_requested()) link_.tell(granted);
  hold();
}

void Keeping::hold() {
  while (true) {
    link_.receive();
    if (const auto pid = link_.take_started()) {
      started_ = true;
      command_ = processes_.command(*pid, owner_);
    }
    if (const auto status = link_.take_ended()) lock_.command_ended(*status);
    if (const auto until = link_.withdraw_by()) return withdraw(*until);
    if (const auto until = link_.release_by()) return give_back(*until);
    if (const auto spec = link_.detach()) return detach(*spec);
    if (link_.gone()) return end_orphans();
    if (!stay_owner()) return;
    if (!link_.has_news()) wait();
  }
}

/// A withdraw that crossed the grant.
void Keeping::withdraw(TimePoint until) {
  if (holds_) (void)lock_.release(until);  // not confirmed: it leaves by itself
  link_.tell(Withdrawn{});
}

void Keeping::give_back(TimePoint until) { answer_end(holds_ ? lock_.release(until) : Result<void>()); }

void Keeping::answer_end(const Result<void>& result) {
  if (result) link_.tell(Released{});
  else if (result.error().code == ErrorCode::kLost) link_.tell(Lost{result.error().message});
  else link_.tell(ReleaseUnconfirmed{result.error()});
}

void Keeping::detach(const SupervisorLink::Detach& detach) {
  if (detach.watch_pid) watch(*detach.watch_pid);
  else answer_end(lock_.leave(detach.ttl, clock_.now() + kLeaveBudget));
  processes_.close_streams();  // whatever the lock still has to do, nobody waits for it
}

/// Goes on without a supervisor, for as long as that process lives.
void Keeping::watch(pid_t pid) {
  const auto watched = processes_.watch(pid);
  if (!watched || !watched->valid()) {
    const Error gone{ErrorCode::kInvalid, "there is no process " + std::to_string(pid) + " to watch"};
    link_.tell(ReleaseUnconfirmed{watched ? gone : watched.error()});
    link_.hang_up();
    return give_back_alone();
  }
  processes_.close_streams();
  link_.tell(Released{});
  link_.hang_up();
  while (!has_ended(*watched)) {
    if (!stay_owner()) return;
    wait({{watched->get(), POLLIN, 0}});
  }
  give_back_alone();
}

void Keeping::end_orphans() {
  link_.hang_up();
  processes_.close_streams();
  if (!started_) return give_back_alone(asked_);
  // Who was asked for the lock has hung up as well, and ends its command by itself, or lets it go on.
  const auto kill_after = asked_ ? std::nullopt : std::optional(spec_.kill_after);
  Orphans orphans(processes_, command_, owner_, clock_.now(), kill_after);
  bool ours = true;
  while (true) {
    const TimePoint now = clock_.now();
    const auto deadline = schedule_.deadline();
    auto last = deadline ? std::optional(kill_at(*deadline, spec_.ttl)) : std::nullopt;
    if (!ours) last = now;
    orphans.step(now, last);
    if (orphans.gone()) break;
    // A server that does not answer must not keep the KILL from its time.
    const auto kills_at = orphans.kills_at(last);
    ours = ours && stay_owner(kills_at && *kills_at > now ? kills_at : std::nullopt);
    std::vector<pollfd> ends;
    orphans.add_interest(ends);
    if (ours) wait(ends, orphans.wake_at(last));
    else clock_.wait(ends, orphans.wake_at(last));
  }
  give_back_alone(asked_);
}

/// A lease that has run down unconfirmed may still be there: it is asked about as well. `orderly`: the end that was
/// wanted; after another one the lock-delay runs.
void Keeping::give_back_alone(bool orderly) {
  if (!holds_ || store_lost_) return;
  const TimePoint now = clock_.now();
  const TimePoint until = std::max(schedule_.deadline().value_or(now + kLoneReleaseBudget), now + kLateReleaseBudget);
  // Nobody is there to be told.
  if (!orderly && spec_.lock_delay > Duration(0)) (void)lock_.leave(Duration(0), until);
  else (void)lock_.release(until);
}

/// Looks at the clock, renews what is due, hears what the store has said. False once the lock is not ours any more. An
/// attempt to renew ends at `limit`.
bool Keeping::stay_owner(std::optional<TimePoint> limit) {
  const TimePoint now = clock_.now();
  const bool news = std::exchange(news_, false);
  if (!holds_) return true;
  if (const auto why = schedule_.over(now)) return lose(*why);
  if (now >= schedule_.due()) return take(lock_.renew(link_, *earlier(schedule_.gives_up_at(now), limit)), now, true);
  const auto wake_at = lock_.wake_at();
  return news || (wake_at && now >= *wake_at) ? take(lock_.held(now), now, false) : true;
}

bool Keeping::take(const Renewal& answer, TimePoint began, bool asked) {
  if (const auto* lost = std::get_if<RenewalLost>(&answer)) {
    store_lost_ = true;
    return lose(lost->why);
  }
  if (const auto* wanted = std::get_if<RenewalAsked>(&answer)) {
    if (!std::exchange(asked_, true)) link_.tell(Lost{wanted->why});
    return true;
  }
  // Who slept past the deadline must not bring a hold back to life that others had to believe ended.
  if (const auto why = schedule_.over(clock_.now())) return lose(*why);
  if (const auto* renewed = std::get_if<RenewalRenewed>(&answer)) {
    schedule_.renewed(began, clock_.now(), renewed->deadline);
    trouble_.clear();
    link_.tell(Renewed{renewed->deadline});
  } else if (const auto* unknown = std::get_if<RenewalUnknown>(&answer)) {
    schedule_.unknown(began, unknown->why);
    if (trouble_ != unknown->why) link_.tell(Unrenewed{trouble_ = unknown->why});
  } else if (asked) {
    schedule_.held(began);
  }
  return true;
}

bool Keeping::lose(const std::string& why) {
  link_.tell(Lost{why});
  return false;
}

/// Until a message comes, or the store says something, or one of `others` is ready, or something is due.
void Keeping::wait(const std::vector<pollfd>& others, std::optional<TimePoint> until) {
  std::vector<pollfd> fds = others;
  link_.add_interest(fds);
  const std::size_t own = fds.size();
  if (holds_) {
    lock_.add_interest(fds);
    until = earlier(earlier(until, schedule_.due()), earlier(schedule_.deadline(), lock_.wake_at()));
  }
  const std::size_t count = fds.size();
  clock_.wait(fds, until);
  for (std::size_t i = own; i < count; ++i) news_ = news_ || fds[i].revents != 0;
}

std::optional<AcquireRequest> first_request(SupervisorLink& link, Clock& clock) {
  while (true) {
    link.receive();
    if (auto request = link.take_acquire()) return request;
    if (link.gone() || link.nonsense()) return std::nullopt;
    std::vector<pollfd> fds;
    link.add_interest(fds);
    clock.wait(fds, std::nullopt);
  }
}

/// Lets others go first: people wait for the supervisor, the next holder waits for the server, and nobody waits for us
/// and our connections to be torn down, which on a busy machine came before both (0.2 ms of a hand-over).
void see_off(SupervisorLink& link, Clock& clock) {
  const TimePoint until = clock.now() + kFarewell;
  std::vector<pollfd> fds;
  for (link.add_interest(fds); !fds.empty() && clock.now() < until; link.add_interest(fds)) {
    clock.wait(fds, until);
    link.receive();
    fds.clear();
  }
  fds.clear();
  clock.wait(fds, clock.now() + kAfterYou);
}

/// Opened anew, because its flags are everybody's who has it: a full pipe or a stopped terminal then loses a warning,
/// and holds up no renewal.
void stop_blocking_stderr() {
  const UniqueFd own(open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own.valid()) dup2(own.get(), STDERR_FILENO);
}

}  // namespace

int keep(UniqueFd socket, const OpenKeptLock& open, const Runtime& runtime, Processes& processes) {
  SupervisorLink link(std::move(socket));
  const auto request = first_request(link, runtime.clock);
  if (request) {
    const Log log(Log::Style{.quiet = !request->warns}, runtime.log.fd());
    if (const auto lock = open(*request, {runtime.clock, log})) {
      Keeping(link, **lock, request->spec, runtime.clock, processes).run();
      see_off(link, runtime.clock);
    } else {
      link.tell(Refused{lock.error(), std::nullopt});
    }
  }
  return link.nonsense() ? kStatusNonsense : 0;
}

int run_keeper(const OpenKeptLock& open) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  stop_blocking_stderr();
  SystemClock clock;
  const Log log(Log::Style{.quiet = true});
  SystemProcesses processes;
  return keep(UniqueFd(kKeeperDescriptor), open, {clock, log}, processes);
}

}  // namespace dlock
