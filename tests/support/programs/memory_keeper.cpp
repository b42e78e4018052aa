// SPDX-License-Identifier: Apache-2.0
// A keeper program whose store is its own memory: everybody gets the lock. To be installed as
// libexec/dlock/dlock-redis beside a copy of dlock, to see the keeper's loop (lib/keeper/keeper_loop.h) with real
// processes.
//
// MEMORY_KEEPER_PID: a file that gets its process id. MEMORY_KEEPER_LOG: a file to which what happens to the lock is
// appended, one line each, with the milliseconds of CLOCK_BOOTTIME: granted, renewed, left, and
// "released MS N", N being the number of processes that still had the owner in their environment then.
// MEMORY_KEEPER_DEAF_FROM=N: the Nth renewal and all after it are not confirmed. MEMORY_KEEPER_LOST=FILE,
// MEMORY_KEEPER_ASKED=FILE: once the file is there the lock is somebody else's, or somebody asks for it.
// MEMORY_KEEPER_FAILS=memory|exception|thread: instead of granting it wants memory without end, throws, or has a thread
// of its own that throws.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "lib/base/clock.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/log.h"
#include "lib/base/process.h"
#include "lib/base/text.h"
#include "lib/keeper/keeper_loop.h"
#include "lib/lock/lease.h"

using namespace dlock;

namespace {

[[noreturn]] void burst() { throw std::logic_error("a null string"); }

void fail_if_told() {
  const char* told = getenv("MEMORY_KEEPER_FAILS");
  const std::string how = told ? told : "";
  if (how == "exception") burst();
  if (how == "thread") std::thread(burst).join();
  if (how != "memory") return;
  for (std::vector<std::string> all;; all.emplace_back(1 << 20, 'x')) {
  }
}

int living_under(const std::string& owner) {
  int count = 0;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    const auto pid = whole_number<pid_t>(entry->d_name);
    const auto stat = pid ? look_up_process(*pid) : std::nullopt;
    if (!stat || has_ended(*stat)) continue;
    count += read_proc(*pid, "environ").find("DLOCK_OWNER=" + owner) != std::string::npos;
  }
  closedir(proc);
  return count;
}

class MemoryLock final : public LockDriver {
 public:
  MemoryLock(const AcquireRequest& request, const Runtime& runtime)
      : spec_(request.spec), store_(request.url.redacted()), clock_(runtime.clock) {}

  std::optional<std::variant<Granted, Refused>> acquire(Control& /*control*/) override {
    fail_if_told();
    note("granted");
    return Granted{{{spec_.name, spec_.owner, FencingToken(42), store_}}, lease_deadline(clock_.now(), spec_.ttl)};
  }
  Renewal renew(Control& /*control*/, TimePoint /*until*/) override {
    const char* deaf = getenv("MEMORY_KEEPER_DEAF_FROM");
    if (++renewals_; deaf && renewals_ >= atoi(deaf)) return RenewalUnknown{"the memory is gone"};
    note("renewed");
    return RenewalRenewed{lease_deadline(clock_.now(), spec_.ttl)};
  }
  std::optional<TimePoint> wake_at() const override {
    if (!getenv("MEMORY_KEEPER_LOST") && !getenv("MEMORY_KEEPER_ASKED")) return std::nullopt;
    return looked_ + std::chrono::milliseconds(20);
  }
  Renewal held(TimePoint now) override {
    looked_ = now;
    if (is_there("MEMORY_KEEPER_LOST")) return RenewalLost{"somebody took it"};
    if (is_there("MEMORY_KEEPER_ASKED")) return RevocationRequested{"somebody asked for it"};
    return RenewalHeld{};
  }
  Result<void> release(TimePoint /*until*/) override {
    const TimePoint now = clock_.now();  // the look takes its time
    note("released", now, " " + std::to_string(living_under(spec_.owner.text())));
    return {};
  }
  Result<void> leave(const LeaveSpec& /*spec*/, TimePoint /*until*/) override {
    note("left");
    return {};
  }

 private:
  static bool is_there(const char* variable) {
    const char* path = getenv(variable);
    return path && access(path, F_OK) == 0;
  }
  void note(const char* what) const { note(what, clock_.now(), {}); }
  void note(const char* what, TimePoint when, const std::string& more) const {
    const char* path = getenv("MEMORY_KEEPER_LOG");
    if (!path) return;
    const UniqueFd log(open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch());
    write_all(log.get(), std::string(what) + " " + std::to_string(ms.count()) + more + "\n");
  }

  const LockSpec spec_;
  const std::string store_;
  Clock& clock_;
  int renewals_ = 0;
  TimePoint looked_{};
};

}  // namespace

int main() {
  if (const char* path = getenv("MEMORY_KEEPER_PID")) {
    const UniqueFd file(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    write_all(file.get(), std::to_string(getpid()));
  }
  const auto open_lock = [](const AcquireRequest& request, const Runtime& runtime) {
    return Result<std::unique_ptr<LockDriver>>(std::make_unique<MemoryLock>(request, runtime));
  };
  return run_keeper(open_lock, {}, {}, 272 << 20);
}
