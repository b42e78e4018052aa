// SPDX-License-Identifier: Apache-2.0
// A lock that was granted, to its end.
#include <sys/inotify.h>

#include <utility>

#include "backends/local/admin.h"
#include "backends/local/leases.h"
#include "backends/local/lock.h"

namespace dlock::local {
namespace {

constexpr Duration kLossLookPause = std::chrono::seconds(1);

}  // namespace

/// The watch is set up late, because closing one costs its process several milliseconds in the kernel: a command that
/// is soon over should not pay for it.
void LocalLock::look_for_loss(TimePoint now) {
  if (waiter_) waiter_->reap();
  const bool woken = watch_ && watch_->drain();
  if (!watches_loss_ && !woken && now < retry_at_) return;
  if (!watches_loss_) {
    watches_loss_ = true;
    const LockFile& file = queue_entry_->file();
    if (!watch_) watch_.emplace(file.fd(), IN_ATTRIB);
    if (!file.is_private()) watch_->add_place(file.fd(), file.path());
    if (path_.valid()) watch_->add_place(path_.fd(), path_.path());
  }
  retry_at_ = now + kLossLookPause;
  const auto lost = queue_entry_->lost();
  look_again_ = !lost;  // an unreadable file says nothing: the kernel keeps the lock
  if ((lost && *lost) || replaced()) return lose();
  if (const std::string by = asked_ ? "" : queue_entry_->revoked_by(); !by.empty()) {
    asked_ = true;
    events_.emplace_back(Lost{{}, false, by});  // held until release()
  }
}

/// Whether others may have the lock by now in a file that the name leads to, which is not ours.
bool LocalLock::replaced() const { return queue_entry_->file().replaced() || (path_.valid() && path_.replaced()); }

void LocalLock::lose() {
  std::string why = forced_by(queue_entry_->freed_by());
  const LockFile& file = queue_entry_->file();
  if (path_.valid() && path_.replaced()) why = path_.path() + " is another file now, or none";
  else if (file.removed()) why = "its lock file " + file.path() + " was removed";
  else if (file.replaced()) why = "its lock file " + file.path() + " is another one now, or none";
  state_ = State::kDone;
  end(Lost{std::move(why)});
}

void LocalLock::release(TimePoint) {
  if (std::exchange(detached_, false)) {
    const auto released = release_lease(context_, spec_.name, spec_.owner);
    if (released) events_.emplace_back(Released{});
    else events_.emplace_back(ReleaseUnconfirmed{released.error()});
  }
  if (state_ != State::kGranted) return;
  // Another may have had the lock since we last looked: then it was not ours to the end.
  const auto lost = watch_ ? queue_entry_->lost() : queue_entry_->lost_since_grant();
  if ((lost && *lost) || replaced()) return lose();
  steps_.trace("released");
  release_entry();
  if (!waiter_ && !passed_on_) {
    queue_entry_->keep_file_open();
    queue_entry_.reset();
  }
  events_.clear();
  end(Released{});
}

void LocalLock::release_entry() {
  // The outside first: whoever gets the next ticket must find the file free. A re-entry inside keeps both.
  if (path_.valid() && !queue_entry_->others_inside()) path_.unlock();
  queue_entry_->release();
}

int LocalLock::inherited_fd() const {
  if (state_ != State::kGranted) return -1;
  passed_on_ = true;
  return path_.valid() ? path_.fd() : queue_entry_->file().fd();
}

void LocalLock::command_started(const GuardHandles& /*guard*/) {
  // Only people miss it if it cannot be written.
  if (queue_entry_) static_cast<void>(static_cast<bool>(queue_entry_->say_pid_namespace()));
}

Result<void> LocalLock::detach(const DetachSpec& spec) {
  if (path_.valid()) {
    return Error{ErrorCode::kUnsupported, path_.path() + " is locked only while a process has it open"};
  }
  command_started({});
  waiter_.reset();
  watch_.reset();
  events_.clear();
  const bool gone = replaced();
  if (gone) lose();
  if (gone) return Error{ErrorCode::kLost, std::get<Lost>(events_.back()).why};
  const auto left = queue_entry_->leave(spec, ran_);
  if (!left) release_entry();
  let_go();
  state_ = State::kDone;
  detached_ = static_cast<bool>(left);
  return left;
}

}  // namespace dlock::local
