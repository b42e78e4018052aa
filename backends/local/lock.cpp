// SPDX-License-Identifier: Apache-2.0
#include "backends/local/lock.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "backends/local/leases.h"
#include "backends/local/view.h"
#include "lib/base/human_text.h"
#include "lib/base/system_error.h"

namespace dlock::local {
namespace {

using std::chrono::milliseconds;

constexpr Duration kGuardPause = milliseconds(50);
constexpr Duration kGuardPatience = std::chrono::seconds(1);
constexpr Duration kQueueLookPause = std::chrono::seconds(1);
/// A waiter that is stopped at all looks for so long, with its turn come, is passed over.
constexpr Duration kStoppedPatience = std::chrono::seconds(5);
constexpr Duration kUnwatched = milliseconds(200);
constexpr Duration kFirstRung = milliseconds(1);

std::string seconds_text(Duration duration) {
  const auto ms = std::chrono::duration_cast<milliseconds>(duration).count();
  char text[32];
  std::snprintf(text, sizeof text, ms % 1000 ? "%lld.%03lld s" : "%lld s", static_cast<long long>(ms / 1000),
                static_cast<long long>(ms % 1000));
  return text;
}

}  // namespace

LocalLock::LocalLock(LocalContext& context, const LockSpec& spec)
    : context_(context),
      spec_(spec),
      patience_(spec_.wait),
      succession_(spec_, [this](const LockState& shown, const std::string& by) {
        return revoke(context_, spec_.name, shown, by);
      }) {}

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

void LocalLock::trace(std::string_view step) const {
  if (traces()) context_.runtime.log.verbose(spec_.name.text() + ": " + std::string(step));
}

void LocalLock::attempt(TimePoint now) {
  // No place in the queue keeps who pauses between attempts in its file, where others may have gone on to another one.
  if (state_ == State::kPause && queue_entry_->file().replaced()) return start(now);
  if (!spec_.take) take(queue_entry_->probe(now), now);
  else if (queue_entry_->ticket() != 0) take(queue_entry_->advance(now, context_.runtime.clock.wall()), now);
  else take(queue_entry_->enter(now, context_.runtime.clock.wall(), patience_.queues()), now);
}

void LocalLock::take(const Result<QueueEntry::Step>& step, TimePoint now) {
  if (!step) return refuse(step.error());
  switch (*step) {
    case QueueEntry::Step::kGranted:
      return spec_.name.is_path() ? take_flock(now) : granted(now);
    case QueueEntry::Step::kQueued:
      return spec_.take || patience_.queues() ? wait_in_queue(now) : count_try(now);
    case QueueEntry::Step::kFirstInLine:
      return spec_.take || patience_.queues() ? wait_in_front(now) : count_try(now);
    case QueueEntry::Step::kDelayed:
      if (!spec_.take && !patience_.queues()) return count_try(now);
      wait_in_front(now);  // it may be ended early
      retry_at_ = std::min(retry_at_, queue_entry_->delayed_until());
      return;
    case QueueEntry::Step::kBusy:
      return count_try(now);
    case QueueEntry::Step::kStartOver:
      return start(now);
    case QueueEntry::Step::kGuardStuck:
      // A starved process gets time to go on, even from those who want an answer at once.
      if (patience_.is_once() && now >= started_ + kGuardPatience) return refuse(queue_entry_->file().guard_stuck());
      state_ = State::kGuardStuck;
      retry_at_ = now + kGuardPause;
      return;
  }
}

void LocalLock::wait_in_queue(TimePoint now) {
  waiter_.reset();
  auto waiter = WaitingChild::for_bytes(queue_entry_->file().fd(), queue_entry_->awaited());
  if (!waiter) return refuse(waiter.error());
  waiter_.emplace(std::move(*waiter));
  if (state_ != State::kQueued) trace("queued in " + queue_entry_->file().path());
  state_ = State::kQueued;
  retry_at_ = now + kQueueLookPause;
}

/// Any permit may come free, and no lock call can wait for "any": the file is watched instead. The kernel reports a
/// close a moment before it drops the locks, hence the ladder.
void LocalLock::wait_in_front(TimePoint now) {
  waiter_.reset();
  if (state_ == State::kFirstInLine) {
    ladder_ = std::min<Duration>(ladder_ * 4, kQueueLookPause);
    retry_at_ = now + ladder_;
    return;
  }
  state_ = State::kFirstInLine;
  watch_.emplace(queue_entry_->file().fd(), IN_CLOSE_WRITE | IN_ATTRIB);
  ladder_ = kFirstRung;
  retry_at_ = now;  // for changes from before the watch
}

void LocalLock::count_try(TimePoint now) {
  if (!patience_.may_try_again(now)) return refuse_busy(now);
  state_ = State::kPause;
  retry_at_ = patience_.wait_end(now).value_or(now);
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
  if (patience_.queues()) return wait_for_flock(now);
  if (spec_.take) {
    queue_entry_->give_back();
    queue_entry_->wait_for_more();
  }
  count_try(now);
}

void LocalLock::wait_for_flock(TimePoint now) {
  waiter_.reset();
  auto waiter = WaitingChild::for_flock(path_.fd(), PathLock::operation(spec_.mode));
  if (!waiter) return refuse(waiter.error());
  waiter_.emplace(std::move(*waiter));
  state_ = State::kFlock;
  retry_at_ = now + kQueueLookPause;
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
  if (const auto state = succession_.look_at() ? seen() : std::nullopt; state) {
    if (gives_way(succession_.judge_grant(*state))) return;
  }
  if (traces()) {
    const std::string slot(queue_entry_->record().slot());
    trace("granted after " + human_duration(now - started_) + ", ticket " + std::to_string(queue_entry_->ticket()) +
          (slot.empty() ? "" : ", slot " + slot));
  }
  Granted event;
  if (spec_.take) {
    event.locks.push_back(held_lock());
  } else {
    let_go();
    state_ = State::kDone;
  }
  events_.emplace_back(std::move(event));
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
  const bool waiting = state_ != State::kGranted && state_ != State::kDone;
  if (waiting && patience_.is_over(now)) return refuse_busy(now);
  const auto look_at = succession_.look_at();
  if (!waiting || !queue_entry_ || !look_at || now < *look_at) return;
  if (const auto state = seen()) gives_way(succession_.judge(*state, now));
  else succession_.missed(now);
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
  retry_at_ = now + kQueueLookPause;
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
  trace("passes over waiters that are stopped");
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
  return earlier(earlier(retry_at_, patience_.until()), succession_.look_at());
}

void LocalLock::ask_who() {
  if (!queue_entry_ || state_ == State::kDone || state_ == State::kGranted) return;
  if (auto state = seen()) events_.emplace_back(Waiting{std::move(*state)});
}

std::optional<LockState> LocalLock::seen() const {
  auto view = read_view(queue_entry_->file(), spec_.name.is_path(), context_.runtime.clock.now());
  if (!view) return std::nullopt;
  if (state_ != State::kGranted && queue_entry_->ticket() != 0 && queue_entry_->record_index()) {
    // Our own ticket is invisible to our own probes, but whoever waits wants to know how many are in front.
    const View::Seat own{{queue_entry_->side(), queue_entry_->ticket(), 1},
                         LockFile::Placed{*queue_entry_->record_index(), queue_entry_->record()},
                         spec_.reason};
    const auto behind = std::find_if(view->waiters.begin(), view->waiters.end(), [&](const View::Seat& seat) {
      return seat.ticket.ticket > queue_entry_->ticket();
    });
    view->waiters.insert(behind, own);
  }
  const pid_t ours = waiter_ ? waiter_->pid() : 0;
  return describe(*view, context_, spec_.name, ours);
}

/// True: what was waited for, or just granted, is left to another one.
bool LocalLock::gives_way(std::optional<Refused> refused) {
  if (!refused) return false;
  if (state_ == State::kGranted) give_back();
  let_go();
  state_ = State::kDone;
  events_.emplace_back(std::move(*refused));
  return true;
}

void LocalLock::withdraw(TimePoint) {
  if (state_ == State::kDone) return;
  if (state_ == State::kGranted) give_back();
  let_go();
  state_ = State::kDone;
  events_.clear();
  events_.emplace_back(Withdrawn{});
}

/// Leaves the queue or the lock. What an heir of the descriptor holds stays held unless give_back() came first.
void LocalLock::let_go() {
  waiter_.reset();
  watch_.reset();
  path_.close();
  if (queue_entry_ && state_ != State::kGranted) queue_entry_->give_back();
  queue_entry_.reset();
}

void LocalLock::refuse(Error error) {
  let_go();
  state_ = State::kDone;
  events_.emplace_back(Refused{std::move(error), std::nullopt});
}

void LocalLock::refuse_busy(TimePoint now) {
  if (state_ == State::kGuardStuck) return refuse(queue_entry_->file().guard_stuck());
  waiter_.reset();
  Refused refused{{ErrorCode::kBusy, {}, "see the queue: dlock inspect " + spec_.name.typed()}, std::nullopt};
  const TimePoint delayed = queue_entry_->delayed_until();
  const auto view = read_view(queue_entry_->file(), spec_.name.is_path(), context_.runtime.clock.now());
  if (view) refused.state = describe(*view, context_, spec_.name);
  if (const Error* why = view ? succession_.unasked(*refused.state) : nullptr) return refuse(*why);
  if (delayed > now && refused.state && refused.state->holders.empty()) {
    refused.error.message = spec_.name.text() + " was not released cleanly; its lock-delay lasts for another " +
                            seconds_text(delayed - now) + " (lock-delay)";
  } else {
    refused.error.message = spec_.name.text() + " is already held";
  }
  if (!patience_.is_once()) refused.error.message += "; gave up after " + seconds_text(now - started_);
  let_go();
  state_ = State::kDone;
  events_.emplace_back(std::move(refused));
}

}  // namespace dlock::local
