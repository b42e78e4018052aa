// SPDX-License-Identifier: Apache-2.0
#include "cmd/inspect.h"

#include "cmd/exit_status.h"
#include "cmd/render.h"
#include "cmd/watch.h"

namespace dlock {

Result<std::vector<LockState>> look_at_locks(const Options& options, Backend& backend) {
  if (options.keys.empty()) return backend.inspect_all();
  std::vector<LockState> states;
  for (const LockName& key : options.keys) {
    auto state = backend.inspect(key);
    if (!state) return state.error();
    states.push_back(std::move(*state));
  }
  return states;
}

int inspect_command(const Options& options, Backend& backend, const Runtime& runtime, Output& out) {
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
