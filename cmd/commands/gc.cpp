// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/gc.h"

#include "cmd/show/exit_status.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"

namespace dlock {

int gc_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const auto swept = backend.collect_garbage(options.dry_run);
  if (!swept) return fail(runtime.log, swept.error());
  std::string text;
  for (const Swept& one : *swept) {
    if (options.json) {
      JsonWriter json;
      json.begin_object().key("schema").text("dlock.gc/2").key("key").text(one.name.text());
      json.key("store").text(backend.store()).key("what").text(one.what);
      json.key("dry_run").boolean(options.dry_run).end_object();
      text += json.line();
    } else {
      text += (options.dry_run ? "would sweep " : "swept ") + one.name.text() + ": " + printable(one.what) + '\n';
    }
  }
  if (swept->empty() && !options.json) text = "nothing to sweep in " + backend.store() + '\n';
  return print(out, runtime.log, text);
}

}  // namespace dlock
