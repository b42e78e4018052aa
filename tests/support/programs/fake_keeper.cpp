// SPDX-License-Identifier: Apache-2.0
// A keeper program that does as a script says, to be installed as libexec/dlock/dlock-redis beside a copy of dlock:
//
//   FAKE_KEEPER_SCRIPT="grant 2000; renew 2000; renew 2000; hang"
//
//   - grant TTL_MS: waits for acquire, grants a lease of that ttl
//   - renew TTL_MS: a third of the ttl later: renewed
//   - late TTL_MS: 0.4 ttl later than it should: renewed
//   - more TTL_MS: to a supervisor that is stopped: says that its latest renewal follows, and a moment after that has
//   been
//     read: renewed
//   - unreached WHY: says that the store does not answer
//   - lost WHY: says lost
//   - unconfirmed WHY: says that its release is not confirmed
//   - busy, unavailable, denied: refuses
//   - garbage: says what nobody understands
//   - hear: writes to heard.pidfd whose pidfd came with the next message but the guard's farewell
//   - sleep MS: does nothing for so long, deaf
//   - hang: does nothing for ever, deaf
//   - freeze: the same, and does not even see its supervisor's end (for 60 s)
//   - flood: says more at once than a message holds
//   - serve: answers release and withdraw until its supervisor ends
//   - die: is killed by SIGKILL
//   - crash: dies of SIGSEGV
//   - busyloop: uses the processor and hears nothing, until its supervisor ends
//   - exit N: ends with that status
//   - stop: stops itself (SIGSTOP)
//
// FAKE_KEEPER_PID: a file that gets its process id. FAKE_KEEPER_LOG: a file to which each message that comes in is
// appended, one line each. FAKE_KEEPER_LEASE: a file that gets the end of the last lease said, in seconds of
// CLOCK_BOOTTIME.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "lib/base/clock.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/packets.h"
#include "lib/base/process.h"
#include "lib/keeper/keeper_session.h"
#include "lib/keeper/messages.h"
#include "lib/lock/lease.h"

using namespace dlock;
using namespace std::chrono_literals;

namespace {

SystemClock real_clock;

void say(const Message& message) {
  const std::string packet = encode(message);
  send(kKeeperDescriptor, packet.data(), packet.size(), MSG_NOSIGNAL);
}

void replace_content(const char* path, const std::string& text) {
  const UniqueFd file(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  write_all(file.get(), text);
}

/// The next message, or one with an empty verb when the supervisor is gone.
Message hear(UniqueFd* passed = nullptr) {
  std::string packet(kLargestMessage, '\0');
  pollfd socket{kKeeperDescriptor, POLLIN, 0};
  poll(&socket, 1, -1);
  const ssize_t size = receive_packet(kKeeperDescriptor, packet, passed);
  if (size <= 0) return {};
  auto message = decode(std::string_view(packet).substr(0, static_cast<std::size_t>(size)));
  if (const char* path = getenv("FAKE_KEEPER_LOG")) {
    const UniqueFd log(open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    write_all(log.get(), (message ? message->verb : std::string("?")) + "\n");
  }
  return message ? *message : Message{};
}

/// Deaf, but not for ever: ends with its supervisor, or every failed test would leave a process behind.
void pause_for(Duration time) {
  const TimePoint until = real_clock.now() + time;
  while (real_clock.now() < until) {
    std::vector<pollfd> hangup = {{kKeeperDescriptor, 0, 0}};
    real_clock.wait(hangup, until);
    if (hangup[0].revents != 0) exit(0);
  }
}

/// Carries out one step of the script after the other.
class Script {
 public:
  explicit Script(std::string text) : text_(std::move(text)) {}

  void play() {
    while (!text_.empty()) {
      const std::size_t end = text_.find(';');
      std::string step = text_.substr(0, end);
      text_.erase(0, end == std::string::npos ? end : end + 1);
      step.erase(0, step.find_first_not_of(' '));
      const std::size_t blank = step.find(' ');
      perform(step.substr(0, blank), blank == std::string::npos ? "" : step.substr(blank + 1));
    }
  }

 private:
  void perform(const std::string& word, const std::string& argument) {
    const Duration number = std::chrono::milliseconds(atoll(argument.c_str()));
    if (word == "grant") grant(number);
    else if (word == "renew") renew(number, number / 3);
    else if (word == "late") renew(number, number / 3 + number * 4 / 10);
    else if (word == "more") more(number);
    else if (word == "unreached") say(event_message(Unreached{argument}));
    else if (word == "lost") say(event_message(Lost{argument}));
    else if (word == "unconfirmed") say(event_message(ReleaseUnconfirmed{{ErrorCode::kUnavailable, argument}}));
    else if (word == "busy") refuse(ErrorCode::kBusy, "held by somebody");
    else if (word == "unavailable") refuse(ErrorCode::kUnavailable, "cannot reach redis://nowhere: connection refused");
    else if (word == "denied") refuse(ErrorCode::kDenied, "redis://nowhere refused the password");
    else if (word == "garbage") send(kKeeperDescriptor, "\x01\x02=", 3, MSG_NOSIGNAL);
    else if (word == "sleep") pause_for(number);
    else if (word == "serve") serve();
    else if (word == "die") raise(SIGKILL);
    else if (word == "crash") raise(SIGSEGV);
    else if (word == "busyloop") compute();
    else if (word == "exit") _exit(atoi(argument.c_str()));
    else if (word == "stop") raise(SIGSTOP);
    else if (word == "hang") pause_for(1h);
    else if (word == "freeze") sleep(60);
    else if (word == "flood") flood();
    else if (word == "hear") hear_pidfd();
  }

  /// The end of the lease, known in the file before anybody is told of it.
  TimePoint lease_from_now(Duration ttl) {
    sent_ = real_clock.now();
    const TimePoint end = lease_deadline(sent_, ttl);
    const std::chrono::duration<double> since_boot = end.time_since_epoch();
    if (const char* path = getenv("FAKE_KEEPER_LEASE"))
      replace_content(path, std::to_string(since_boot.count()) + "\n");
    return end;
  }

  void grant(Duration ttl) {
    const auto request = parse_acquire(hear());
    if (!request) exit(70);
    const TimePoint end = lease_from_now(ttl);
    const LockSpec& spec = request->spec;
    say(event_message(Granted{{{spec.name, spec.owner, FencingToken(42), request->url.redacted()}}, end}));
  }

  void renew(Duration ttl, Duration later) {
    pause_for(sent_ + later - real_clock.now());
    say(event_message(Renewed{lease_from_now(ttl)}));
  }

  void more(Duration ttl) {
    while (look_up_process(getppid())->state != 'T') pause_for(10ms);
    say({std::string(kMore), {}});
    for (int unread = 1; unread > 0; pause_for(10ms)) ioctl(kKeeperDescriptor, TIOCOUTQ, &unread);
    pause_for(100ms);
    say(event_message(Renewed{lease_from_now(ttl)}));
  }

  static void compute() {
    pollfd hangup{kKeeperDescriptor, 0, 0};
    while (poll(&hangup, 1, 0) == 0) {
      for (const TimePoint end = real_clock.now() + 100ms; real_clock.now() < end;) {
      }
    }
    exit(0);
  }

  void refuse(ErrorCode code, const char* why) {
    hear();
    say(event_message(Refused{{code, why, "nothing was run"}, std::nullopt}));
  }

  void hear_pidfd() {
    UniqueFd passed;
    while (hear(&passed).verb == "farewell") continue;
    replace_content("heard.pidfd", std::to_string(pid_of(passed)) + "\n");
  }

  void flood() {
    const std::string packet = "waiting\n" + std::string(kLargestMessage, 'x');
    send(kKeeperDescriptor, packet.data(), packet.size(), MSG_NOSIGNAL);
  }

  void serve() {
    for (Message message = hear(); !message.verb.empty(); message = hear()) {
      if (message.verb == "release" || message.verb == "detach") say(event_message(Released{}));
      if (message.verb == "withdraw") say(event_message(Withdrawn{}));
    }
  }

  std::string text_;
  TimePoint sent_{};
};

}  // namespace

int main() {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::signal(signal, SIG_IGN);
  if (const char* path = getenv("FAKE_KEEPER_PID")) replace_content(path, std::to_string(getpid()));
  const char* script = getenv("FAKE_KEEPER_SCRIPT");
  Script(script ? script : "serve").play();
}
