// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/schema.h"

#include "backends/postgres/connection/scripts.h"

namespace dlock::postgres {
namespace {

/// The comment of what belongs to this dlock.
constexpr char kOurs[] = "dlock tables 1";

/// The comments, or NULL.
constexpr char kAskComments[] =
    "SELECT to_regclass('dlock_rows') IS NOT NULL,obj_description(to_regclass('dlock_rows'),'pg_class'),"
    "obj_description(to_regproc('dlock_commit'),'pg_proc')";

/// A schema without USAGE is not searched.
constexpr char kAskHidden[] =
    "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace WHERE c.relname='dlock_rows' AND "
    "NOT has_schema_privilege(n.oid,'USAGE')";

enum class Present { kNothing, kSome, kAll };

Result<Present> look(Servers& servers, const CallLimit& limit) {
  TRY_ASSIGN(const auto found, servers.run(kAskComments, {}, limit));
  const Row row = found.empty() ? Row() : found.front();
  if (text_of(row, 0) != "t") return Present::kNothing;
  if (const std::string comment = text_of(row, 1); comment != kOurs) {
    return Error{ErrorCode::kMisconfigured,
                 "the table dlock_rows on " + servers.server() + " is not '" + kOurs + "' but '" + comment + "'",
                 "use the dlock that belongs to it, or drop the table while nothing is locked, and run dlock setup"};
  }
  return text_of(row, 2) == kOurs ? Present::kAll : Present::kSome;
}

}  // namespace

std::string setup_script() {
  return "-- what dlock keeps its data in, in the first schema of the account's search_path\n" +
         std::string(connection_scripts::kSchema) +
         "-- what an account needs, and nothing else (replace app, and public by that schema):\n"
         "-- GRANT USAGE ON SCHEMA public TO app;\n"
         "-- GRANT SELECT, INSERT, UPDATE, DELETE ON dlock_rows TO app;\n"
         "-- GRANT EXECUTE ON FUNCTION dlock_commit, dlock_sum TO app;\n";
}

Result<std::string> set_up(Servers& servers, const CallLimit& limit) {
  TRY_ASSIGN(const auto present, look(servers, limit));
  const std::string& store = servers.settings().store;
  if (present == Present::kAll) return "the table of dlock exists already in " + store + "\n";
  TRY(servers.run(connection_scripts::kSchema, {}, limit));
  return "created in " + store + ": dlock_rows, dlock_commit\n";
}

Result<void> check_schema(Servers& servers, const CallLimit& limit) {
  TRY_ASSIGN(const auto present, look(servers, limit));
  if (present == Present::kAll) return {};
  if (present == Present::kNothing) {
    TRY_ASSIGN(const auto hidden, servers.run(kAskHidden, {}, limit));
    if (!hidden.empty()) {
      return Error{ErrorCode::kDenied,
                   "this user may not use the schema " + text_of(hidden.front(), 0) + ", where a table dlock_rows is",
                   "the privileges that are needed: dlock setup --print"};
    }
  }
  return Error{ErrorCode::kMisconfigured, "the table dlock_rows or the function dlock_commit is missing",
               "create them with: dlock setup"};
}

}  // namespace dlock::postgres
