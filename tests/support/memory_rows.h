// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/rows/rows.h"

namespace dlock::testing {

/// The rows of all groups of one space, and what goes wrong; outlives its clients.
struct RowShelf {
  explicit RowShelf(Clock& its_clock) : clock(its_clock) {}

  /// A call that fails: before it has done anything, or after all of it.
  enum class Fault { kBefore, kAfter };

  std::int64_t now_us() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(clock.now().time_since_epoch() + ahead).count();
  }

  Clock& clock;
  Duration ahead{0};  ///< of the store's clock
  bool tells = true;
  std::set<std::pair<LockName, std::string>> told = {};  ///< and not heard yet
  int tellings = 0;
  std::map<LockName, std::map<std::string, Rows::Row>> groups;
  std::map<LockName, Rows::Number> last;
  bool queues = false;                                                 ///< the store has one for each row
  std::map<std::pair<LockName, std::string>, const void*> turns = {};  ///< whose they are
  std::function<void()> during_wait = {};                              ///< for a turn: what others do
  std::deque<const void*> line;  ///< in the queue of a store that has one, the head first (memory_queue.h)
  int calls = 0;
  std::size_t shown = 0;  ///< rows, by all reads
  int fault_at = 0;       ///< the number of the call that fails; 0: none
  Fault fault = Fault::kBefore;
  std::function<void()> between = {};  ///< before each call: what others do
  bool refuses_writes = false;         ///< but answers reads
  std::function<void(const Rows::Row& before, const Rows::Row& after)> changed = {};  ///< each row
};

/// A store that is this process's memory. Who waits for what is told waits on the clock.
class MemoryRows : public Rows {
 public:
  explicit MemoryRows(RowShelf& shelf) : shelf_(shelf) {}

  const std::string& store() const override { return store_; }

  Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit&) override {
    if (begin()) return cut_off();
    Look look{{}, shelf_.now_us()};
    for (const std::string& key : keys) look.rows.push_back(row(group, key));
    shelf_.shown += keys.size();
    return end() ? Result<Look>(cut_off()) : std::move(look);
  }

  Result<std::vector<std::string>> list(const LockName& group, const std::string& prefix, const CallLimit&) override {
    if (begin()) return cut_off();
    std::vector<std::string> keys;
    if (shelf_.groups.contains(group)) {
      for (const auto& [key, row] : shelf_.groups.at(group)) {
        if (key.starts_with(prefix)) keys.push_back(key);
      }
    }
    return end() ? Result<std::vector<std::string>>(cut_off()) : std::move(keys);
  }

  Result<std::vector<LockName>> groups(const CallLimit&) override {
    if (begin()) return cut_off();
    std::vector<LockName> names;
    for (const auto& [name, rows] : shelf_.groups) names.push_back(name);
    return end() ? Result<std::vector<LockName>>(cut_off()) : std::move(names);
  }

  std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell /*tell*/,
                                          const CallLimit& /*limit*/) override {
    std::vector<Result<Number>> answers;
    for (const Commit& one : commits) {
      const bool stopped = !answers.empty() && !answers.back();
      answers.push_back(stopped ? answers.back() : carry_out(group, one));
    }
    return answers;
  }

  Result<bool> listen(const LockName& group, const std::string& key, const CallLimit&) override {
    if (begin()) return cut_off();
    listens_to_ = {group, key};
    return end() ? Result<bool>(cut_off()) : shelf_.tells;
  }
  /// Who waits has what becomes free meanwhile; nobody else waits.
  Result<RowTurn> take_turn(const LockName& group, std::span<const std::string> keys, Duration wait,
                            const CallLimit& limit) override {
    if (!shelf_.queues) return RowTurn{};
    if (begin()) return cut_off();
    leave_turns();
    RowTurn turn{true};
    const auto take = [&](std::size_t i) {
      if (shelf_.turns.try_emplace({group, keys[i]}, this).second) turn.key = i;
    };
    for (std::size_t i = 0; i < keys.size() && !turn.key; ++i) take(i);
    if (!turn.key && wait > Duration(0)) {
      if (shelf_.during_wait) shelf_.during_wait();
      else shelf_.clock.sleep_until(std::min(limit.until, shelf_.clock.now() + wait));
      take(keys.size() - 1);
    }
    return end() ? Result<RowTurn>(cut_off()) : turn;
  }
  bool heard() override { return listens_to_ && shelf_.told.erase(*listens_to_) > 0; }
  void close() override {
    listens_to_.reset();
    leave_turns();
  }

 private:
  void leave_turns() {
    std::erase_if(shelf_.turns, [&](const auto& one) { return one.second == this; });
  }
  bool begin() {
    if (shelf_.between) shelf_.between();
    ++shelf_.calls;
    return fails(RowShelf::Fault::kBefore);
  }
  bool end() const { return fails(RowShelf::Fault::kAfter); }
  bool fails(RowShelf::Fault fault) const { return shelf_.calls == shelf_.fault_at && shelf_.fault == fault; }
  Error cut_off() const { return {ErrorCode::kUnavailable, store_ + " did not answer"}; }

  Row row(const LockName& group, const std::string& key) const {
    const auto rows = shelf_.groups.find(group);
    if (rows == shelf_.groups.end()) return {};
    const auto found = rows->second.find(key);
    return found == rows->second.end() ? Row() : found->second;
  }

  Result<Number> carry_out(const LockName& group, const Commit& commit) {
    if (begin()) return cut_off();
    if (shelf_.refuses_writes)
      return Error{.code = ErrorCode::kUnavailable,
                   .message = store_ + " is read-only",
                   .undone = true,
                   .outage = Outage::kRefused};
    const Number number = std::all_of(commit.begin(), commit.end(), [&](const Change& one) { return fits(group, one); })
                              ? make(group, commit)
                              : 0;
    if (number == 0) leave_turns();
    return end() ? Result<Number>(cut_off()) : number;
  }

  bool fits(const LockName& group, const Change& one) const {
    if (one.kind == Change::Kind::kClear || one.kind == Change::Kind::kTell) return true;
    if (one.kind == Change::Kind::kBefore) return shelf_.now_us() < static_cast<std::int64_t>(one.version);
    const Row now = row(group, one.key);
    if (one.kind == Change::Kind::kFill) return now.text.empty();
    if (one.kind == Change::Kind::kAdd) return now.version != 0 && !added_numbers(now.text, one.add).empty();
    return now.version == one.version;
  }

  Number make(const LockName& group, const Commit& commit) {
    const std::int64_t now = shelf_.now_us();
    const Number number = shelf_.last[group] = std::max(shelf_.last[group] + 1, static_cast<Number>(now));
    auto& rows = shelf_.groups[group];
    for (const Change& one : commit) {
      const Row before = row(group, one.key);
      if (one.kind == Change::Kind::kTell) leave_turns();
      if (one.kind == Change::Kind::kFill && shelf_.queues) shelf_.turns.try_emplace({group, one.key}, this);
      if (one.kind == Change::Kind::kClear) rows.clear();
      else if (one.kind == Change::Kind::kRemove) rows.erase(one.key);
      else if (one.kind == Change::Kind::kPut || one.kind == Change::Kind::kFill)
        rows[one.key] = {one.text, number, now};
      else if (one.kind == Change::Kind::kAdd)
        rows[one.key] = {added_numbers(rows[one.key].text, one.add), number, now};
      else if (one.kind == Change::Kind::kTell && shelf_.tells) shelf_.told.emplace(group, one.key), ++shelf_.tellings;
      if (shelf_.changed && rows.contains(one.key)) shelf_.changed(before, rows[one.key]);
    }
    if (rows.empty()) shelf_.groups.erase(group);
    return number;
  }

  RowShelf& shelf_;
  std::optional<std::pair<LockName, std::string>> listens_to_;
  const std::string store_ = "memory:";
};

}  // namespace dlock::testing
