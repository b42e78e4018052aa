// SPDX-License-Identifier: Apache-2.0
#include "backends/local/detached.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "backends/local/files/file_watch.h"
#include "backends/local/files/process.h"
#include "lib/base/clock.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"

namespace dlock::local {
namespace {

constexpr Duration kLookPause = std::chrono::seconds(1);

class Holder {
 public:
  Holder(QueueEntry& queue_entry, PathLock& path, UniqueFd watched)
      : queue_entry_(queue_entry), path_(path), watched_(std::move(watched)) {}

  Result<void> take_over(const Record& wanted);
  [[noreturn]] void keep();

 private:
  enum class Verdict { kKeep, kGiveBack, kOver };
  Verdict judge() const;
  std::optional<Record> own_record() const;
  bool end_if_expired();
  void wait();
  [[noreturn]] void end(bool in_order);

  QueueEntry& queue_entry_;
  PathLock& path_;
  UniqueFd watched_;
  UniqueFd signals_;
  FileWatch watch_;
  SystemClock clock_;
  std::optional<TimePoint> until_;
  bool told_to_end_ = false;
};

Result<void> Holder::take_over(const Record& wanted) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&ending, signal);
  signals_ = UniqueFd(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return system_error("signalfd", errno);
  watch_ = FileWatch(queue_entry_.file().fd(), IN_ATTRIB);
  watch_.add_place(queue_entry_.file().fd(), queue_entry_.file().path());
  if (path_.valid()) watch_.add_place(path_.fd(), path_.path());
  if (const auto got = queue_entry_.file().guard(); !got) return got.error();
  const Guarded guarded(queue_entry_.file());
  Record record = wanted;
  record.pid = getpid();
  record.drawn_boot_ns = clock_.now().time_since_epoch().count();
  queue_entry_.set_record(record);
  return queue_entry_.file().write_record(*queue_entry_.record_index(), record);
}

void Holder::keep() {
  for (;;) {
    watch_.drain();
    switch (judge()) {
      case Verdict::kKeep:
        break;
      case Verdict::kGiveBack:
        end(true);
      case Verdict::kOver:
        end(false);
    }
    const auto record = own_record();
    if (record && record->until_boot_ns != 0) until_ = TimePoint(Duration(record->until_boot_ns));
    if (until_ && clock_.now() >= *until_ && end_if_expired()) end(false);
    wait();
  }
}

Holder::Verdict Holder::judge() const {
  if (told_to_end_) return Verdict::kGiveBack;
  const auto lost = queue_entry_.lost();
  if (!lost || *lost || queue_entry_.file().replaced()) return Verdict::kOver;
  if (path_.valid() && path_.replaced()) return Verdict::kOver;
  const auto record = own_record();
  return record && (record->flags & Record::kGivenBack) ? Verdict::kGiveBack : Verdict::kKeep;
}

/// nullopt while it is being written, after which a touch of the file follows; and where the file was damaged.
std::optional<Record> Holder::own_record() const {
  auto record = queue_entry_.file().read_record(*queue_entry_.record_index());
  return record && record->ticket == queue_entry_.ticket() ? record : std::nullopt;
}

/// Under the guard, so that a renewal is either before the end or is answered that it came too late. What cannot be
/// read or written any more does not keep the lock: the lease has the end that was read last.
bool Holder::end_if_expired() {
  if (!queue_entry_.file().guard()) return false;
  const Guarded guarded(queue_entry_.file());
  auto record = own_record();
  if (!record) return true;
  if (!record->is_over(clock_.now().time_since_epoch().count())) return false;
  record->flags |= Record::kGivenBack;
  (void)queue_entry_.file().write_record(*queue_entry_.record_index(), *record);
  return true;
}

void Holder::wait() {
  std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}};
  watch_.add_interest(fds);
  if (watched_.valid()) fds.push_back({watched_.get(), POLLIN, 0});
  std::optional<TimePoint> until = until_;
  if (!watch_.valid()) until = earlier(until, clock_.now() + kLookPause);
  clock_.wait(fds, until);
  if (fds.front().revents != 0) told_to_end_ = true;
  if (watched_.valid() && fds.back().revents != 0) told_to_end_ = true;
}

void Holder::end(bool in_order) {
  if (path_.valid()) path_.unlock();
  if (in_order) queue_entry_.release();
  _exit(0);  // the kernel frees the rest
}

/// Nothing of the parent's stays open, and no terminal, directory or mount is kept busy.
bool become_daemon(QueueEntry& queue_entry, PathLock& path, UniqueFd& watched, int ready) {
  if (setsid() < 0 && errno != EPERM) return false;
  if (chdir("/") != 0) return false;
  prctl(PR_SET_NAME, "dlock-holder");
  close_all_but({queue_entry.file().fd(), path.fd(), watched.get(), ready});
  while (true) {
    const int null = open("/dev/null", O_RDWR);
    if (null < 0) return false;
    if (null <= 2) continue;
    close(null);
    return true;
  }
}

[[noreturn]] void live(QueueEntry& queue_entry, PathLock& path, UniqueFd watched, const Record& wanted, int ready) {
  if (become_daemon(queue_entry, path, watched, ready)) {
    Holder holder(queue_entry, path, std::move(watched));
    if (holder.take_over(wanted)) {
      write_byte(ready, 0);
      close(ready);
      holder.keep();
    }
  }
  write_byte(ready, 1);
  _exit(1);
}

/// Forks twice, so that the holder is a child of init, which reaps it.
int fork_holder(QueueEntry& queue_entry, PathLock& path, UniqueFd watched, const Record& wanted, int ready) {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    const pid_t holder = fork();
    if (holder == 0) live(queue_entry, path, std::move(watched), wanted, ready);
    _exit(holder < 0 ? 1 : 0);
  }
  reap(open_process(child), true);
  return 0;
}

}  // namespace

Result<void> leave_holder(LocalContext& context, QueueEntry& queue_entry, PathLock& path, const DetachSpec& spec,
                          std::optional<int> ran) {
  if (queue_entry.entry() > 0) {
    return Error{ErrorCode::kUnsupported, "the lock is already held by an outer command",
                 "take leases outside of 'dlock run', or let the command keep its lock"};
  }
  if (!queue_entry.record_index()) {
    return Error{ErrorCode::kSystem, "there are too many holders and waiters to record this lease", "try again later"};
  }
  if (own_pid() == 1) {
    return Error{ErrorCode::kUnsupported,
                 "the lease would end at once: dlock is process 1 of its pid namespace (of a container, say), and the "
                 "process that keeps a local lease ends with it",
                 "start it from a shell or an init there (docker run --init), or use dlock run"};
  }
  UniqueFd watched;
  Record record = queue_entry.record();
  record.flags |= Record::kDetached;
  if (ran) record.flags |= Record::kRan | static_cast<std::uint32_t>(*ran) << Record::kStatusAt;
  record.pid_namespace = context.own_pid_namespace();  // waiters may have to know whether its process is stopped
  if (spec.watch_pid) {
    watched = open_process(*spec.watch_pid);
    if (!watched.valid()) {
      return Error{ErrorCode::kInvalid,
                   "cannot watch process " + std::to_string(*spec.watch_pid) + ": " + errno_text(errno),
                   "give the pid of a running process, such as $$"};
    }
    record.watch_pid = *spec.watch_pid;
  } else {
    const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(spec.ttl);
    record.until_us = (context.runtime.clock.wall() + microseconds).time_since_epoch().count();
    record.until_boot_ns = (context.runtime.clock.now() + spec.ttl).time_since_epoch().count();
  }
  // The holder puts /dev/null on 0, 1 and 2; a lock may have been opened there when they were closed.
  const bool lifted = queue_entry.file().lift_fd() && (!path.valid() || path.lift_fd());
  int ends[2];
  if (!lifted || pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot detach", errno);
  const UniqueFd ready(ends[0]);
  UniqueFd child_end(ends[1]);
  if (const int failed = fork_holder(queue_entry, path, std::move(watched), record, child_end.get())) {
    return system_error("cannot detach: fork", failed);
  }
  child_end.reset();
  unsigned char answer = 1;
  ssize_t n = 0;
  while ((n = read(ready.get(), &answer, 1)) < 0 && errno == EINTR) {
  }
  if (n == 1 && answer == 0) return {};
  return Error{ErrorCode::kSystem, "cannot detach: the process that was to keep the lock did not start",
               "is the limit on processes or memory reached?"};
}

}  // namespace dlock::local
