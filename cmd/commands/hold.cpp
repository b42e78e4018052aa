// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <unistd.h>

#include <cerrno>

#include "cmd/show/exit_status.h"
#include "cmd/show/report.h"
#include "cmd/wiring/take.h"

namespace dlock {
namespace {

/// The "command" under a held lock: reading stdin to its end. While the lock is waited for it is left alone: an end
/// that was seen then would be over before anything had begun.
class ReadingStdin final : public LockedCommand {
 public:
  ReadingStdin(const Options& options, Output& out) : options_(options), out_(out) {}

  SupervisorEvent start(const StartContext& context) override {
    started_ = true;
    const auto written = out_.write_in_time(granted_text(options_, "dlock.hold/2", context.locks, std::nullopt));
    if (written) return CommandStarted{};
    return CommandNotStarted{written.error(), exit_status(ErrorCode::kSystem)};
  }

  void add_interest(std::vector<pollfd>& fds) const override {
    if (started_ && !over_) fds.push_back({STDIN_FILENO, POLLIN, 0});
  }

  std::optional<CommandEnded> ended() override {
    if (!started_ || said_) return std::nullopt;
    if (!over_) drain();
    if (!over_) return std::nullopt;
    said_ = true;
    return CommandEnded{};
  }

  void signal(int number) override { over_ = over_ || !is_harmless(number); }
  void signal_tree(int /*number*/) override { over_ = true; }

 private:
  /// Another reader of the same stdin, which one of us made not to block, may have been faster.
  static bool is_end(ssize_t size) { return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR); }

  void drain() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 0) != 1) return;
    char ignored[4096];
    if (input.revents & POLLNVAL) over_ = true;  // stdin was closed from the start
    else over_ = is_end(read(STDIN_FILENO, ignored, sizeof ignored));
  }

  const Options& options_;
  Output& out_;
  bool started_ = false;
  bool over_ = false;
  bool said_ = false;
};

/// ^C is for us: there is no command that has it too.
class OwnSignals final : public SignalInbox {
 public:
  explicit OwnSignals(SignalInbox& inbox) : inbox_(inbox) {}
  int fd() const override { return inbox_.fd(); }
  std::optional<ReceivedSignal> next() override {
    auto signal = inbox_.next();
    if (signal && is_an_end(signal->number)) signal->from_terminal = false;
    return signal;
  }

 private:
  SignalInbox& inbox_;
};

}  // namespace

int hold_command(const Options& options, const Runtime& runtime, Output& out) {
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  OwnSignals own(*signals);
  ReadingStdin reading(options, out);
  LockTaking taking(options, runtime);
  if (const auto taken = taking.take(&reading, own); !taken) return fail(runtime.log, taken.error());
  const SupervisorState& s = taking.state();
  if (s.outcome == Outcome::kNotStarted) return fail(runtime.log, *s.error);
  return s.outcome == Outcome::kRan ? 0 : taking.explain();
}

}  // namespace dlock
