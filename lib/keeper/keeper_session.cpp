// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/keeper_session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <vector>

#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/keeper/packets.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDetachBudget = 5s;
constexpr Duration kAnswerTime = 100ms;  ///< for a keeper's last word to come to us, on a busy machine too

/// Our environment without the password, which it is told.
std::vector<char*> keeper_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry; ++entry) {
    if (!std::string_view(*entry).starts_with("DLOCK_PASSWORD=")) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

KeeperSession::KeeperSession(std::string program, BackendUrl url, LockSpec spec, Clock& clock, const Log::Style& style)
    : program_(std::move(program)), url_(std::move(url)), spec_(std::move(spec)), clock_(clock), style_(style) {}

KeeperSession::~KeeperSession() {
  const bool answered = granted_ && awaiting_ == Awaiting::kNothing;
  const bool dropped = socket_.valid() && !answered && !lost_ && !detached_;
  if (pid_ == 0 || !(given_up_ || dropped)) return;
  socket_.reset();
  end_program();
}

/// Does not wait for ever: not even KILL ends a process that a broken disk keeps in the kernel.
void KeeperSession::end_program() {
  siginfo_t child{};
  // As long as it has not been reaped the pid is nobody else's.
  if (waitid(P_PID, static_cast<id_t>(pid_), &child, WEXITED | WNOHANG | WNOWAIT) != 0) return;
  wait_for_end();
  kill(pid_, SIGKILL);
  wait_for_end();
  waitpid(pid_, nullptr, WNOHANG);
}

/// For kGiveUpGrace at most.
void KeeperSession::wait_for_end() {
  const UniqueFd pidfd = open_process(pid_);
  if (!pidfd.valid()) return;
  std::vector<pollfd> fds{{pidfd.get(), POLLIN, 0}};
  clock_.wait(fds, clock_.now() + kGiveUpGrace);
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
  close(ends[1]);
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
    // What stands in for one that was closed is close-on-exec for the command; a keeper would have its server there.
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

void KeeperSession::acquire(TimePoint /*now*/) {
  const Message wanted = acquire_message(url_, spec_, style_);
  if (const std::size_t size = encode(wanted).size(); size > kLargestMessage) {
    pending_ = over(Refused{{ErrorCode::kInvalid,
                             "the URL and what is asked of it take " + std::to_string(size) +
                                 " bytes, and a keeper reads " + std::to_string(kLargestMessage),
                             "make the URL shorter"},
                            std::nullopt});
    return;
  }
  if (const auto started = start_program(); !started) {
    pending_ = over(Refused{started.error(), std::nullopt});
    return;
  }
  send(wanted);
}

/// Whoever stopped it did not mean that the lock stays behind. While it has not been reaped the pid is nobody else's.
void KeeperSession::continue_program() {
  siginfo_t child{};
  if (pid_ != 0 && waitid(P_PID, static_cast<id_t>(pid_), &child, WEXITED | WNOHANG | WNOWAIT) == 0) {
    kill(pid_, SIGCONT);
  }
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

void KeeperSession::command_started(int guard) {
  started_ = true;
  send({"started", {}}, guard);
}

void KeeperSession::command_over() {
  if (lost_) send({"over", {}});
}

void KeeperSession::command_ended(int wait_status) {
  if (spec_.stock) send({"ended", {{"status", std::to_string(wait_status)}}});  // nothing else depends on it
}

void KeeperSession::add_interest(std::vector<pollfd>& fds) const {
  if (socket_.valid() && !lost_) fds.push_back({socket_.get(), POLLIN, 0});
  if (alarm_) fds.push_back({alarm_->fd(), POLLIN, 0});
}

/// A packet that does not fit means a keeper that does not read: its silence will be noticed by the deadlines. A keeper
/// that is gone is noticed by the end of file.
void KeeperSession::send(const Message& message, int descriptor) {
  if (socket_.valid()) send_packet(socket_.get(), encode(message), descriptor);
}

/// A command that lives to see a renewal will probably see many: they need not wake us any more. What we have to wake
/// up for is the time when the deadline that we know wants something done, and next_event() looks before anything is;
/// a caller who says when that is (wakes_before) sleeps on, for as long as renewals come.
void KeeperSession::look_from_now_on() {
  shared_ = SharedDeadline::make();
  if (shared_) send({"look", {}}, shared_->fd());
}

bool KeeperSession::wakes_before(Duration left) {
  if (!shared_ || clock_.now() >= *deadline_ - left) return false;
  if (alarm_ && alarm_->before() == left) return true;
  alarm_ = SharedAlarm::make(left);
  if (alarm_ && !alarm_->set(*deadline_)) alarm_.reset();
  if (!alarm_) return false;
  send({"wake", {{"before", std::to_string(left.count())}}}, alarm_->fd());
  return true;
}

/// A keeper that was killed between the two has shown a renewal, and not moved the alarm. One that does not renew any
/// more leaves it to the caller what has to be done, and when.
void KeeperSession::hear_alarm() {
  if (!alarm_ || !alarm_->has_rung()) return;
  const bool renewed = clock_.now() < *deadline_ - alarm_->before();
  if (!renewed || !alarm_->set(*deadline_)) alarm_.reset();
}

/// Renewed, unless something later has been told.
std::optional<SessionEvent> KeeperSession::newer(TimePoint deadline) {
  if (deadline_ && deadline <= *deadline_) return std::nullopt;
  deadline_ = deadline;
  return Renewed{deadline};
}

std::optional<SessionEvent> KeeperSession::next_event(TimePoint now) {
  if (pending_) return std::exchange(pending_, std::nullopt);
  auto event = next_word();
  // The shared deadline is looked at when the last message has been read, and told before it: it may have been shown in
  // between.
  const auto shown = shared_ ? shared_->shown() : std::nullopt;
  if (auto renewed = shown ? newer(*shown) : std::nullopt) {
    pending_ = std::move(event);
    return renewed;
  }
  hear_alarm();
  if (event) return event;
  if (socket_.valid() && answer_by_ && now >= *answer_by_) return answer_for_silent_keeper();
  return std::nullopt;
}

std::optional<SessionEvent> KeeperSession::next_word() {
  while (socket_.valid() && !lost_) {
    auto event = receive();
    if (!event) break;
    if (awaiting_ == Awaiting::kWithdrawn && std::holds_alternative<Granted>(*event)) {
      continue;  // they crossed; the keeper gives it back by itself, having read the withdraw
    }
    const auto* renewed = std::get_if<Renewed>(&*event);
    if (!renewed) return event;
    if (started_ && !shared_) look_from_now_on();
    if (auto later = newer(renewed->deadline)) return later;
  }
  return std::nullopt;
}

std::optional<SessionEvent> KeeperSession::receive() {
  static char packet[kLargestMessage];  // touched only as far as a message fills it
  const ssize_t size = receive_packet(socket_.get(), packet);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size < 0 && errno == EMSGSIZE) {
    return give_up(SessionGone{"the keeper " + program_ + " said more than " + std::to_string(kLargestMessage) +
                               " bytes at once"});
  }
  if (size <= 0) return give_up(gone());
  heard_ = true;
  const auto message = decode({packet, static_cast<std::size_t>(size)});
  if (!message) return give_up(SessionGone{message.error().message});
  if (message->verb == kThere) {
    send({std::string(kHere), {}});
    return receive();
  }
  auto event = parse_event(*message);
  if (!event) return give_up(SessionGone{event.error().message});
  granted_ = granted_ || std::holds_alternative<Granted>(*event);
  const bool answers = std::holds_alternative<Released>(*event) || std::holds_alternative<ReleaseUnconfirmed>(*event);
  if (awaiting_ == Awaiting::kNothing && answers) {
    early_answer_ = std::move(*event);
    return std::nullopt;
  }
  if (const auto* lost = std::get_if<Lost>(&*event)) return lose(*lost);
  const bool goes_on = std::holds_alternative<Granted>(*event) || std::holds_alternative<Renewed>(*event) ||
                       std::holds_alternative<Unrenewed>(*event) || is_of_wait(*event);
  return goes_on ? std::move(*event) : over(std::move(*event));
}

/// A keeper that has a command to watch over listens on.
SessionEvent KeeperSession::lose(const Lost& lost) {
  if (!lost.final) return lost;
  if (!started_) return over(lost);
  lost_ = true;
  answer_by_.reset();
  return lost;
}

SessionEvent KeeperSession::give_up(SessionEvent last) {
  given_up_ = true;
  return over(std::move(last));
}

/// A program that could not be loaded has asked no store: that is nothing for --fallback.
SessionEvent KeeperSession::gone() {
  if (heard_ || awaiting_ != Awaiting::kNothing || !was_not_loaded()) {
    return SessionGone{"the keeper " + program_ + " is gone"};
  }
  return Refused{{ErrorCode::kSystem, "the keeper " + program_ + " could not be loaded",
                  "is enough memory allowed (ulimit -v), and are all its libraries there?"},
                 std::nullopt};
}

/// Without a library, or the room for one, ld.so ends it with 127; the kernel does by SIGSEGV.
bool KeeperSession::was_not_loaded() {
  wait_for_end();
  siginfo_t child{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &child, WEXITED | WNOHANG | WNOWAIT) != 0 || child.si_pid == 0)
    return false;
  return child.si_status == (child.si_code == CLD_EXITED ? 127 : SIGSEGV);
}

SessionEvent KeeperSession::over(SessionEvent last) {
  socket_.reset();
  answer_by_.reset();
  return last;
}

SessionEvent KeeperSession::answer_for_silent_keeper() {
  if (awaiting_ == Awaiting::kWithdrawn) return give_up(Withdrawn{});
  return give_up(
      ReleaseUnconfirmed{{ErrorCode::kUnavailable, "the keeper of " + url_.redacted() + " does not answer"}});
}

Result<void> KeeperSession::detach(const DetachSpec& spec) {
  Message message{"detach", {{"ttl", std::to_string(spec.ttl.count())}}};
  if (spec.watch_pid) message.fields["pid"] = std::to_string(*spec.watch_pid);
  awaiting_ = Awaiting::kReleased;
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
    if (const auto* gone = std::get_if<SessionGone>(&*event)) return Error{ErrorCode::kUnavailable, gone->why};
  }
  return Error{ErrorCode::kUnavailable, "the keeper of " + url_.redacted() + " does not answer", {}};
}

}  // namespace dlock
