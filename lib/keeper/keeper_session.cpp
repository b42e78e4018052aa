// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/keeper_session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "lib/base/human_text.h"
#include "lib/base/memory_limit.h"
#include "lib/base/packets.h"
#include "lib/base/process.h"
#include "lib/base/random.h"
#include "lib/base/system_error.h"
#include "lib/keeper/hold_socket.h"
#include "lib/lock/patience.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDetachBudget = 5s;
constexpr Duration kAnswerTime = 100ms;  ///< for a keeper's last word to come to us, on a busy machine too
constexpr Duration kMoreTime = 500ms;    ///< for the renewal that "more" announces
constexpr Duration kWaitGrace = 1s;      ///< a keeper ends the wait itself; this is for one that hangs

constexpr std::string_view kSecret[] = {"DLOCK_PASSWORD=", "DLOCK_BACKEND=", "DLOCK_FALLBACK="};

/// Our environment without variables that may hold a password: the URL reaches the keeper by message.
std::vector<char*> keeper_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable(*entry);
    const bool secret = std::any_of(std::begin(kSecret), std::end(kSecret),
                                    [&](std::string_view name) { return variable.starts_with(name); });
    if (!secret) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

/// Whether `pid` is that of a child that was not reaped yet: until then it is not used again.
bool is_child(pid_t pid) {
  siginfo_t child{};
  return pid != 0 && waitid(P_PID, static_cast<id_t>(pid), &child, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// How a child has ended that was not reaped yet; nullopt: it has not.
std::optional<siginfo_t> how_it_ended(pid_t pid) {
  siginfo_t child{};
  const bool ended = waitid(P_PID, static_cast<id_t>(pid), &child, WEXITED | WNOHANG | WNOWAIT) == 0;
  return ended && child.si_pid != 0 ? std::optional(child) : std::nullopt;
}

bool has_exited(const siginfo_t& end) { return end.si_code == CLD_EXITED; }

std::string text_of(const siginfo_t& end) {
  if (has_exited(end)) return "ended with status " + std::to_string(end.si_status);
  const char* name = sigabbrev_np(end.si_status);
  return name ? std::string("died of SIG") + name : "died of signal " + std::to_string(end.si_status);
}

/// Without a library, or the room for one, ld.so ends it with 127; the kernel does by SIGSEGV.
bool was_not_loaded(const siginfo_t& end) {
  return has_exited(end) ? end.si_status == 127 : end.si_status == SIGSEGV && allowed_memory();
}

}  // namespace

KeeperSession::KeeperSession(std::string program, BackendUrl url, LockSpec spec, Clock& clock, const Log::Style& style)
    : program_(std::move(program)), url_(std::move(url)), spec_(std::move(spec)), clock_(clock), style_(style) {}

KeeperSession::~KeeperSession() {
  const bool answered = granted_ && awaiting_ == Awaiting::kNothing;
  const bool dropped = socket_.valid() && !answered && !lost_ && !detached_;
  if (pid_ == 0 || !(closed_ || dropped)) return;
  socket_.reset();
  end_program();
}

/// Does not wait for ever: not even KILL ends a process that a broken disk keeps in the kernel.
void KeeperSession::end_program() {
  if (!is_child(pid_)) return;
  wait_for_end(kGiveUpGrace);
  kill(pid_, SIGKILL);
  wait_for_end(kGiveUpGrace);
  waitpid(pid_, nullptr, WNOHANG);
}

void KeeperSession::wait_for_end(Duration limit) {
  const UniqueFd pidfd = open_process(pid_);
  if (!pidfd.valid()) return;
  std::vector<pollfd> fds{{pidfd.get(), POLLIN, 0}};
  clock_.wait(fds, clock_.now() + limit);
}

/// In a session of its own: ^Z, ^C and a kill of the job's group must not stop the renewal.
Result<void> KeeperSession::start_program() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return system_error("cannot make a socket pair", errno);
  }
  socket_ = UniqueFd(ends[0]);
  // Above the descriptor that it becomes in the keeper, because dup2 of a descriptor onto itself would leave it
  // close-on-exec.
  const UniqueFd theirs(fcntl(ends[1], F_DUPFD_CLOEXEC, kKeeperDescriptor + 1));
  ::close(ends[1]);
  if (!theirs.valid()) return system_error("cannot make a socket pair", errno);

  char flag[] = "--keeper";
  char* const arguments[] = {const_cast<char*>(program_.c_str()), flag, nullptr};
  const std::vector<char*> environment = keeper_environment();
  if (const int failure = spawn(arguments, environment.data(), theirs.get())) {
    return system_error("cannot start " + program_, failure);
  }
  return {};
}

/// 0, or the errno value of vfork or execve. vfork suspends us until the child has executed or given up, so that its
/// failure can be left in our memory. posix_spawn(3) would take three times as long: it sets each signal's disposition,
/// of which there is nothing to be set, because we have no handlers and a keeper ignores what it does not want.
int KeeperSession::spawn(char* const* arguments, char* const* environment, int socket) {
  sigset_t none;
  sigemptyset(&none);
  volatile int failure = 0;
  const pid_t pid = vfork();
  if (pid == 0) {
    // stdin, stdout and whatever else dlock got are the command's alone; stderr is for what a library may have to say.
    // The stand-in for a closed stream is close-on-exec for the command; a keeper would have its server there.
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    fcntl(STDERR_FILENO, F_SETFD, 0);
    const bool ready = setsid() >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
                       dup2(socket, kKeeperDescriptor) >= 0 && close_range(kKeeperDescriptor + 1, ~0U, 0) == 0;
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (ready) execve(program_.c_str(), arguments, environment);
    failure = errno;
    _exit(127);
  }
  if (pid < 0) return errno;
  if (failure != 0) waitpid(pid, nullptr, 0);
  else pid_ = pid;
  return failure;
}

void KeeperSession::acquire(TimePoint now) {
  if (spec_.take && !spec_.stock) spec_.secret = random_hex(16);
  if (const std::size_t size = encode(acquire_message(url_, spec_, style_)).size(); size > kLargestMessage) {
    pending_ = over(Refused{{ErrorCode::kInvalid,
                             "the URL and the request take " + std::to_string(size) + " bytes, and a keeper reads " +
                                 std::to_string(kLargestMessage),
                             "make the URL shorter"},
                            std::nullopt});
    return;
  }
  asked_at_ = now;
  answer_by_ = answer_due(spec_.wait, now);
  if (answer_by_) *answer_by_ += kWaitGrace;
  if (!enter()) start();
}

/// False: there is no keeper around us.
bool KeeperSession::enter() {
  if (!spec_.ancestor || spec_.ancestor->secret.empty() || !spec_.take || spec_.stock) return false;
  socket_ = connect_to_hold(*spec_.ancestor);
  if (!socket_.valid()) return false;
  enters_ = true;
  BackendUrl url = url_;
  url.password.clear();
  send(acquire_message(url, spec_, style_));
  return true;
}

/// Only the keeper has the listener from then on: when it is gone, nobody is let in.
void KeeperSession::start() {
  const UniqueFd entrance = spec_.secret.empty() ? UniqueFd() : listen_for_entries(spec_.owner, spec_.secret);
  if (const auto started = start_program(); !started) pending_ = over(Refused{started.error(), std::nullopt});
  else send(acquire_message(url_, spec_, style_), entrance.get());
}

/// Stopping a keeper was not meant to leave its lock held.
void KeeperSession::continue_program() {
  if (is_child(pid_)) kill(pid_, SIGCONT);
}

void KeeperSession::withdraw(TimePoint deadline) {
  awaiting_ = Awaiting::kWithdrawn;
  answer_by_ = deadline;
  continue_program();
  send(deadline_message("withdraw", deadline));
}

/// The keeper gives up a little earlier: it knows why the store does not confirm it, and says so by the deadline.
void KeeperSession::release(TimePoint deadline) {
  awaiting_ = Awaiting::kReleased;
  answer_by_ = deadline;
  if (early_answer_) pending_ = over(std::move(*early_answer_));
  const Duration left = std::max(deadline - clock_.now(), Duration(0));
  send(deadline_message("release", deadline - std::min<Duration>(kAnswerTime, left / 4)));
}

void KeeperSession::ask_who() { send({"who", {}}); }

void KeeperSession::command_started(const GuardHandles& guard) {
  started_ = true;
  if (guard.farewell >= 0) send({"farewell", {}}, guard.farewell);
  send({"started", {}}, guard.process);
}

void KeeperSession::command_over() {
  if (lost_) send({"over", {}});
}

void KeeperSession::command_ended(int wait_status) {
  const bool depends = spec_.stock || spec_.at_least > Duration(0);
  if (depends) send({"ended", {{"status", std::to_string(wait_status)}}});
}

void KeeperSession::add_interest(std::vector<pollfd>& fds) const {
  if (socket_.valid() && !lost_) fds.push_back({socket_.get(), POLLIN, 0});
}

/// A packet that does not fit means a keeper that does not read: its silence will be noticed by the deadlines. A keeper
/// that is gone is noticed by the end of file.
void KeeperSession::send(const Message& message, int descriptor) {
  if (socket_.valid()) send_packet(socket_.get(), encode(message), descriptor);
}

std::optional<SessionEvent> KeeperSession::next_event(TimePoint now) {
  if (pending_) return std::exchange(pending_, std::nullopt);
  while (socket_.valid() && !lost_) {
    auto event = receive();
    if (!event) break;
    const bool crossed = awaiting_ == Awaiting::kWithdrawn && std::holds_alternative<Granted>(*event);
    if (!crossed) return event;  // a keeper that reads the withdraw after its grant gives it back
  }
  if (socket_.valid() && answer_by_ && now >= *answer_by_) return answer_for_silent_keeper();
  return std::nullopt;
}

std::optional<SessionEvent> KeeperSession::receive() {
  static char packet[kLargestMessage];  // touched only as far as a message fills it
  const ssize_t size = receive_packet(socket_.get(), packet);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size < 0 && errno == EMSGSIZE) {
    return close(SessionGone{"the keeper " + program_ + " sent more than " + std::to_string(kLargestMessage) +
                             " bytes at once"});
  }
  if (size <= 0 && enters_ && !heard_) return turned_away();
  if (size <= 0) return close(gone());
  heard_ = true;
  const auto message = decode({packet, static_cast<std::size_t>(size)});
  if (!message) return close(SessionGone{message.error().message});
  if (message->verb == kThere || message->verb == kMore) return answer_own(message->verb);
  auto event = parse_event(*message);
  if (!event) return close(SessionGone{event.error().message});
  if (auto* granted = std::get_if<Granted>(&*event)) {
    granted_ = true;
    if (enters_) outer_keeper_ = granted->keeper;
    for (HeldLock& lock : granted->locks) lock.secret = enters_ ? spec_.ancestor->secret : spec_.secret;
    if (awaiting_ == Awaiting::kNothing) answer_by_.reset();
  }
  if (const auto* unreached = std::get_if<Unreached>(&*event)) trouble_ = unreached->why;
  if (std::holds_alternative<Reached>(*event)) trouble_.clear();
  const bool answers = std::holds_alternative<Released>(*event) || std::holds_alternative<ReleaseUnconfirmed>(*event);
  if (awaiting_ == Awaiting::kNothing && answers) {
    early_answer_ = std::move(*event);
    return std::nullopt;
  }
  if (const auto* lost = std::get_if<Lost>(&*event)) return lose(*lost);
  const bool goes_on = std::holds_alternative<Granted>(*event) || std::holds_alternative<Renewed>(*event) ||
                       std::holds_alternative<Unrenewed>(*event) || is_of_wait(*event) ||
                       (awaiting_ == Awaiting::kDetached && std::holds_alternative<Released>(*event));
  return goes_on ? std::move(*event) : over(std::move(*event));
}

/// The outer hold has ended in between, or its keeper is at an end: the store knows.
std::optional<SessionEvent> KeeperSession::turned_away() {
  enters_ = false;
  start();
  return std::exchange(pending_, std::nullopt);
}

/// After "more" a later renewal is on its way, and nothing that has been read says how long the lease lasts.
std::optional<SessionEvent> KeeperSession::answer_own(const std::string& verb) {
  if (verb == kThere) {
    send({std::string(kHere), {}});
  } else {
    std::vector<pollfd> fds{{socket_.get(), POLLIN, 0}};
    clock_.wait(fds, clock_.now() + kMoreTime);
  }
  return receive();
}

/// A keeper that has a command to watch over listens on.
SessionEvent KeeperSession::lose(const Lost& lost) {
  if (!lost.final) return lost;
  if (!started_) return over(lost);
  lost_ = true;
  answer_by_.reset();
  return lost;
}

SessionEvent KeeperSession::close(SessionEvent last) {
  closed_ = true;
  return over(std::move(last));
}

/// A command that runs must not be ended late because of a keeper that closes its socket and lives on.
SessionEvent KeeperSession::gone() {
  if (enters_) return SessionGone{"the keeper of the outer run has ended"};
  wait_for_end(granted_ ? kAnswerTime : kGiveUpGrace);
  const auto end = how_it_ended(pid_);
  const std::string keeper = "the keeper " + program_;
  if (end && !heard_ && was_not_loaded(*end)) {
    return Refused{{ErrorCode::kSystem, keeper + " could not be loaded",
                    "allow enough memory (ulimit -v), and check that all its libraries are installed"},
                   std::nullopt};
  }
  return SessionGone{keeper + " " + (end ? text_of(*end) : "has closed its connection to dlock")};
}

SessionEvent KeeperSession::over(SessionEvent last) {
  socket_.reset();
  answer_by_.reset();
  return last;
}

SessionEvent KeeperSession::answer_for_silent_keeper() {
  if (awaiting_ == Awaiting::kWithdrawn) return close(Withdrawn{});
  const Error silent{ErrorCode::kInternal, what_it_does(), "nothing was run"};
  if (awaiting_ == Awaiting::kReleased) return close(ReleaseUnconfirmed{{silent.code, silent.message}});
  continue_program();  // the end of its socket makes it release everything
  return close(Refused{silent, std::nullopt});
}

/// "the keeper (pid 4711) of redis://h did not answer in time: it is stopped, 7.1 s after it was asked for k".
std::string KeeperSession::what_it_does() const {
  const auto process = look_up_process(keeper_pid());
  const char state = process ? process->state : '?';
  std::string what = state == 'T' || state == 't' ? "is stopped" : state == 'R' ? "computes" : "waits";
  if (state == 'D') what = "waits for a disk";
  const std::string number = keeper_pid() > 0 ? " (pid " + std::to_string(keeper_pid()) + ")" : "";
  std::string text = "the keeper" + number + " of " + url_.redacted() + " did not answer in time: it " + what + ", " +
                     human_duration(clock_.now() - asked_at_) + " after it was asked for " + spec_.name.text();
  if (!granted_ && !trouble_.empty()) text += "; its last message was: " + trouble_;
  return text;
}

Result<void> KeeperSession::detach(const DetachSpec& spec) {
  Message message{"detach", {{"ttl", std::to_string(spec.ttl.count())}}};
  if (spec.watch_pid) message.fields["pid"] = std::to_string(*spec.watch_pid);
  awaiting_ = Awaiting::kDetached;
  send(message);
  const TimePoint until = clock_.now() + kDetachBudget;
  while (clock_.now() < until) {
    std::vector<pollfd> fds;
    add_interest(fds);
    clock_.wait(fds, until);
    auto event = next_event(clock_.now());
    if (!event) continue;
    detached_ = std::holds_alternative<Released>(*event);
    if (detached_) return {};  // from us: it is the keeper's now, or the store's
    if (const auto* lost = std::get_if<Lost>(&*event); lost && lost->final) return Error{ErrorCode::kLost, lost->why};
    if (const auto* failed = std::get_if<ReleaseUnconfirmed>(&*event)) return failed->error;
    if (const auto* gone = std::get_if<SessionGone>(&*event)) return Error{gone->code, gone->why};
  }
  return Error{ErrorCode::kInternal, what_it_does()};
}

}  // namespace dlock
