// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/bound/store.h"

#include <limits>

#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock::postgres {
namespace {

/// FROM and WHERE: the session that holds the advisory lock.
std::string of_holder(const LockName& name) {
  return " FROM pg_locks JOIN pg_stat_activity USING (pid),(SELECT " + lock_number(name) +
         ") AS l(k) WHERE granted AND locktype='advisory' AND objsubid=1"
         " AND database=(SELECT oid FROM pg_database WHERE datname=current_database())"
         " AND classid::bigint=(k>>32)&4294967295 AND objid::bigint=k&4294967295";
}

}  // namespace

std::string lock_number(const LockName& name) {
  const auto number = whole_number<std::int64_t>(name.text());
  if (number && std::to_string(*number) == name.text()) return "(" + name.text() + ")::bigint";
  return "hashtextextended(convert_from(decode('" + hex(name.text()) + "','hex'),'UTF8') COLLATE \"C\",0)";
}

std::string session_name(const std::string& owner) { return "dlock " + owner; }

std::string unknown_owner(const std::string& backend) { return "session " + backend; }

Result<std::optional<HolderSession>> holder_session(Servers& servers, const LockName& name, const CallLimit& limit) {
  TRY_ASSIGN(const auto found, servers.run("SELECT pid,application_name" + of_holder(name), {}, limit));
  if (found.empty()) return std::optional<HolderSession>();
  return std::optional(HolderSession{text_of(found.front(), 0), text_of(found.front(), 1)});
}

Result<std::optional<std::string>> end_holder_session(Servers& servers, const LockName& name, const std::string& owner,
                                                      const CallLimit& limit) {
  TRY_ASSIGN(const auto ended, servers.run("SELECT pid,pg_terminate_backend(pid)" + of_holder(name) +
                                               " AND (application_name=$1 OR '" + unknown_owner("") + "'||pid=$2)",
                                           {session_name(owner), owner}, limit));
  return ended.empty() ? std::optional<std::string>() : std::optional(text_of(ended.front(), 0));
}

/// A shorter time at the server would give the lock away under a holder that is cut off.
Result<void> check_ttl(Duration ttl) {
  constexpr Duration kLongest = std::chrono::milliseconds(std::numeric_limits<std::int32_t>::max());
  if (ttl <= kLongest) return {};
  return Error{ErrorCode::kUnsupported,
               "a ttl of " + human_duration(ttl) + " is more than PostgreSQL's time-out of idle sessions, " +
                   human_duration(kLongest) + " at most",
               "choose a ttl of 24 d or less, or use strategy=lease"};
}

Error lives_with_its_connection() {
  return {ErrorCode::kUnsupported, "a lock of strategy=session lives with its connection", "use strategy=lease"};
}

}  // namespace dlock::postgres
