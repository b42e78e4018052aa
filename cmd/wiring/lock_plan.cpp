// SPDX-License-Identifier: Apache-2.0
#include "cmd/wiring/lock_plan.h"

#include <algorithm>

#include "cmd/options/stock_actions.h"
#include "lib/lock/who_text.h"

namespace dlock {
namespace {

LockSpec plan_lock(const Options& options, const LockName& name, const std::string& command) {
  LockSpec spec{.name = name,
                .owner = Owner::random(),
                .mode = options.mode,
                .permits = options.permits,
                .slots = options.slots,
                .fair = options.fair,
                .ttl = std::max(options.ttl, options.at_least),  // what is killed with all of ours keeps it by itself
                .renew_interval = options.ttl / 3,
                .lock_delay = options.lock_delay,
                .at_least = options.at_least,
                .wait = {},
                .supersedes = options.supersedes,
                .behind_nobody = options.nonblock && options.supersedes == Supersedes::kReplace,
                .reason = options.reason,
                .command = command,
                .ancestor = {},
                .kill_after = options.kill_after,
                .ends_command = options.on_lost.kind != OnLost::Kind::kSignal,
                .take = options.command != Command::kWait};
  if (options.command == Command::kAcquire) spec.left_to = options.watch_pid.value_or(0);
  if (options.stock) spec.stock = options.stock->claim;
  return spec;
}

}  // namespace

WaitPolicy WaitPlan::from(TimePoint now) const {
  WaitPolicy started = policy;
  if (most) started.until = now + *most;
  return started;
}

WaitPlan plan_wait(const Options& options) {
  // With --replace: only where the queue is empty.
  const bool once = options.nonblock && options.supersedes != Supersedes::kReplace;
  return {{.once = once,
           .tries = options.tries,
           .retry_interval = options.retry_interval,
           .connect_timeout = options.connect_timeout,
           .has_fallback = options.backends.size() > 1 || options.run_if_unavailable},
          options.wait};
}

LockPlan plan_locks(const Options& options) {
  LockPlan plan{
      .stores = options.backends,
      .locks = {},
      .wait = plan_wait(options),
      .once = options.once,
      .supervision = {.ttl = std::max(options.ttl, options.at_least),
                      .kill_after = options.kill_after,
                      .on_lost = options.on_lost,
                      .at_least = options.at_least,
                      .max_hold = options.max_hold},
      .run_if_unavailable = options.run_if_unavailable,
      .command = command_line(options),
      .lease = {},
      .events = options.events,
      .telling = {.keys = options.keys, .progress = options.progress, .wait = options.wait, .ask_again = {}},
      .busy = {options.conflict_exit_code, options.repeated_exit_code, options.warn_held},
      .config_option = options.same_config,
  };
  if (options.command == Command::kAcquire) plan.lease = DetachSpec{options.ttl, options.watch_pid};
  if (options.stock) plan.telling.ask_again = same_stock_call(options, &options.stock->claim->id);
  const std::string command = plan.command.empty() ? std::string() : command_name(plan.command.front());
  for (const LockName& key : options.keys) plan.locks.push_back(plan_lock(options, key, command));
  return plan;
}

std::vector<char*> command_line(const Options& options) {
  if (!options.shell_command) return options.child;
  static char shell[] = "/bin/sh";
  static char flag[] = "-c";
  return {shell, flag, const_cast<char*>(options.shell_command->c_str()), nullptr};
}

}  // namespace dlock
