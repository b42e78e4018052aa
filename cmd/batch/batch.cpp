// SPDX-License-Identifier: Apache-2.0
#include "cmd/batch/batch.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <utility>

#include "cmd/batch/step_line.h"
#include "cmd/options/command_table.h"
#include "cmd/show/exit_status.h"
#include "cmd/wiring/end_signals.h"
#include "lib/base/system_error.h"
#include "lib/run/signal_inbox.h"
#include "lib/stock/taking.h"

namespace dlock {
namespace {

constexpr std::size_t kChunk = 65'536;
constexpr std::size_t kBlock = 256;  ///< lines that are served in one go

/// Lines of Windows end in two characters.
std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

using namespace std::chrono_literals;

constexpr Duration kAskAgain = 10s;   ///< how long a block is asked again, unless --wait says otherwise
constexpr Duration kCallBudget = 5s;  ///< one call for a block
constexpr Duration kLastWords = 2s;   ///< how long the last answers wait for their reader once a signal wants an end
constexpr std::size_t kPipePiece = 4096;  ///< what a pipe that poll() says is ready takes at once

class Batch {
 public:
  Batch(const Options& options, Stock& stock, const Runtime& runtime, Output& out, SignalInbox& inbox)
      : options_(options), stock_(stock), runtime_(runtime), out_(out), signals_(inbox), start_(start_by_chance()) {}

  int run() {
    if (auto there = find_stock(); !there) return fail(runtime_.log, there.error());
    while (!over_ && !signals_.stop_requested()) {
      collect();
      if (lines_.empty()) continue;
      serve();
      print();
    }
    return end();
  }

 private:
  struct Line {
    std::uint64_t number = 0;
    std::optional<Error> wrong;  ///< nullopt: the next of steps_
  };

  const LockName& name() const { return options_.keys.front(); }
  Clock& clock() const { return runtime_.clock; }
  Duration patience() const {
    if (options_.nonblock) return options_.connect_timeout;
    return options_.wait.value_or(std::max(options_.connect_timeout, kAskAgain));
  }

  /// Nobody wants a million answers that there is no such stock.
  Result<void> find_stock() {
    const auto look = [&](const CallLimit& limit) -> Result<void> {
      const auto state = stock_.show(name(), limit);
      return state ? Result<void>() : state.error();
    };
    const TimePoint until = clock().now() + patience();
    auto found = insist(look, until, clock(), &signals_);
    return found ? found : with_nearest_stock(found.error(), stock_, name(), CallLimit{until});
  }

  /// A block: what the input has now, up to kBlock lines; waits for the first.
  void collect() {
    lines_.clear();
    steps_.clear();
    while (lines_.size() < kBlock) {
      if (const auto line = reader_.next()) {
        put(*line);
        continue;
      }
      over_ = reader_.is_over();
      if (over_ || !has_input(lines_.empty())) return;
      if (reader_.fill()) continue;
      failure_ = system_error("cannot read the requests", errno);
      over_ = true;
      return;
    }
  }

  void put(const LineReader::Line& line) {
    auto step = parse(line);
    lines_.push_back({line.number, step ? std::nullopt : std::optional(step.error())});
    if (!step) return;
    if (step->kind == StockStep::Kind::kTake) step->start = start_ = (start_ + 1) & 0xffffff;
    steps_.push_back(std::move(*step));
  }

  Result<StockStep> parse(const LineReader::Line& line) const {
    if (line.kind == LineReader::Line::Kind::kTooLong) {
      return Error{ErrorCode::kInvalid, "it is longer than " + std::to_string(LineReader::kLongest) + " bytes"};
    }
    return parse_step(line.text);
  }

  /// False: the input pauses, or an end is wanted. With `wait` only the latter.
  bool has_input(bool wait) {
    while (true) {
      std::vector<pollfd> fds{{STDIN_FILENO, POLLIN, 0}};
      if (out_.fd() >= 0) fds.push_back({out_.fd(), 0, 0});
      signals_.add_interest(fds);
      if (wait) clock().wait(fds, std::nullopt);
      else poll(fds.data(), fds.size(), 0);
      if (signals_.stop_requested()) return false;
      if (fds.front().revents) return true;
      if (wait && out_.fd() >= 0 && (fds[1].revents & kNobodyReads) != 0) {
        lose_reader(EPIPE);
        return false;
      }
      if (!wait) return false;
    }
  }

  /// An answer for each of steps_. Those that none came for are asked for again, by their ids.
  void serve() {
    answers_.clear();
    std::vector<std::size_t> open;
    std::set<std::size_t> unknown;  // may have been done
    const auto ask = [&](const CallLimit& limit) -> Result<void> {
      const CallLimit call{std::min(limit.until, clock().now() + kCallBudget)};
      if (answers_.empty()) answers_ = stock_.serve(name(), steps_, call);
      else ask_again(open, call);
      open.clear();
      for (std::size_t i = 0; i < answers_.size(); ++i) {
        if (answers_[i] || answers_[i].error().code != ErrorCode::kUnavailable) continue;
        open.push_back(i);
        if (!answers_[i].error().undone) unknown.insert(i);
      }
      return open.empty() ? Result<void>() : answers_[open.front()].error();
    };
    if (steps_.empty()) return;
    static_cast<void>(insist(ask, clock().now() + patience(), clock(), &signals_));
    if (open.size() == steps_.size()) over_ = unreachable_ = true;
    for (const std::size_t i : open) {
      if (!unknown.contains(i)) answers_[i] = busy_if_crowded(answers_[i].error());
    }
  }

  void ask_again(const std::vector<std::size_t>& open, const CallLimit& limit) {
    std::vector<StockStep> again;
    for (const std::size_t i : open) again.push_back(steps_[i]);
    auto answers = stock_.serve(name(), again, limit);
    for (std::size_t i = 0; i < open.size(); ++i) answers_[open[i]] = std::move(answers[i]);
  }

  void print() {
    text_.clear();
    std::size_t step = 0;
    for (const Line& line : lines_) {
      if (line.wrong) {
        (options_.json ? put_json_refusal : put_refusal)(text_, line.number, *line.wrong);
        count(line.wrong->code);
        continue;
      }
      const auto& answer = answers_[step];
      (options_.json ? put_json_answer : put_answer)(text_, steps_[step++], answer);
      if (!answer) count(answer.error().code);
      else if (std::holds_alternative<StockInProgress>(*answer)) count(ErrorCode::kBusy);
    }
    answered_ = lines_.back().number;
    deliver();
  }

  void count(ErrorCode code) {
    unknown_ = unknown_ || code == ErrorCode::kUnavailable;
    if (!first_error_) first_error_ = code;
  }

  /// Waits for the reader, but not for ever once an end is wanted.
  void deliver() {
    std::string_view rest = text_;
    if (out_.fd() < 0) static_cast<void>(out_.write(std::exchange(rest, {})));
    std::optional<TimePoint> until;
    while (!rest.empty()) {
      if (!until && signals_.stop_requested()) until = clock().now() + kLastWords;
      std::vector<pollfd> fds{{out_.fd(), POLLOUT, 0}};
      if (!until) signals_.add_interest(fds);
      clock().wait(fds, until);
      if (fds.front().revents == 0) {
        if (!until || clock().now() < *until) continue;
        return lose_reader(ETIMEDOUT);
      }
      const ssize_t n = write(out_.fd(), rest.data(), std::min(rest.size(), kPipePiece));
      if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
      else if (errno != EINTR && errno != EAGAIN) return lose_reader(errno);
    }
  }

  void lose_reader(int number) {
    over_ = true;
    failure_ = system_error("cannot write the answers", number);
    failure_->next = "send the same requests again: nothing is sold twice";
  }

  /// Says what was not started, if that was not all.
  int end() {
    if (failure_) runtime_.log.error(*failure_);
    const bool cut = !reader_.is_over() && (failure_ || unreachable_ || signals_.number() != 0);
    if (cut) say_not_started();
    if (failure_) return exit_status(failure_->code);
    if (unknown_) return exit_status(ErrorCode::kUnavailable);
    if (cut) return exit_status(ErrorCode::kBusy);
    return first_error_ ? exit_status(*first_error_) : 0;
  }

  /// Blocks are served in their order, so it is one line and all after it.
  void say_not_started() {
    std::string from = "line " + std::to_string(answered_ + 1);
    std::size_t read = 0;
    while (const auto line = reader_.next()) {
      if (read++ == 0) from += " (" + in_quotes(line->text) + ")";
    }
    runtime_.log.error({ErrorCode::kCancelled,
                        from + " and those after it were not started" +
                            (read > 1 ? "; " + std::to_string(read) + " of them were read" : ""),
                        "start again from that line, or from the first: what was served is not served twice"});
  }

  const Options& options_;
  Stock& stock_;
  const Runtime& runtime_;
  Output& out_;
  EndSignals signals_;
  LineReader reader_{STDIN_FILENO};
  int start_;
  std::vector<Line> lines_;
  std::vector<StockStep> steps_;
  std::vector<Result<StepAnswer>> answers_;  ///< of steps_
  std::string text_;
  std::uint64_t answered_ = 0;  ///< the last line that has an answer
  std::optional<ErrorCode> first_error_;
  std::optional<Error> failure_;  ///< of stdin or stdout
  bool unknown_ = false;          ///< a request has no answer
  bool unreachable_ = false;
  bool over_ = false;
};

}  // namespace

std::optional<LineReader::Line> LineReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const std::size_t end = rest.find('\n');
  if (end != std::string_view::npos) {
    begin_ += end + 1;
    const bool too_long = std::exchange(too_long_, false) || end > kLongest;
    return Line{too_long ? Line::Kind::kTooLong : Line::Kind::kWhole, ++number_,
                too_long ? std::string_view() : without_return(rest.substr(0, end))};
  }
  if (ended_ && (too_long_ || !rest.empty())) {
    begin_ = buffer_.size();
    const bool too_long = std::exchange(too_long_, false) || rest.size() > kLongest;
    return Line{too_long ? Line::Kind::kTooLong : Line::Kind::kWhole, ++number_,
                too_long ? std::string_view() : without_return(rest)};
  }
  if (rest.size() > kLongest) {
    too_long_ = true;
    begin_ = buffer_.size();
  }
  return std::nullopt;
}

bool LineReader::fill() {
  buffer_.erase(0, std::exchange(begin_, 0));
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kChunk);
  const ssize_t n = read(fd_, buffer_.data() + before, kChunk);
  buffer_.resize(before + (n > 0 ? static_cast<std::size_t>(n) : 0));
  if (n == 0) ended_ = true;
  return n >= 0 || errno == EINTR || errno == EAGAIN;
}

int batch_command(const Options& options, Stock& stock, const Runtime& runtime, Output& out) {
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  return Batch(options, stock, runtime, out, *signals).run();
}

}  // namespace dlock
