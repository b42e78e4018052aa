// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/inspect.h"

#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
#include "cmd/show/render.h"
#include "cmd/show/watch.h"
#include "lib/base/human_text.h"

namespace dlock {
namespace {

std::string live_json(const LiveLocks& live) {
  std::string lines;
  for (const LockState& state : live.locks) lines += inspect_json(state) + '\n';
  return lines;
}

std::string live_text(const LiveLocks& live, const Options& options, LockAdmin& backend, WallTime now,
                      const Look& look) {
  if (!live.locks.empty()) {
    Remarks remarks;
    for (const LockState& state : live.locks) {
      if (std::string said = why_free_text(state, backend); !said.empty()) remarks[state.name] = std::move(said);
    }
    return inspect_text(live.locks, now, look, remarks);
  }
  if (live.unreadable > 0) return {};
  if (options.keys.empty()) return "no lock is held or waited for in " + printable(backend.store()) + '\n';
  std::string patterns;
  for (const LockName& key : options.keys) patterns += (patterns.empty() ? "" : ", ") + printable(key.text());
  return "no lock that is held or waited for in " + printable(backend.store()) + " matches " + patterns + '\n';
}

}  // namespace

int inspect_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  if (options.watch && out.look().terminal && !options.json) return watch_on_terminal(options, backend, runtime, out);
  if (options.watch) return watch_as_stream(options, backend, runtime, out);
  const auto live = look_at_locks(options, backend);
  if (!live) return fail(runtime.log, live.error());
  const int printed =
      print(out, runtime.log,
            options.json ? live_json(*live) : live_text(*live, options, backend, runtime.clock.wall(), out.look()));
  if (printed != 0 || live->unreadable == 0) return printed;
  return fail(runtime.log, unreadable_error(*live, backend));
}

}  // namespace dlock
