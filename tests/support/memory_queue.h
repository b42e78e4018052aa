// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/rows/row_queue.h"
#include "tests/support/memory_rows.h"

namespace dlock::testing {

/// Rows in memory, of a store with a queue of its own: for one lock. With a call that fails goes the place in it, as
/// with a connection.
class QueuedRows final : public MemoryRows, private RowQueue {
 public:
  QueuedRows(RowShelf& shelf, Clock& clock) : MemoryRows(shelf), shelf_(shelf), clock_(clock) {}
  ~QueuedRows() override { step_out(); }

  RowQueue* queue() override { return this; }
  void close() override {
    MemoryRows::close();
    step_out();
  }
  Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit& limit) override {
    return known(MemoryRows::read(group, keys, limit));
  }
  std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell tell,
                                          const CallLimit& limit) override {
    auto answers = MemoryRows::commit_each(group, commits, tell, limit);
    if (!answers.back()) step_out();
    return answers;
  }

 private:
  bool is_missing() const override { return false; }
  bool at_head() const override { return !shelf_.line.empty() && shelf_.line.front() == this; }

  Result<Look> look(const LockName& group, const std::string& key, const CallLimit& limit) override {
    if (shelf_.line.empty()) shelf_.line.push_back(this);
    return read(group, {&key, 1}, limit);
  }
  Result<Look> fill(const LockName& group, const std::string& key, const std::string& text,
                    const CallLimit& limit) override {
    if (shelf_.line.empty()) shelf_.line.push_back(this);
    if (at_head()) {
      TRY(commit(group, {filled(key, text)}, limit));
    }
    return read(group, {&key, 1}, limit);
  }

  Turn wait(const LockName& group, const std::string& key, const std::string& text, const WaitingNote& note,
            std::optional<TimePoint> until, Acquisition& acquisition, Control& control) override {
    shelf_.line.push_back(this);
    const auto sleep = [&](std::optional<TimePoint> end) {
      std::vector<pollfd> none;
      clock_.wait(none, end);
    };
    if (!acquisition.wait_on({[this] { return at_head(); }, sleep}, until, control)) return step_out(), Turn{};
    if (!note.takes) return {};
    const TimePoint sent = clock_.now();
    const auto number = commit(group, {filled(key, text)}, {sent});
    if (!number) return {.unknown = true};
    if (*number == 0) return {};
    const auto at = static_cast<std::int64_t>(*number);
    return {Look{{{text, *number, at}}, at}, sent};
  }

  Result<Number> commit_and_leave(const LockName& group, const Commit& one, const CallLimit& limit) override {
    const auto number = commit(group, one, limit);
    if (number && *number > 0) step_out();
    return number;
  }
  void leave(const LockName&, const CallLimit&) override { step_out(); }

  Rows& beside() override { return *(beside_ = std::make_unique<MemoryRows>(shelf_)); }
  Result<std::map<std::string, std::vector<Participant>>> waiters(const LockName*, const CallLimit&) override {
    return std::map<std::string, std::vector<Participant>>();
  }

  static Change filled(const std::string& key, const std::string& text) {
    return {.kind = Change::Kind::kFill, .key = key, .text = text};
  }
  template <typename Answer>
  Answer known(Answer answer) {
    if (!answer) step_out();
    return answer;
  }
  void step_out() {
    shelf_.tellings += at_head();
    std::erase(shelf_.line, this);
  }

  RowShelf& shelf_;
  Clock& clock_;
  std::unique_ptr<Rows> beside_;
};

}  // namespace dlock::testing
