// SPDX-License-Identifier: Apache-2.0
#include "backends/local/lock.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/local/leases.h"
#include "backends/local/view.h"
#include "lib/base/human_text.h"
#include "lib/base/system_error.h"

namespace dlock::local {
namespace {

using std::chrono::milliseconds;

constexpr Duration kGuardPause = milliseconds(50);
constexpr Duration kGuardPatience = std::chrono::seconds(1);
/// A waiter that is stopped at all looks for so long, with its turn come, is passed over.
constexpr Duration kStoppedPatience = std::chrono::seconds(5);
constexpr Duration kUnwatched = milliseconds(200);
constexpr Duration kFirstRung = milliseconds(1);
constexpr Duration kLastRung = std::chrono::seconds(1);

}  // namespace

LocalLock::LocalLock(LocalContext& context, const LockSpec& spec)
    : context_(context), spec_(spec), steps_(spec_, context.runtime, *this) {}

void LocalLock::acquire(TimePoint now) {
  started_ = now;
  start(now);
}

/// A new place in the queue, from the opening of the file.
void LocalLock::start(TimePoint now) {
  waiter_.reset();
  watch_.reset();
  path_.close();
  // It may have been moved, with the file that we have left.
  if (queue_entry_) context_.opened_directory.reset();
  queue_entry_.reset();
  auto file = QueueEntry::open(context_, spec_);
  if (!file) return refuse(file.error());
  queue_entry_.emplace(context_, spec_, std::move(*file));
  if (spec_.name.is_path()) queue_entry_->wait_for_more();
  attempt(now);
}

void LocalLock::attempt(TimePoint now) {
  // No place in the queue keeps who pauses between attempts in its file, where others may have gone on to another one.
  if (state_ == State::kPause && queue_entry_->file().replaced()) return start(now);
  if (!spec_.take) take(queue_entry_->probe(now), now);
  else if (queue_entry_->ticket() != 0) take(queue_entry_->advance(now, context_.runtime.clock.wall()), now);
  else take(queue_entry_->enter(now, context_.runtime.clock.wall(), steps_.patience().queues()), now);
}

void LocalLock::take(const Result<QueueEntry::Step>& step, TimePoint now) {
  if (!step) return refuse(step.error());
  switch (*step) {
    case QueueEntry::Step::kGranted:
      return spec_.name.is_path() ? take_flock(now) : granted(now);
    case QueueEntry::Step::kStartOver:
      return start(now);
    case QueueEntry::Step::kGuardStuck:
      // A starved process gets time to go on, even from those who want an answer at once.
      if (steps_.patience().is_once() && now >= started_ + kGuardPatience)
        return refuse(queue_entry_->file().guard_stuck());
      state_ = State::kGuardStuck;
      retry_at_ = now + kGuardPause;
      return;
    case QueueEntry::Step::kQueued:
    case QueueEntry::Step::kFirstInLine:
    case QueueEntry::Step::kDelayed:
    case QueueEntry::Step::kBusy:
      return wait(*step, now);
  }
}

void LocalLock::wait(QueueEntry::Step step, TimePoint now) {
  if (auto refused = steps_.busy()) return end(std::move(*refused));
  if (step == QueueEntry::Step::kBusy || !steps_.patience().queues()) {
    state_ = State::kPause;
    trace_busy("");
    retry_at_ = steps_.patience().wait_end(now).value_or(now);
    return;
  }
  if (step == QueueEntry::Step::kQueued) return wait_in_queue(now);
  wait_in_front(now);  // a lease may be ended early
  retry_at_ = *earlier(retry_at_, queue_entry_->delayed_until());
}

void LocalLock::wait_in_queue(TimePoint now) {
  waiter_.reset();
  auto waiter = WaitingChild::for_bytes(queue_entry_->file().fd(), queue_entry_->awaited());
  if (!waiter) return refuse(waiter.error());
  waiter_.emplace(std::move(*waiter));
  if (state_ != State::kQueued) steps_.trace("queued in " + queue_entry_->file().path());
  state_ = State::kQueued;
  retry_at_ = now + queue_entry_->look_pause();
}

void LocalLock::trace_busy(const char* place) {
  steps_.trace("already held in " + queue_entry_->file().path() + place);
}

/// Any permit may come free, and no lock call can wait for "any": the file is watched instead. The kernel reports a
/// close a moment before it drops the locks, hence the ladder.
void LocalLock::wait_in_front(TimePoint now) {
  waiter_.reset();
  if (state_ == State::kFirstInLine) {
    ladder_ = std::min<Duration>(ladder_ * 4, kLastRung);
    retry_at_ = now + ladder_;
    return;
  }
  state_ = State::kFirstInLine;
  trace_busy(", first in line");
  watch_.emplace(queue_entry_->file().fd(), IN_CLOSE_WRITE | IN_ATTRIB);
  ladder_ = kFirstRung;
  retry_at_ = now;  // for changes from before the watch
}

void LocalLock::take_flock(TimePoint now) {
  // A joined hold has the flock already, in the descriptor that the outer one passed on.
  if (spec_.take && queue_entry_->entry() > 0) return granted(now);
  auto opened = PathLock::open(spec_.name.text(), context_.settings.allow_network_fs);
  if (!opened) return refuse(opened.error());
  path_ = std::move(*opened);
  const auto got = path_.try_lock(spec_.mode);
  if (!got) return refuse(got.error());
  if (*got) return flock_granted(getpid(), now);
  if (steps_.patience().queues()) return wait_for_flock(now);
  if (spec_.take) {
    queue_entry_->release();
    queue_entry_->wait_for_more();
  }
  wait(QueueEntry::Step::kBusy, now);
}

void LocalLock::wait_for_flock(TimePoint now) {
  waiter_.reset();
  auto waiter = WaitingChild::for_flock(path_.fd(), PathLock::operation(spec_.mode));
  if (!waiter) return refuse(waiter.error());
  waiter_.emplace(std::move(*waiter));
  state_ = State::kFlock;
  retry_at_ = now + queue_entry_->look_pause();
  if (!spec_.take) return;
  // So that others do not take our waiter for a foreign program.
  if (const auto noted = queue_entry_->note_flock_pid(waiter_->pid()); !noted) refuse(noted.error());
}

void LocalLock::flock_granted(std::int64_t pid, TimePoint now) {
  if (path_.replaced()) return take_flock(now);  // another file was put in its place
  if (!spec_.take) return granted(now);
  const auto marked = queue_entry_->mark_granted(context_.runtime.clock.wall(), pid);
  if (!marked) return refuse(marked.error());
  granted(now);
}

void LocalLock::granted(TimePoint now) {
  state_ = State::kGranted;
  retry_at_ = now + kUnwatched;
  Granted event;
  if (spec_.take) event.locks.push_back(held_lock());
  auto answer = steps_.granted(std::move(event));
  if (auto* refused = std::get_if<Refused>(&answer)) return end(std::move(*refused));
  if (spec_.take && context_.runtime.log.style().verbose) {
    const std::string slot(queue_entry_->record().slot());
    steps_.trace("granted after " + human_duration(now - started_) + ", token " +
                 std::to_string(queue_entry_->ticket()) + (slot.empty() ? "" : ", slot " + slot));
  }
  if (!spec_.take) {
    let_go();
    state_ = State::kDone;
  }
  tell(std::get<Granted>(std::move(answer)));
}

HeldLock LocalLock::held_lock() const {
  const bool joined = queue_entry_->entry() > 0;
  return {.name = spec_.name,
          .owner = joined ? spec_.ancestor->owner : spec_.owner,
          .token = FencingToken(queue_entry_->ticket()),
          .store = context_.settings.store,
          .reentered = joined,
          .slot = spec_.mode == Mode::kPermits ? std::string(queue_entry_->record().slot()) : std::string()};
}

std::optional<SessionEvent> LocalLock::next_event(TimePoint now) {
  if (events_.empty()) look_around(now);
  if (events_.empty()) return std::nullopt;
  std::optional<SessionEvent> event(std::move(events_.front()));
  events_.erase(events_.begin());
  return event;
}

void LocalLock::look_around(TimePoint now) {
  switch (state_) {
    case State::kIdle:
    case State::kDone:
      return;
    case State::kGranted:
      return look_for_loss(now);
    case State::kQueued:
    case State::kFlock:
      look_at_waiter(now);
      break;
    case State::kFirstInLine:
      look_at_front(now);
      break;
    case State::kGuardStuck:
    case State::kPause:
      if (now >= retry_at_) attempt(now);
      break;
  }
  if (state_ == State::kGranted || state_ == State::kDone) return;
  const bool over = steps_.patience().is_over(now);
  if (over && state_ == State::kGuardStuck) return refuse(queue_entry_->file().guard_stuck());
  if (over) return end(steps_.over());
  if (steps_.gives_way()) end(steps_.give_way());
}

void LocalLock::look_at_waiter(TimePoint now) {
  if (const auto result = waiter_->result()) {
    const std::int64_t pid = waiter_->pid();
    if (*result == 0) return state_ == State::kFlock ? flock_granted(pid, now) : attempt(now);
    if (*result != ECHILD) return refuse(system_error("cannot wait for " + spec_.name.text(), *result));
    // It was killed: wait again, but not in a storm.
    waiter_.reset();
    state_ = state_ == State::kFlock ? State::kPause : State::kGuardStuck;
    if (state_ == State::kPause) path_.close();
    retry_at_ = now + kGuardPause;
    return;
  }
  if (now < retry_at_) return;
  retry_at_ = now + queue_entry_->look_pause();
  waiter_->go_on();
  const auto changed = state_ == State::kFlock && spec_.take ? queue_entry_->lost() : queue_entry_->queue_changed();
  if (!changed) return refuse(changed.error());
  if (*changed) return state_ == State::kFlock || !spec_.take ? start(now) : attempt(now);
  if (state_ != State::kQueued || !spec_.take) return;
  const auto passed = pass_over_stopped(now);
  if (!passed) return refuse(passed.error());
  if (*passed) attempt(now);
}

Result<bool> LocalLock::pass_over_stopped(TimePoint now) {
  if (!queue_entry_->only_stopped_before()) {
    stopped_since_.reset();
    return false;
  }
  if (!stopped_since_) stopped_since_ = now;
  if (now < *stopped_since_ + kStoppedPatience) return false;
  stopped_since_.reset();
  steps_.trace("passes over waiters that are stopped");
  return queue_entry_->pass_over(now);
}

void LocalLock::look_at_front(TimePoint now) {
  if (watch_ && watch_->drain()) {
    ladder_ = kFirstRung / 4;
  } else if (now < retry_at_) {
    return;
  }
  attempt(now);
}

void LocalLock::add_interest(std::vector<pollfd>& fds) const {
  if (waiter_ && (state_ == State::kQueued || state_ == State::kFlock)) fds.push_back({waiter_->fd(), POLLIN, 0});
  if (watch_) watch_->add_interest(fds);
}

std::optional<TimePoint> LocalLock::wake_at() const {
  if (!events_.empty()) return TimePoint{};
  if (state_ == State::kIdle || state_ == State::kDone) return std::nullopt;
  if (state_ == State::kGranted) {
    return watches_loss_ && watch_->valid() && !look_again_ ? std::nullopt : std::optional(retry_at_);
  }
  return earlier(earlier(retry_at_, steps_.patience().until()), steps_.look_at());
}

void LocalLock::ask_who() {
  if (!queue_entry_ || state_ == State::kDone || state_ == State::kGranted) return;
  steps_.answer_who(true);
}

Result<LockState> LocalLock::describe() {
  TRY_ASSIGN(auto view, read_view(queue_entry_->file(), spec_.name.is_path(), context_.runtime.clock.now()));
  if (state_ != State::kGranted && queue_entry_->ticket() != 0 && queue_entry_->record_index()) {
    // Our own ticket is invisible to our own probes, but whoever waits wants to know how many are in front.
    const View::Seat own{{queue_entry_->side(), queue_entry_->ticket(), 1},
                         LockFile::Placed{*queue_entry_->record_index(), queue_entry_->record()},
                         spec_.reason};
    const auto behind = std::find_if(view.waiters.begin(), view.waiters.end(), [&](const View::Seat& seat) {
      return seat.ticket.ticket > queue_entry_->ticket();
    });
    view.waiters.insert(behind, own);
    if (view.header.delay_ticket == queue_entry_->ticket()) view.delay.reset();
  }
  const pid_t ours = waiter_ ? waiter_->pid() : 0;
  return local::describe(view, context_, spec_.name, ours);
}

Result<void> LocalLock::revoke(const LockState& shown, const std::string& by) {
  return local::revoke(context_, spec_.name, shown, by);
}

void LocalLock::withdraw(TimePoint) {
  if (state_ == State::kDone) return;
  events_.clear();
  withdraw();
  end(Withdrawn{});
}

void LocalLock::withdraw() {
  if (state_ == State::kGranted) release_entry();
}

/// The last event.
void LocalLock::end(SessionEvent event) {
  let_go();
  state_ = State::kDone;
  tell(std::move(event));
}

/// Leaves the queue or the lock. What an heir of the descriptor holds stays held unless release_entry() came first.
void LocalLock::let_go() {
  waiter_.reset();
  watch_.reset();
  path_.close();
  if (queue_entry_ && state_ != State::kGranted) queue_entry_->release();
  queue_entry_.reset();
}

}  // namespace dlock::local
