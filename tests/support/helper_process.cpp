// SPDX-License-Identifier: Apache-2.0
#include "tests/support/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "lib/base/descriptor_io.h"

extern char** environ;

namespace dlock::testing {
namespace {

FencingToken token_of(const std::string& text) {
  const auto token = FencingToken::parse_any(text);
  if (!token) throw std::runtime_error(token.error().message);
  return *token;
}

constexpr const char* kSwitch = "--dlock-test-helper";

std::vector<std::string> to_arguments(const std::string& store, const LockSpec& spec) {
  std::vector<std::string> words{"/proc/self/exe",
                                 kSwitch,
                                 store,
                                 spec.name.text(),
                                 spec.owner.text(),
                                 std::to_string(static_cast<int>(spec.mode)),
                                 std::to_string(spec.permits),
                                 spec.wait.once ? "1" : "0",
                                 std::to_string(spec.lock_delay.count()),
                                 std::to_string(spec.ttl.count()),
                                 spec.reason,
                                 spec.fair ? "1" : "0",
                                 spec.take ? "1" : "0",
                                 std::to_string(spec.renew_interval.count()),
                                 spec.left_to ? std::to_string(*spec.left_to) : "-"};
  if (spec.ancestor) {
    words.push_back(spec.ancestor->owner.text());
    words.push_back(spec.ancestor->token.text());
    words.push_back(spec.ancestor->secret);
  }
  return words;
}

LockSpec from_arguments(char** words, int count) {
  LockSpec spec = exclusive(words[3]);
  spec.owner = *Owner::parse(words[4]);
  spec.mode = static_cast<Mode>(std::atoi(words[5]));
  spec.permits = std::atoi(words[6]);
  spec.wait.once = words[7][0] == '1';
  spec.lock_delay = Duration(std::atoll(words[8]));
  spec.ttl = Duration(std::atoll(words[9]));
  spec.reason = words[10];
  spec.fair = words[11][0] == '1';
  spec.take = words[12][0] == '1';
  spec.renew_interval = Duration(std::atoll(words[13]));
  if (words[14][0] != '-') spec.left_to = std::atoi(words[14]);
  if (count > 17) spec.ancestor = HeldClaim{*Owner::parse(words[15]), token_of(words[16]), words[17]};
  return spec;
}

/// A child that has the lock's descriptor and lives until it is killed or its stdin ends. Prints its pid.
void spawn_heir(LockSession& session) {
  const int fd = session.inherited_fd();
  const pid_t child = fork();
  if (child == 0) {
    fcntl(fd, F_SETFD, 0);
    // Our own stdin and stdout are pipes of the test, which must see their end when we die.
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    execlp("sleep", "sleep", "600", static_cast<char*>(nullptr));
    _exit(127);
  }
  session.command_started({});
  write_all(1, "heir " + std::to_string(child) + "\n");
}

class Helper {
 public:
  Helper(Client& client, const LockSpec& spec) : session_(std::move(*client.open(spec))) {}

  int run() {
    session_->acquire(clock_.now());
    for (;;) {
      while (auto event = session_->next_event(clock_.now())) {
        if (!tell(*event)) return 0;
      }
      std::vector<pollfd> fds{{0, POLLIN, 0}};
      session_->add_interest(fds);
      clock_.wait(fds, session_->wake_at());
      if (fds.front().revents != 0 && !obey()) return 0;
    }
  }

 private:
  /// False after a final event.
  bool tell(const SessionEvent& event) {
    std::string text = Acquisition::describe(event);
    if (const auto* granted = std::get_if<Granted>(&event); granted && !granted->locks.empty()) {
      text += " " + granted->locks.front().token.text();
      if (granted->locks.front().reentered) text += " reentered";
    }
    write_all(1, text + "\n");
    return std::holds_alternative<Granted>(event) || std::holds_alternative<Renewed>(event) ||
           std::holds_alternative<Unrenewed>(event) || std::holds_alternative<Waiting>(event);
  }

  bool obey() {
    char buffer[256];
    const ssize_t n = read(0, buffer, sizeof buffer);
    if (n <= 0) return false;
    commands_.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = commands_.find('\n')) != std::string::npos;) {
      const std::string command = commands_.substr(0, end);
      commands_.erase(0, end + 1);
      if (!obey_one(command)) return false;
    }
    return true;
  }

  bool obey_one(const std::string& command) {
    const TimePoint soon = clock_.now() + std::chrono::seconds(5);
    if (command == "release") session_->release(soon);
    else if (command == "withdraw") session_->withdraw(soon);
    else if (command == "spawn") spawn_heir(*session_);
    else if (command.starts_with("detach-")) return detach(command);
    return true;
  }

  bool detach(const std::string& command) {
    const long value = std::atol(command.c_str() + std::strlen("detach-xxx "));
    DetachSpec spec;
    if (command.starts_with("detach-ttl")) spec.ttl = std::chrono::milliseconds(value);
    else spec.watch_pid = static_cast<pid_t>(value);
    const auto detached = session_->detach(spec);
    write_all(1, detached ? "detached\n" : "not detached: " + detached.error().message + "\n");
    return false;
  }

  SystemClock clock_;
  std::unique_ptr<LockSession> session_;
  std::string commands_;
};

}  // namespace

HelperProcess::HelperProcess(const std::string& store, const LockSpec& spec) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const UniqueFd child_in(in[0]);
  const UniqueFd child_out(out[1]);
  to_ = UniqueFd(in[1]);
  from_ = UniqueFd(out[0]);
  const auto words = to_arguments(store, spec);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
  const int failed = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) throw std::runtime_error("posix_spawn");
}

HelperProcess::~HelperProcess() {
  if (pid_ > 0) kill();
}

std::optional<std::string> HelperProcess::line(Duration patience) {
  SystemClock clock;
  const TimePoint until = clock.now() + patience;
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string first = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return first;
    }
    if (clock.now() >= until) return std::nullopt;
    std::vector<pollfd> fds{{from_.get(), POLLIN, 0}};
    clock.wait(fds, until);
    if (fds.front().revents == 0) continue;
    char buffer[512];
    const ssize_t n = read(from_.get(), buffer, sizeof buffer);
    if (n <= 0) return std::nullopt;
    unread_.append(buffer, static_cast<std::size_t>(n));
  }
}

FencingToken HelperProcess::granted() {
  const std::string said = line().value_or("nothing");
  const std::string token = said.starts_with("granted ") ? said.substr(8, said.find(' ', 8) - 8) : "";
  if (token.empty()) throw std::runtime_error("the helper was not granted the lock: " + said);
  return token_of(token);
}

void HelperProcess::say(const std::string& text) { write_all(to_.get(), text + "\n"); }

void HelperProcess::signal(int number) { ::kill(pid_, number); }

void HelperProcess::kill() {
  ::kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

FencingToken take_lease(const std::string& store, const LockSpec& spec, const std::string& how) {
  HelperProcess taker(store, spec);
  const FencingToken token = taker.granted();
  taker.say(how);
  const std::string said = taker.line().value_or("nothing");
  if (said != "detached") throw std::runtime_error("the helper did not detach the lease: " + said);
  return token;
}

std::optional<int> helper_main(int argc, char** argv, const BackendFactory& connect) {
  if (argc < 13 || std::strcmp(argv[1], kSwitch) != 0) return std::nullopt;
  ::signal(SIGPIPE, SIG_IGN);
  const auto backend = connect(argv[2]);
  return Helper(*backend, from_arguments(argv, argc)).run();
}

}  // namespace dlock::testing
