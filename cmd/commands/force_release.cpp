// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/force_release.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cmd/show/exit_status.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

/// One line of a terminal, without its end; what came before the end of file otherwise.
std::string read_line(int fd) {
  std::string line;
  char c = 0;
  for (;;) {
    const ssize_t n = read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') return line;
    line += c;
  }
}

Result<void> confirm(const LockState& state, const Options& options, const Runtime& runtime, int input) {
  if (options.yes) return {};
  const Look look{.terminal = false, .colour = runtime.log.style().colour, .width = 0};
  const std::string shown = inspect_text({state}, runtime.clock.wall(), look);
  write_all(runtime.log.fd(), shown);
  const std::string& key = state.name.text();
  if (!isatty(input) || !isatty(runtime.log.fd())) {
    return Error{ErrorCode::kInvalid, "force-release of " + key + " has to be confirmed, and nobody is there to ask",
                 "if this holder is the one to be freed: dlock force-release --yes " + shell_word(key)};
  }
  write_all(runtime.log.fd(), "type the key to free it: ");
  const std::string typed = read_line(input);
  if (typed == key) return {};
  return Error{ErrorCode::kInvalid, "'" + printable(typed) + "' is not " + key + ": nothing was freed"};
}

/// With --token: Busy unless one of the holders has it.
Result<void> expect_token(const LockState& state, const Options& options) {
  if (!options.token) return {};
  for (const Participant& holder : state.holders) {
    if (holder.token == *options.token) return {};
  }
  const Participant& other = state.holders.front();
  return Error{ErrorCode::kBusy,
               state.name.text() + " is not held with token " + options.token->text() + " any more, but with " +
                   other.token.text() + " by " + party_sentence(other),
               "nothing was freed; look again: dlock inspect " + shell_word(state.name.text())};
}

/// "the old holder may still be running: pid 8812 on ci-4".
std::string still_running(const std::vector<Participant>& freed) {
  std::string where;
  for (const Participant& party : freed) {
    std::string one = party.pid > 0 ? "pid " + std::to_string(party.pid) : "";
    if (!party.host.empty()) one += (one.empty() ? "on " : " on ") + printable(party.host);
    if (!one.empty()) where += (where.empty() ? ": " : ", ") + one;
  }
  return std::string(freed.size() > 1 ? "the old holders" : "the old holder") + " may still be running" + where;
}

std::string freed_text(const LockName& name, const std::vector<Participant>& freed, WallTime now) {
  if (freed.empty()) return name.text() + " is free already\n";
  std::string who;
  for (const Participant& party : freed) {
    who += (who.empty() ? "" : ", ") + party_sentence(party);
    if (party.since) who += " for " + human_duration(age(*party.since, now));
  }
  return name.text() + " is free now; it was held by " + who + "\n  " + still_running(freed) + '\n';
}

std::string freed_json(const LockName& name, const std::string& store, const std::vector<Participant>& freed) {
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.force-release/1").key("key").text(name.text());
  json.key("backend").text(store).key("freed").begin_array();
  for (const Participant& party : freed) put_party(json, party);
  return json.end_array().end_object().line();
}

/// What was freed: exactly the holders that were shown and confirmed.
Result<std::vector<Participant>> free_shown(const LockName& name, const Options& options, LockAdmin& backend,
                                            const Runtime& runtime, int input) {
  const auto state = backend.inspect(name);
  if (!state) return state.error();
  if (state->holders.empty()) return std::vector<Participant>{};
  if (auto expected = expect_token(*state, options); !expected) return expected.error();
  if (auto confirmed = confirm(*state, options, runtime, input); !confirmed) return confirmed.error();
  auto freed = backend.force_release(name, *state);
  if (freed) return std::move(freed->freed);
  Error error = freed.error();
  // To the caller a holder that changed in between is the same as the wrong token: held by somebody else.
  if (error.code == ErrorCode::kConflict) error.code = ErrorCode::kBusy;
  return error;
}

}  // namespace

int force_release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out, int input) {
  const LockName& key = options.keys.front();
  const auto freed = free_shown(key, options, backend, runtime, input);
  if (!freed) return fail(runtime.log, freed.error());
  return print(out, runtime.log,
               options.json ? freed_json(key, backend.store(), *freed) : freed_text(key, *freed, runtime.clock.wall()));
}

}  // namespace dlock
