// SPDX-License-Identifier: Apache-2.0
// The program of a family of backends: "dlock-NAME --keeper" keeps one lock, of the backend that is inside it, for the
// dlock that started it; with any other arguments it is the same command line as dlock.
#include <sys/prctl.h>
#include <unistd.h>

#include <string_view>

#include "backends/registry.h"
#include "cmd/program.h"
#include "lib/keeper/keeper_loop.h"
#include "lib/keeper/lease_around.h"
#include "lib/keeper/slot_lock.h"
#include "lib/lock/who_text.h"
#include "lib/stock/stock_hold.h"

namespace dlock {
namespace {

Result<std::unique_ptr<LockDriver>> open_part(const RegisteredBackend& row, const AcquireRequest& request,
                                              const Runtime& runtime) {
  if (!row.stock) return no_stock_in(request.url);
  TRY_ASSIGN(auto stock, row.stock(request.url, runtime));
  return std::unique_ptr<LockDriver>(std::make_unique<StockHold>(std::move(stock), request.spec, runtime));
}

/// Where slots are remembered; a store without such a place has a lock for each.
Result<std::unique_ptr<LockDriver>> open_slot(const RegisteredBackend& row, const AcquireRequest& request,
                                              const Runtime& runtime) {
  auto memory = row.memory ? row.memory(request.url, runtime) : Error{ErrorCode::kUnsupported, {}};
  LockSpec who = request.spec;
  who.at_least = Duration(0);  // what is remembered holds nothing
  if (memory) return slot_lock(std::move(*memory), request.spec, who_text(who), request.url.redacted(), runtime);
  if (memory.error().code != ErrorCode::kUnsupported) return memory.error();
  return row.drive(request.url, request.spec, runtime);
}

Result<std::unique_ptr<LockDriver>> open_lock(const AcquireRequest& request, const Runtime& runtime) {
  for (const RegisteredBackend& row : registered_backends()) {
    if (request.url.family != row.family) continue;
    if (request.spec.stock) return open_part(row, request, runtime);
    if (!row.drive) break;  // dlock itself takes them
    if (request.spec.name.is_slot()) return open_slot(row, request, runtime);
    const auto drive = [&](const LockSpec& spec) { return row.drive(request.url, spec, runtime); };
    if (!request.spec.ancestor || !request.spec.take) return drive(request.spec);
    auto admin = row.admin(request.url, runtime);
    return admin ? open_around(std::move(*admin), request.spec, drive, runtime) : admin.error();
  }
  return Error{ErrorCode::kUnsupported, "this program keeps no locks of " + request.url.redacted()};
}

Result<void> ask_holders(const AcquireRequest& request, const Runtime& runtime, const LockState& shown,
                         const std::string& by) {
  for (const RegisteredBackend& row : registered_backends()) {
    if (request.url.family != row.family) continue;
    const auto admin = row.admin(request.url, runtime);
    return admin ? (*admin)->ask_to_end(shown, by) : admin.error();
  }
  return Error{ErrorCode::kInternal, "this program keeps no locks of " + request.url.redacted()};
}

std::string who_freed(const AcquireRequest& request, const Runtime& runtime, TimePoint until) {
  const LockSpec& spec = request.spec;
  for (const RegisteredBackend& row : registered_backends()) {
    if (request.url.family != row.family || !row.memory || spec.stock) continue;
    const auto memory = row.memory(request.url, runtime);
    std::string by = memory ? (*memory)->who_freed(spec.name, spec.owner.text(), until) : std::string();
    const bool around = memory && by.empty() && spec.ancestor;
    return around ? (*memory)->who_freed(spec.name, spec.ancestor->owner.text(), until) : by;
  }
  return {};
}

int run_keeper_program() {
  // A keeper has the password in its memory: it leaves no core file, and its user's other programs cannot look into it.
  prctl(PR_SET_DUMPABLE, 0);
  return run_keeper(open_lock, ask_holders, who_freed, memory_of_keeper());
}

}  // namespace

}  // namespace dlock

int main(int argc, char** argv) {
  const bool keeper = argc == 2 && std::string_view(argv[1]) == "--keeper";
  const int status = keeper ? dlock::run_keeper_program() : dlock::run_program(argc, argv);
#ifndef DLOCK_SANITIZED
  _exit(status);
#endif
  return status;
}
