// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/granted_text.h"

#include <unistd.h>

#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/run/child_process.h"

namespace dlock {
namespace {

std::string shell_exports(const std::vector<HeldLock>& locks, std::optional<WallTime> until) {
  std::string text;
  for (const std::string& variable : lock_variables(environ, locks, until)) {
    const std::size_t value = variable.find('=') + 1;
    text += "export " + variable.substr(0, value) + shell_word(variable.substr(value)) + "\n";
  }
  return text;
}

}  // namespace

std::string granted_text(const Options& options, const char* schema, const std::vector<HeldLock>& locks,
                         std::optional<WallTime> until) {
  if (options.shell) return shell_exports(locks, until);
  std::string text;
  for (const HeldLock& lock : locks) {
    if (!options.json) {
      text += lock.owner.text() + (lock.token.is_none() ? "" : " " + lock.token.text()) + "\n";
      continue;
    }
    JsonWriter json;
    json.begin_object().key("schema").text(schema).key("key").text(lock.name.text());
    json.key("owner").text(lock.owner.text());
    json.key("token").number_or_null(static_cast<std::int64_t>(lock.token.value()));
    if (!lock.slot.empty()) json.key("slot").text(lock.slot);
    json.key("store").text(lock.store).key("reentered").boolean(lock.reentered).field("until", until);
    text += json.end_object().line();
  }
  return text;
}

}  // namespace dlock
