// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/keeper_session.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "lib/base/system_error.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDetachBudget = 5s;

/// posix_spawn's attributes and file actions, freed at the end.
struct SpawnPlan {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  SpawnPlan() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
  }
};

/// Our environment without the marks of the hold that we run under: a keeper is no part of that command, and may have
/// to outlive it.
std::vector<char*> keeper_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("DLOCK_OWNER=") && !text.starts_with("DLOCK_HELD=")) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

KeeperSession::KeeperSession(std::string program, BackendUrl url, LockSpec spec, Clock& clock)
    : program_(std::move(program)), url_(std::move(url)), spec_(std::move(spec)), clock_(clock) {}

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

  SpawnPlan plan;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_adddup2(&plan.files, theirs.get(), kKeeperDescriptor);
  // stdin, stdout and whatever else dlock got are the command's alone; stderr is for what a library may have to say.
  posix_spawn_file_actions_addclosefrom_np(&plan.files, kKeeperDescriptor + 1);
  posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&plan.files, 1, "/dev/null", O_RDWR, 0);
  char flag[] = "--keeper";
  char* const arguments[] = {const_cast<char*>(program_.c_str()), flag, nullptr};
  const int failure =
      posix_spawn(&pid_, program_.c_str(), &plan.files, &plan.attributes, arguments, keeper_environment().data());
  if (failure == 0) return {};
  pid_ = 0;
  return system_error("cannot start " + program_, failure);
}

void KeeperSession::acquire(TimePoint /*now*/) {
  if (const auto started = start_program(); !started) {
    pending_ = over(Refused{started.error(), std::nullopt});
    return;
  }
  send(acquire_message(url_, spec_));
}

void KeeperSession::withdraw(TimePoint deadline) {
  awaiting_ = Awaiting::kWithdrawn;
  answer_by_ = deadline;
  send(deadline_message("withdraw", deadline));
}

void KeeperSession::release(TimePoint deadline) {
  awaiting_ = Awaiting::kReleased;
  answer_by_ = deadline;
  send(deadline_message("release", deadline));
}

void KeeperSession::ask_who() { send({"who", {}}); }

void KeeperSession::command_started(pid_t pid) { send({"started", {{"pid", std::to_string(pid)}}}); }

void KeeperSession::command_ended(int wait_status) { send({"ended", {{"status", std::to_string(wait_status)}}}); }

void KeeperSession::add_interest(std::vector<pollfd>& fds) const {
  if (socket_.valid()) fds.push_back({socket_.get(), POLLIN, 0});
}

/// A packet that does not fit means a keeper that does not read: its silence will be noticed by the deadlines. A keeper
/// that is gone is noticed by the end of file.
void KeeperSession::send(const Message& message) {
  const std::string packet = encode(message);
  if (socket_.valid()) ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::optional<SessionEvent> KeeperSession::next_event(TimePoint now) {
  if (pending_) return std::exchange(pending_, std::nullopt);
  while (socket_.valid()) {
    auto event = receive();
    if (!event) break;
    const bool crossed = awaiting_ == Awaiting::kWithdrawn && std::holds_alternative<Granted>(*event);
    if (!crossed) return event;  // the keeper gives it back by itself, having read the withdraw
  }
  if (socket_.valid() && answer_by_ && now >= *answer_by_) return answer_for_silent_keeper();
  return std::nullopt;
}

std::optional<SessionEvent> KeeperSession::receive() {
  static char packet[kLargestMessage];  // touched only as far as a message fills it
  const ssize_t size = recv(socket_.get(), packet, sizeof packet, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size <= 0) return over(SessionGone{"the keeper " + program_ + " is gone"});
  const auto message = decode({packet, static_cast<std::size_t>(size)});
  if (!message) return over(SessionGone{message.error().message});
  auto event = parse_event(*message);
  if (!event) return over(SessionGone{event.error().message});
  const bool goes_on = std::holds_alternative<Granted>(*event) || std::holds_alternative<Renewed>(*event) ||
                       std::holds_alternative<Waiting>(*event);
  return goes_on ? std::move(*event) : over(std::move(*event));
}

SessionEvent KeeperSession::over(SessionEvent last) {
  socket_.reset();
  answer_by_.reset();
  return last;
}

SessionEvent KeeperSession::answer_for_silent_keeper() {
  if (awaiting_ == Awaiting::kWithdrawn) return over(Withdrawn{});
  return over(ReleaseUnconfirmed{{ErrorCode::kUnavailable, "the keeper of " + url_.redacted() + " does not answer"}});
}

Result<void> KeeperSession::detach(const DetachSpec& spec) {
  Message message{"detach", {{"ttl", std::to_string(spec.ttl.count())}}};
  if (spec.watch_pid) message.fields["pid"] = std::to_string(*spec.watch_pid);
  send(message);
  const TimePoint until = clock_.now() + kDetachBudget;
  while (clock_.now() < until) {
    std::vector<pollfd> fds;
    add_interest(fds);
    clock_.wait(fds, until);
    auto event = next_event(clock_.now());
    if (!event) continue;
    if (std::holds_alternative<Released>(*event)) return {};  // from us: it is the keeper's now, or the store's
    if (const auto* lost = std::get_if<Lost>(&*event)) return Error{ErrorCode::kLost, lost->why};
    if (const auto* refused = std::get_if<ReleaseUnconfirmed>(&*event)) return refused->error;
    if (const auto* failed = std::get_if<ReleaseUnconfirmed>(&*event)) return failed->error;
    if (const auto* gone = std::get_if<SessionGone>(&*event)) return Error{ErrorCode::kUnavailable, gone->why};
  }
  return Error{ErrorCode::kUnavailable, "the keeper of " + url_.redacted() + " does not answer", {}};
}

}  // namespace dlock
