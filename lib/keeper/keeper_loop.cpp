// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/keeper_loop.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "lib/base/human_text.h"
#include "lib/base/last_words.h"
#include "lib/base/memory_limit.h"
#include "lib/keeper/keeper_session.h"
#include "lib/keeper/orphans.h"
#include "lib/keeper/packets.h"
#include "lib/keeper/renewal_schedule.h"
#include "lib/keeper/supervisor_link.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr int kStatusFailed = 69;
constexpr int kStatusNonsense = 70;
/// Less than the supervisor waits for the answer to a detach.
constexpr Duration kLeaveBudget = 4s;
/// For giving back when nobody waits for the answer. A lease is asked about until it has ended.
constexpr Duration kLoneReleaseBudget = 10s;
constexpr Duration kLateReleaseBudget = 1s;
/// For the next holder to get on its way, after the supervisor has ended.
constexpr Duration kLingerAfterSupervisor = 5ms;
constexpr Duration kLongestLinger = kLastWordToEnd - kLingerAfterSupervisor;

/// One lock, from acquire to the end. Single-threaded: every wait, the lock's own included, polls the link as well.
class Keeping {
 public:
  Keeping(SupervisorLink& link, LockDriver& lock, const LockSpec& spec, const Runtime& runtime, Processes& processes)
      : link_(link),
        lock_(lock),
        spec_(spec),
        clock_(runtime.clock),
        log_(runtime.log),
        processes_(processes),
        began_(clock_.now()),
        schedule_(spec, TimePoint(), {}) {}

  void run();

 private:
  void trace(const std::string& step) const;
  void trace_grant(const Granted& granted) const;
  bool freshen(Granted& granted);
  void hold();
  std::optional<TimePoint> unheard_at() const;
  void take_back();
  void give_back(TimePoint until);
  void withdraw(TimePoint until);
  void detach(const SupervisorLink::Detach& detach);
  void leave(Duration ttl);
  void watch(pid_t pid);
  void started(SupervisorLink::Started started);
  void end_orphans();
  void end_command(Duration kill_after, bool ours);
  void hush();
  void say_untouchable(const Orphans& orphans);
  std::optional<TimePoint> act_at() const;
  void act_for_supervisor();
  void after_loss();
  void give_back_alone(bool orderly = true);
  void stay_for_the_inner();

  bool stay_owner(std::optional<TimePoint> limit = {});
  bool take(const Renewal& answer, TimePoint began, bool asked);
  bool lose(const std::string& why);
  void wait(const std::vector<pollfd>& others = {}, std::optional<TimePoint> until = {});
  void answer_end(const Result<void>& result);

  SupervisorLink& link_;
  LockDriver& lock_;
  const LockSpec& spec_;
  Clock& clock_;
  const Log& log_;
  Processes& processes_;
  const TimePoint began_;
  RenewalSchedule schedule_;
  bool holds_ = false;       ///< false for a spec that takes nothing
  bool news_ = false;        ///< the store has said something
  std::string trouble_;      ///< why the last renewal was not confirmed
  bool store_lost_ = false;  ///< the store itself said that it is not ours
  CommandMarks marks_;       ///< of the command's processes; no owner: it is an outer hold's, which are not ours
  bool taken_up_ = false;    ///< the supervisor has said what runs under the grant
  TimePoint heard_at_{};     ///< the last word of a supervisor that has not
  bool asked_there_ = false;
  bool told_lost_ = false;
  bool said_untouchable_ = false;
  bool hushed_ = false;
  bool command_ = false;               ///< there is one, and it is not meant to outlive the lock
  ProcessId command_id_;               ///< {} as well if it had ended before we looked
  std::optional<TimePoint> asked_at_;  ///< somebody wants it; the supervisor has been told, and ends its command
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
  Granted& granted = *std::get_if<Granted>(&*answer);
  holds_ = !granted.locks.empty();
  if (holds_ && !granted.locks.front().reentered) marks_.owner = granted.locks.front().owner.text();
  schedule_ = RenewalSchedule(spec_, clock_.now(), granted.deadline);
  trace_grant(granted);
  if (!freshen(granted)) return;
  if (!link_.stop_requested()) link_.tell(granted);
  taken_up_ = !holds_;
  heard_at_ = clock_.now();
  hold();
}

/// One line a step, with -v.
void Keeping::trace(const std::string& step) const { log_.verbose(spec_.name.text() + ": " + step); }

void Keeping::trace_grant(const Granted& granted) const {
  if (log_.style().verbosity == 0 || granted.locks.empty()) return;
  const HeldLock& lock = granted.locks.front();
  trace(std::string(lock.reentered ? "entered" : "granted") + " by " + lock.store + " after " +
        human_duration(clock_.now() - began_) + ", token " + lock.token.text() +
        (granted.deadline ? ", lease for " + human_duration(*granted.deadline - clock_.now()) : ""));
}

/// The answer was long in coming, so that little is left of the lease: false if it was lost meanwhile.
bool Keeping::freshen(Granted& granted) {
  const TimePoint now = clock_.now();
  if (!holds_ || !granted.deadline || *granted.deadline - now >= least_to_tell(spec_.ttl)) return true;
  const Renewal answer = lock_.renew(link_, schedule_.gives_up_at(now));
  if (const auto* lost = std::get_if<RenewalLost>(&answer)) return lose(lost->why);
  if (const auto* renewed = std::get_if<RenewalRenewed>(&answer)) {
    schedule_.renewed(now, clock_.now(), renewed->deadline);
    granted.deadline = renewed->deadline;
  }
  return true;  // with what is left; the next renewal is soon
}

void Keeping::hold() {
  while (true) {
    link_.receive();
    if (auto told = link_.take_started()) started(std::move(*told));
    if (link_.take_heard()) {
      heard_at_ = clock_.now();
      asked_there_ = false;
    }
    if (const auto status = link_.take_ended()) lock_.command_ended(*status);
    if (const auto until = link_.withdraw_by()) return withdraw(*until);
    if (const auto until = link_.release_by()) return give_back(*until);
    if (const auto spec = link_.detach()) return detach(*spec);
    if (link_.gone()) return end_orphans();
    if (!stay_owner()) return after_loss();
    if (const auto at = unheard_at(); at && clock_.now() >= *at) {
      if (asked_there_) return take_back();
      asked_there_ = true;
      link_.ask_whether_there();
    }
    if (const auto at = act_at(); at && clock_.now() >= *at) return act_for_supervisor();
    if (!link_.has_news()) wait({}, earlier(act_at(), unheard_at()));
  }
}

/// When a supervisor that has not taken the grant up is to be asked whether it is there, and then, when it is given up.
std::optional<TimePoint> Keeping::unheard_at() const {
  if (taken_up_) return std::nullopt;
  return heard_at_ + (asked_there_ ? spec_.ttl : spec_.ttl / 2);
}

/// Nobody will start a command under this lock before it is continued, if ever.
void Keeping::take_back() {
  lose("dlock did not take it up for " + human_duration(spec_.ttl) + " (was it stopped?), so that it was given back");
  (void)lock_.release(clock_.now() + kLoneReleaseBudget);  // not confirmed: nobody renews it any more
}

void Keeping::started(SupervisorLink::Started started) {
  taken_up_ = true;
  if (!started.mark) return;
  command_ = true;
  const FoundProcess found = processes_.find(started.pidfd);
  command_id_ = found.id;
  marks_.number = *started.mark;
  marks_.session = found.session;
}

/// When the command must have ended or be ended, by us if need be: a little after the supervisor does it, and before
/// anybody else may believe that the lock is free.
std::optional<TimePoint> Keeping::act_at() const {
  if (!command_ || !spec_.ends_command) return std::nullopt;
  const auto deadline = schedule_.deadline();
  const auto last = deadline ? std::optional(kill_at(*deadline, spec_.ttl)) : std::nullopt;
  const auto first = earlier(last, asked_at_ ? std::optional(*asked_at_ + spec_.kill_after) : std::nullopt);
  return first ? std::optional(*first + kill_margin(spec_.ttl) / 2) : std::nullopt;
}

/// It is stopped, or hangs, or is slow.
void Keeping::act_for_supervisor() {
  const bool asked = asked_at_.has_value();
  if (!asked) lose(schedule_.why(clock_.now()));
  end_command(Duration(0), true);
  if (!asked || !holds_ || store_lost_) return give_back_alone(false);
  answer_end(lock_.release(clock_.now() + kLoneReleaseBudget));
}

/// The supervisor ends its command now, and says when that is done.
void Keeping::after_loss() {
  if (!command_ || !spec_.ends_command) return;
  const TimePoint now = clock_.now();
  const TimePoint act_by = *earlier(now + spec_.kill_after + kill_margin(spec_.ttl) / 2, act_at());
  while (clock_.now() < act_by) {
    link_.receive();
    if (link_.over() || link_.release_by()) return;
    if (link_.gone()) break;
    std::vector<pollfd> fds;
    link_.add_interest(fds);
    clock_.wait(fds, act_by);
  }
  if (link_.gone()) link_.hang_up();
  end_command(Duration(0), false);
}

/// A withdraw that crossed the grant.
void Keeping::withdraw(TimePoint until) {
  if (holds_) (void)lock_.release(until);  // not confirmed: it leaves by itself
  link_.tell(Withdrawn{});
}

void Keeping::give_back(TimePoint until) {
  answer_end(holds_ ? lock_.release(until) : Result<void>());
  stay_for_the_inner();
}

/// The command and its supervisor have ended, and a dlock inside them has not.
void Keeping::stay_for_the_inner() {
  if (!holds_ || !lock_.is_still_entered()) return;
  link_.hang_up();
  processes_.close_streams();
  while (stay_owner()) wait();
}

void Keeping::answer_end(const Result<void>& result) {
  trace(result ? "released" : "not released: " + result.error().message);
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
  if (command_) end_command(spec_.kill_after, true);
  else hush();
  give_back_alone(false);
}

/// Returns when nothing of the command is left. The lease is renewed meanwhile if it is `ours`.
void Keeping::end_command(Duration kill_after, bool ours) {
  Orphans orphans(processes_, command_id_, marks_, clock_.now(), kill_after);
  while (true) {
    link_.receive();  // what it says now changes nothing, and must not wake us again
    const TimePoint now = clock_.now();
    const auto deadline = schedule_.deadline();
    auto last = deadline ? std::optional(kill_at(*deadline, spec_.ttl)) : std::nullopt;
    if (!ours) last = now;
    orphans.step(now, last);
    if (orphans.gone()) break;
    say_untouchable(orphans);
    hush();
    // A server that does not answer must not keep the KILL from its time.
    const TimePoint kills_at = orphans.kills_at(last);
    ours = ours && stay_owner(kills_at > now ? std::optional(kills_at) : std::nullopt);
    std::vector<pollfd> ends;
    orphans.add_interest(ends);
    if (ours) wait(ends, orphans.wake_at(last));
    else clock_.wait(ends, orphans.wake_at(last));
  }
  hush();
}

void Keeping::hush() {
  if (!std::exchange(hushed_, true)) processes_.close_streams();
}

/// While people can still be told: it is why the lock is not free.
void Keeping::say_untouchable(const Orphans& orphans) {
  if (!orphans.untouchable() || std::exchange(said_untouchable_, true)) return;
  log_.warn(spec_.name.text() + ": may not end process " + std::to_string(*orphans.untouchable()) +
            ", which the command started as another user; the lock is kept until it has ended");
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
  stay_for_the_inner();
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
  if (const auto* wanted = std::get_if<RevocationRequested>(&answer)) {
    if (asked_at_) return true;
    asked_at_ = clock_.now();
    link_.tell(Lost{wanted->why, false});
    return true;
  }
  // Who slept past the deadline must not bring a hold back to life that others had to believe ended.
  if (const auto why = schedule_.over(clock_.now())) return lose(*why);
  if (const auto* renewed = std::get_if<RenewalRenewed>(&answer)) {
    schedule_.renewed(began, clock_.now(), renewed->deadline);
    trouble_.clear();
    trace("renewed, lease for " + human_duration(renewed->deadline - clock_.now()));
    link_.tell(Renewed{renewed->deadline});
  } else if (const auto* unknown = std::get_if<RenewalUnknown>(&answer)) {
    schedule_.unknown(began, unknown->why);
    trace("renewal not confirmed: " + unknown->why + "; asked again in " + human_duration(renewal_retry(spec_.ttl)));
    if (trouble_ != unknown->why) link_.tell(Unrenewed{trouble_ = unknown->why});
  } else if (asked) {
    schedule_.held(began);
  }
  return true;
}

bool Keeping::lose(const std::string& why) {
  if (!std::exchange(told_lost_, true)) link_.tell(Lost{why});
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
void linger(SupervisorLink& link, Clock& clock) {
  const TimePoint until = clock.now() + kLongestLinger;
  std::vector<pollfd> fds;
  for (link.add_interest(fds); !fds.empty() && clock.now() < until; link.add_interest(fds)) {
    clock.wait(fds, until);
    link.receive();
    fds.clear();
  }
  fds.clear();
  clock.wait(fds, clock.now() + kLingerAfterSupervisor);
}

/// Opened anew, because its flags are everybody's who has it: a full pipe or a stopped terminal then loses a warning,
/// and holds up no renewal. A file does not block, and who opens it anew writes at a place of his own.
void stop_blocking_stderr() {
  struct stat stream {};
  if (fstat(STDERR_FILENO, &stream) != 0 || S_ISREG(stream.st_mode)) return;
  const UniqueFd own(open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own.valid()) dup2(own.get(), STDERR_FILENO);
}

void keep_lock(SupervisorLink& link, const AcquireRequest& request, const OpenLockDriver& open, const Runtime& runtime,
               Processes& processes) {
  const Log log(request.style, runtime.log.fd());
  const auto lock = open(request, {runtime.clock, log});
  if (!lock) return link.tell(Refused{lock.error(), std::nullopt});
  Keeping(link, **lock, request.spec, {runtime.clock, log}, processes).run();
  linger(link, runtime.clock);
}

std::string failed(const std::string& whose, const std::exception& failure) {
  return "the keeper" + whose + " cannot go on: " + failure_text(failure);
}

/// For an exception that keep() cannot catch: of a thread of a library, or where none may leave. Whoever listens on the
/// descriptor is told; once we are on our own something else may have its number.
void end_with_reason() noexcept {
  int type = 0;
  socklen_t size = sizeof type;
  const bool listened = getsockopt(kKeeperDescriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
  try {
    if (const auto thrown = std::current_exception(); thrown && listened) std::rethrow_exception(thrown);
  } catch (const std::exception& failure) {
    send_packet(kKeeperDescriptor, encode(event_message(SessionGone{failed("", failure)})));
  } catch (...) {  // the supervisor says that we are gone
  }
  _exit(kStatusFailed);
}

}  // namespace

int keep(UniqueFd socket, const OpenLockDriver& open, const Runtime& runtime, Processes& processes) {
  SupervisorLink link(std::move(socket));
  const auto request = first_request(link, runtime.clock);
  try {
    if (request) keep_lock(link, *request, open, runtime, processes);
  } catch (const std::exception& failure) {
    link.tell(SessionGone{failed(" of " + request->url.redacted(), failure)});
    return kStatusFailed;
  }
  return link.nonsense() ? kStatusNonsense : 0;
}

int run_keeper(const OpenLockDriver& open, std::size_t memory) {
  limit_memory(memory);
  std::set_terminate(end_with_reason);
  send_last_words(kKeeperDescriptor, [](const std::string& why) { return encode(event_message(SessionGone{why})); });
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  stop_blocking_stderr();
  SystemClock clock;
  const Log log(Log::Style{.quiet = true});
  SystemProcesses processes;
  return keep(UniqueFd(kKeeperDescriptor), open, {clock, log}, processes);
}

}  // namespace dlock
