// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/report.h"

#include <unistd.h>

#include <algorithm>

#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/run/child_process.h"
#include "lib/stock/quantity.h"

namespace dlock {
namespace {

void put_lock(JsonWriter& json, const LockName* name, const HeldLock* lock) {
  json.field("key", name ? name->text() : "");
  json.key("token").number_or_null(lock ? static_cast<std::int64_t>(lock->token.value()) : 0);
  json.field("owner", lock ? lock->owner.text() : "").field("store", lock ? lock->store : "");
  if (lock && !lock->slot.empty()) json.field("slot", lock->slot);
}

const HeldLock* find_lock(const std::vector<HeldLock>& locks, const LockName& name) {
  const auto at = std::find_if(locks.begin(), locks.end(), [&](const HeldLock& lock) { return lock.name == name; });
  return at == locks.end() ? nullptr : &*at;
}

void put_circumstances(JsonWriter& json, const RunReport& report) {
  json.field("started", rfc3339(report.started)).field("host", report.host);
  json.field("reason", report.reason).texts("command", report.command).key("holder");
  if (report.holder) put_participant(json, *report.holder);
  else json.null();
  if (!report.superseded_by.empty()) json.field("why", "superseded by " + report.superseded_by);
}

void put_stock(JsonWriter& json, const RunReport& report) {
  json.field("id", report.stock->id.text());
  const auto parts = parse_parts(report.locks.empty() ? "" : report.locks.front().parts);
  put_parts(json.field("qty", report.stock->quantity), parts ? *parts : StockParts());
  if (report.left) json.field("wanted", report.stock->quantity).field("left", *report.left);
}

std::string shell_exports(const std::vector<HeldLock>& locks, std::optional<WallTime> until) {
  std::string text;
  for (const std::string& variable : lock_variables(environ, locks, until)) {
    const std::size_t value = variable.find('=') + 1;
    text += "export " + variable.substr(0, value) + shell_word(variable.substr(value)) + "\n";
  }
  return text;
}

}  // namespace

const char* outcome_name(const SupervisorState& s) {
  switch (s.outcome) {
    case Outcome::kRan:
    case Outcome::kGranted:
      return "ran";
    case Outcome::kLost:
      return "lost";
    case Outcome::kOverheld:
      return "overheld";
    case Outcome::kNotStarted:
      return "exec_failed";
    case Outcome::kInterrupted:
      return "interrupted";
    case Outcome::kRefused:
      break;
  }
  const ErrorCode code = s.error->code;
  if (code == ErrorCode::kBusy) return "busy";
  if (code == ErrorCode::kShort) return "short";
  if (code == ErrorCode::kLost) return "lost";
  return code == ErrorCode::kRepeated ? "repeated" : "unavailable";
}

std::string report_line(const RunReport& report) {
  JsonWriter json("dlock.report/1");
  json.field("outcome", report.outcome);
  json.field("exit_code", report.exit_code).field("signal", report.signal);
  json.key("waited_ms").whole_ms(report.waited).field("held_ms", report.held);
  if (report.kept_until) json.field("kept_until", rfc3339(*report.kept_until));
  const LockName* first = report.keys.empty() ? nullptr : &report.keys.front();
  put_lock(json, first, first ? find_lock(report.locks, *first) : nullptr);
  if (report.keys.size() > 1) {
    json.list("locks", report.keys, [&](const LockName& key) {
      json.begin_object();
      put_lock(json, &key, find_lock(report.locks, key));
      json.end_object();
    });
  }
  if (report.stock) put_stock(json, report);
  put_circumstances(json, report);
  return json.end_object().line();
}

std::string granted_text(const Options& options, const char* schema, const std::vector<HeldLock>& locks,
                         std::optional<WallTime> until) {
  if (options.shell) return shell_exports(locks, until);
  std::string text;
  for (const HeldLock& lock : locks) {
    if (!options.json) {
      text += lock.owner.text() + (lock.token.is_none() ? "" : " " + lock.token.text()) + "\n";
      continue;
    }
    JsonWriter json(schema);
    json.field("key", lock.name.text()).field("owner", lock.owner.text());
    json.key("token").number_or_null(static_cast<std::int64_t>(lock.token.value()));
    if (!lock.slot.empty()) json.field("slot", lock.slot);
    json.field("store", lock.store).field("reentered", lock.reentered).field("until", until);
    text += json.end_object().line();
  }
  return text;
}

}  // namespace dlock
