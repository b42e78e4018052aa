// SPDX-License-Identifier: Apache-2.0
// A keeper program whose store is its own memory: everybody gets the lock. To be installed as
// libexec/dlock/dlock-redis beside a copy of dlock, to see the keeper's loop (lib/keeper/keeper_loop.h) with real
// processes.
//
// MEMORY_KEEPER_PID: a file that gets its process id. MEMORY_KEEPER_LOG: a file to which what happens to the lock is
// appended, one line each, with the milliseconds of CLOCK_BOOTTIME: granted, renewed, left, and
// "released MS N", N being the number of processes that still bore the owner's mark then.
// MEMORY_KEEPER_DEAF_FROM=N: the Nth renewal and all after it are not confirmed.
#include <fcntl.h>

#include <cstdlib>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/keeper/keeper_loop.h"
#include "lib/lock/lease.h"
#include "lib/run/descendants.h"

using namespace dlock;

namespace {

class MemoryLock final : public KeptLock {
 public:
  MemoryLock(const AcquireRequest& request, const Runtime& runtime)
      : spec_(request.spec), store_(request.url.redacted()), clock_(runtime.clock) {}

  std::optional<std::variant<Granted, Refused>> acquire(Control& /*control*/) override {
    note("granted");
    return Granted{{{spec_.name, spec_.owner, FencingToken(42), store_}}, lease_deadline(clock_.now(), spec_.ttl)};
  }
  Renewal renew(Control& /*control*/, TimePoint /*until*/) override {
    const char* deaf = getenv("MEMORY_KEEPER_DEAF_FROM");
    if (++renewals_; deaf && renewals_ >= atoi(deaf)) return RenewalUnknown{"the memory is gone"};
    note("renewed");
    return RenewalRenewed{lease_deadline(clock_.now(), spec_.ttl)};
  }
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  Renewal held(TimePoint /*now*/) override { return RenewalHeld{}; }
  Result<void> release(TimePoint /*until*/) override {
    const TimePoint now = clock_.now();  // the look takes its time
    note("released", now, " " + std::to_string(remaining_processes({}, spec_.owner.text()).size()));
    return {};
  }
  Result<void> leave(Duration /*ttl*/, TimePoint /*until*/) override {
    note("left");
    return {};
  }

 private:
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
};

}  // namespace

int main() {
  if (const char* path = getenv("MEMORY_KEEPER_PID")) {
    const UniqueFd file(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    write_all(file.get(), std::to_string(getpid()));
  }
  return run_keeper([](const AcquireRequest& request, const Runtime& runtime) {
    return Result<std::unique_ptr<KeptLock>>(std::make_unique<MemoryLock>(request, runtime));
  });
}
