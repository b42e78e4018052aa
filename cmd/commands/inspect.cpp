// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/inspect.h"

#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
#include "cmd/show/render.h"
#include "cmd/show/watch.h"

namespace dlock {

int inspect_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  if (options.watch && out.look().terminal && !options.json) return watch_on_terminal(options, backend, runtime, out);
  if (options.watch) return watch_as_stream(options, backend, runtime, out);
  const auto states = look_at_locks(options, backend);
  if (!states) return fail(runtime.log, states.error());
  if (options.json) {
    std::string lines;
    for (const LockState& state : *states) lines += inspect_json(state) + '\n';
    return print(out, runtime.log, lines);
  }
  if (states->empty()) return print(out, runtime.log, "no lock is held or waited for in " + backend.store() + '\n');
  return print(out, runtime.log, inspect_text(*states, runtime.clock.wall(), out.look()));
}

}  // namespace dlock
