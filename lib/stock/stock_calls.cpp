// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_calls.h"

#include <algorithm>

#include "lib/base/random.h"
#include "lib/stock/stock_rows.h"

namespace dlock {
namespace {

constexpr Duration kRacePause = std::chrono::milliseconds(1);
constexpr int kMostRacePauses = 6;
constexpr Duration kLongestListening = std::chrono::seconds(1);

}  // namespace

std::optional<StockHead>& StockCalls::head_of(const LockName& name) {
  if (!head_ || head_->first != name) head_.emplace(name, std::nullopt);
  return head_->second;
}

StockLook StockCalls::known(const LockName& name) {
  StockLook look;
  look.head = head_of(name);
  return look;
}

/// `error` comes after a commit that may have been made.
Error StockCalls::and_before(Error error) const {
  error.undone = error.undone && !is_unsure();
  return error;
}

Result<void> StockCalls::race(const LockName& name, int races, const CallLimit& limit) {
  if (races == 0) unknown_.reset();
  if (races == 0) return {};
  const TimePoint now = clock_.now();
  if (now >= limit.until) {
    if (unknown_) return *unknown_;
    return crowd_at(store(), name);
  }
  const Duration pause = unknown_     ? kOutagePause
                         : races == 1 ? Duration(0)
                                      : jitter(kRacePause * (1 << std::min(races, kMostRacePauses)));
  if (rest(clock_, std::min(limit.until, now + pause), limit.control)) return {};
  return Error{ErrorCode::kCancelled, "given up on request"};
}

Result<StockLook> StockCalls::look(const LockName& name, const std::vector<LockName>& ids, const Sight& sight,
                                   const CallLimit& limit) {
  return until_answered([&] { return look_at_stock(*rows_, name, head_of(name), ids, sight, limit); }, limit);
}

Result<Rows::Number> StockCalls::settled(Result<Rows::Number> number, const CallLimit& limit) {
  if (number || number.error().code != ErrorCode::kUnavailable) return number;
  unknown_ = and_before(std::move(number).error());
  // A call that is cut short would leave it open whether it was done: what was refused before it is the better answer.
  if (clock_.now() + 3 * kOutagePause >= limit.until) return *unknown_;
  return Rows::Number(0);
}

Result<Rows::Number> StockCalls::commit(const LockName& name, const Rows::Commit& one, const CallLimit& limit,
                                        Rows::Tell tell) {
  return settled(std::move(rows_->commit_each(name, {&one, 1}, tell, limit).front()), limit);
}

std::vector<Result<Rows::Number>> StockCalls::commit_each(const LockName& name,
                                                          const std::vector<Rows::Commit>& commits, Rows::Tell tell,
                                                          const CallLimit& limit) {
  auto numbers = rows_->commit_each(name, commits, tell, limit);
  for (Result<Rows::Number>& one : numbers) one = settled(std::move(one), limit);
  return numbers;
}

bool StockCalls::wait_for(const LockName& name, const std::string& key, Duration pause, const CallLimit& limit) {
  told_ = false;
  const auto listens = rows_->listen(name, key, limit);
  const TimePoint now = clock_.now();
  if (!listens || !*listens) return rest(clock_, std::min(limit.until, now + pause), limit.control);
  const std::vector<std::string> keys{key};
  const auto look = rows_->read(name, keys, limit);  // it may have gone before
  told_ = look && look->rows.front().text.empty();
  if (!look || told_) return !limit.control || !limit.control->stop_requested();
  return hear(std::min(limit.until, now + kLongestListening), limit.control);
}

StockCalls::LockTurn StockCalls::turn_of_lock(const LockName& name, int segment, Duration wait,
                                              const CallLimit& limit) {
  const auto& head = head_of(name);
  if (!head) return {};
  const std::vector<int> some = locks_from(segment, head->segments);
  std::vector<std::string> keys;
  for (const int one : some) keys.push_back(lock_row(one));
  const auto turn = rows_->take_turn(name, keys, wait, limit);
  if (!turn) return {};
  return {turn->queues, turn->key ? std::optional(some[*turn->key]) : std::nullopt};
}

bool StockCalls::hear(TimePoint until, Control* control) {
  while (!(told_ = rows_->heard()) && clock_.now() < until) {
    if (control && control->stop_requested()) return false;
    std::vector<pollfd> fds;
    if (control) control->add_interest(fds);
    rows_->add_interest(fds);
    clock_.wait(fds, until);
  }
  return true;
}

}  // namespace dlock
