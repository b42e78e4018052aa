// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/row/store.h"

#include <algorithm>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/record.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

/// A column of the holder, which remains in the row when another program takes it after dlock.
std::string while_live(const std::string& expression) { return "IF({live}," + expression + ",NULL)"; }

std::string microseconds_of(const std::string& column) {
  return while_live("TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," + column + ")");
}

std::optional<StoreTime> time_of(const std::optional<std::string>& field) {
  return field ? std::optional(leading_number<std::int64_t>(*field)) : std::nullopt;
}

/// How many parts of who_text() and what follows it are in `info`, less one.
std::string parts() { return "(LENGTH({info})-LENGTH(REPLACE({info},CHAR(31),'')))"; }
std::string unasked() { return parts() + "<5"; }

std::optional<WallTime> wall(std::optional<StoreTime> time) {
  return time ? std::optional(wall_time(*time)) : std::nullopt;
}

/// `info` with `word` as its last part.
std::string with_word(const std::string& word) {
  return "CONCAT(LEFT(SUBSTRING_INDEX({info},CHAR(31),5),600),REPEAT(CHAR(31),GREATEST(5-" + parts() + ",1))," +
         literal(word) + ")";
}

/// A literal with a character set takes on that of the column.
std::string key(const LockName& name) { return "_utf8mb4 " + literal(name.text()); }

constexpr char kOver[] = "{live} AND {expires}<=UTC_TIMESTAMP(6)";

std::string held_by(const std::string& owner) { return "{live} AND {owner}=" + literal(owner); }

/// The names of a table by dlock's words for them. A hold of dlock is live as long as the row has the version that
/// dlock gave it: a program that knows nothing of dlock's columns leaves them as they were when it takes the lock.
std::map<std::string, std::string, std::less<>> names_of(const RowTable& table) {
  std::map<std::string, std::string, std::less<>> names{{"table", identifier(table.table)},
                                                        {"name", identifier(table.name)},
                                                        {"free", table.free},
                                                        {"taken", table.taken}};
  for (const char* word : {"owner", "token", "since", "expires", "info", "entries", "held"}) {
    names[word] = identifier(table.prefix + word);
  }
  const bool occupy = !table.state.empty();
  names["state"] = occupy ? identifier(table.state) : table.taken;  // a row of unique is taken
  names["version"] = occupy ? identifier(table.version) : "0";
  // The own table lacks the column `held`: an older dlock made it, and works on it beside this one.
  names["live"] = occupy && table.is_users()
                      ? "IFNULL(" + names["held"] + "," + names["version"] + ")=" + names["version"]
                      : "TRUE";
  return names;
}

}  // namespace

RowStore::RowStore(const Settings& settings, Servers& servers)
    : strategy_(settings.strategy), table_(settings.rows), names_(names_of(table_)), servers_(servers) {}

std::string RowStore::where(const LockName& name) const { return " WHERE {name}=" + key(name); }

/// `statement` with the table's names for the words between braces; literals have none.
std::string RowStore::named(std::string_view statement) const {
  std::string text;
  while (!statement.empty()) {
    text += cut(statement, '{');
    if (statement.empty()) break;
    text += names_.find(cut(statement, '}'))->second;
  }
  return text;
}

/// Another table than dlock's own is looked at once.
Result<void> RowStore::check_table(const LockName& name, TimePoint until, Control* control) {
  if (checked_ || !table_.is_users()) return {};
  TRY_ASSIGN(const auto columns, servers_.run(row_columns_query(table_, name.text()), until, control));
  const auto fit = judge_row_table(table_, columns, servers_.server());
  checked_ = static_cast<bool>(fit);
  return fit;
}

Result<bool> RowStore::change(const std::string& statement, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto done, servers_.run(named(statement), until, control));
  return done.changed > 0;
}

/// A row that is locked is not changed, and noted. What keeps the whole table from changes locks no row of it.
Result<bool> RowStore::try_change(const std::string& statement, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto done, servers_.try_run(named(statement), until, control));
  row_locked_ = !done.has_value();
  if (row_locked_) {
    TRY(servers_.run(named("UPDATE {table} SET {name}={name} WHERE FALSE"), until, control));
  }
  return !row_locked_ && done->changed > 0;
}

Result<RowStore::State> RowStore::read_state(const LockName& name, TimePoint until, Control* control) {
  TRY(check_table(name, until, control));
  TRY_ASSIGN(const auto found,
             servers_.run(
                 named("SELECT " + std::string(kServerMicroseconds) + ",{name}," + while_live("{owner}") + ",{token}," +
                       microseconds_of("{since}") + "," + microseconds_of("{expires}") + "," + while_live("{info}") +
                       ",IF({state}<=>{free},0,IF({state}<=>{taken},1,2)),{version}," + while_live("{entries}") + "," +
                       kReadOnly + " FROM (SELECT 1) AS one LEFT JOIN {table} ON {name}=" + key(name)),
                 until, control));
  if (found.rows.size() != 1 || found.rows[0].size() != 11) {
    return Error{ErrorCode::kUnavailable, servers_.server() + " answered what dlock does not understand"};
  }
  const Row& fields = found.rows[0];
  State reading;
  reading.now = leading_number<std::int64_t>(fields[0].value_or(""));
  reading.read_only = fields[10].value_or("0") != "0";
  reading.has_row = fields[1].has_value();
  if (!reading.has_row) return reading;
  reading.token = leading_number<std::uint64_t>(fields[3].value_or(""));
  reading.version = leading_number<std::uint64_t>(fields[8].value_or(""));
  const std::string state = fields[7].value_or("");
  if (state == "0") return reading;
  if (state != "1") {
    return Error{ErrorCode::kMisconfigured,
                 name.text() + " is in a state that is neither free (" + table_.free + ") nor taken (" + table_.taken +
                     ") in the table " + table_.table + " on " + servers_.server(),
                 "say in the URL which states mean that: free=1&taken=2"};
  }
  const std::string entries = fields[9].value_or("");
  Holder holder{fields[2].value_or(""), fields[2] ? reading.token : 0,
                time_of(fields[4]),     time_of(fields[5]),
                fields[6].value_or(""), static_cast<int>(1 + std::count(entries.begin(), entries.end(), ','))};
  if (!holder.until || *holder.until > reading.now) reading.holder = std::move(holder);
  return reading;
}

LockState row_state(const RowStore::State& reading, const LockName& name, const std::string& store, WallTime asked,
                    WallTime answered) {
  LockState state{name, store, Mode::kExclusive, 0, {}, {}};
  if (!reading.holder) return state;
  Participant participant;
  participant.owner = reading.holder->owner;
  participant.token = FencingToken(reading.holder->token);
  participant.count = reading.holder->entries;
  participant.since = wall(reading.holder->since);
  participant.until = wall(reading.holder->until);
  if (participant.owner.empty()) participant.note = "another program";
  else add_who(participant, reading.holder->who);
  state.holders.push_back(std::move(participant));
  move_to_our_clock(state, wall_time(reading.now), asked, answered);
  return state;
}

Result<LockState> RowStore::look(const LockName& name, const std::string& store, TimePoint until, Control* control,
                                 std::optional<Duration>* remaining) {
  const WallTime asked = servers_.clock().wall();
  TRY_ASSIGN(const auto seen, read_state(name, until, control));
  if (remaining) remaining->reset();
  if (remaining && seen.holder && seen.holder->until) {
    *remaining = std::chrono::microseconds(*seen.holder->until - seen.now);
  }
  return row_state(seen, name, store, asked, servers_.clock().wall());
}

/// The row is deleted by each release, so the counter lies elsewhere; it is raised by who has the lock already.
Result<std::uint64_t> RowStore::draw_token(const LockName& name, TimePoint until, Control* control) {
  return HolderRow(servers_, strategy_, name).draw({}, until, control);
}

Result<std::optional<std::uint64_t>> RowStore::insert(const LockName& name, const std::string& fields,
                                                      const std::string& owner, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto taken, try_change(inserting(name, fields), until, control));
  if (!taken) return std::optional<std::uint64_t>();
  TRY_ASSIGN(const auto token, draw_token(name, until, control));
  TRY_ASSIGN(const auto noted,
             change("UPDATE {table} SET {token}=" + std::to_string(token) + where(name) + " AND " + held_by(owner),
                    until, control));
  return noted ? std::optional(token) : std::nullopt;
}

Result<std::optional<std::uint64_t>> RowStore::take(const LockName& name, const std::string& owner,
                                                    const std::string& who, Duration ttl, TimePoint until,
                                                    Control* control) {
  const std::string fields = "{owner}=" + literal(owner) + ",{since}=UTC_TIMESTAMP(6),{expires}=" + end_after(ttl) +
                             ",{info}=" + literal(std::string_view(who).substr(0, 1024)) +
                             ",{entries}=" + literal(owner);
  row_locked_ = false;
  TRY_ASSIGN(const auto read, read_state(name, until, control));
  if (read.read_only) return servers_.failed(read_only_is_set());
  if (read.holder && read.holder->owner != owner) return std::optional<std::uint64_t>();
  if (read.holder && read.holder->token != 0) {  // an answer was lost
    TRY_ASSIGN(const auto renewed, renew(name, owner, ttl, false, "", until, control));
    return renewed ? std::optional(read.holder->token) : std::nullopt;
  }
  if (strategy_ == Strategy::kUnique) {
    if (read.holder) {  // ours, without its token yet
      TRY(release(name, owner, {}, until, control));
    } else if (read.has_row) {
      TRY(try_change(freeing(name, kOver), until, control));
      if (row_locked_) return std::optional<std::uint64_t>();
    }
    return insert(name, fields, owner, until, control);
  }
  if (!read.has_row) {
    TRY(try_change(inserting(name, "{state}={free},{version}=0"), until, control));
    if (row_locked_) return std::optional<std::uint64_t>();
  }
  const std::uint64_t token = std::max(read.token + 1, static_cast<std::uint64_t>(read.now));
  TRY_ASSIGN(const auto taken,
             try_change("UPDATE {table} SET {state}={taken},{version}={version}+1," +
                            (table_.is_users() ? "{held}=" + std::to_string(read.version + 1) + "," : "") +
                            "{token}=" + std::to_string(token) + "," + fields + where(name) +
                            " AND {version}=" + std::to_string(read.version) + " AND ({state}={free} OR " + kOver + ")",
                        until, control));
  return taken ? std::optional(token) : std::nullopt;
}

Result<bool> RowStore::renew(const LockName& name, const std::string& owner, Duration ttl, bool exact,
                             const std::string& ran, TimePoint until, Control* control) {
  const bool asks = !exact && revoked_.empty();  // whoever leaves it hears of nothing any more
  const std::string end = exact ? end_after(ttl) : "GREATEST({expires}+INTERVAL 1 MICROSECOND," + end_after(ttl) + ")";
  const auto renewed =
      change("UPDATE {table} SET {expires}=" + end + (ran.empty() ? "" : ",{info}=" + with_word(ran_word(ran))) +
                 where(name) + " AND {state}={taken} AND " + held_by(owner) + " AND {expires}>UTC_TIMESTAMP(6)" +
                 (asks ? " AND " + unasked() : "") + kUnlessReadOnly,
             until, control);
  if (!renewed || *renewed) return renewed;
  TRY_ASSIGN(const auto read, read_state(name, until, control));
  const bool ours = read.holder && read.holder->owner == owner && !read.read_only;
  if (ours && asks) revoked_ = revocation_of(read.holder->who);
  if (ours && asks && !revoked_.empty()) return renew(name, owner, ttl, exact, ran, until, control);
  return read.read_only ? Result<bool>(servers_.failed(read_only_is_set())) : Result<bool>(false);
}

Result<bool> RowStore::ask_back(const LockName& name, const std::string& owner, std::uint64_t token,
                                const std::string& by, TimePoint until) {
  const auto asked = change("UPDATE {table} SET {info}=" + with_word(by) + where(name) + " AND " + held_by(owner) +
                                " AND {token}=" + std::to_string(token) + " AND " + unasked(),
                            until, nullptr);
  if (!asked || *asked) return asked;
  TRY_ASSIGN(const auto read, read_state(name, until, nullptr));
  return read.holder && read.holder->owner == owner && read.holder->token == token;
}

/// Not the last one: the others stay. Else: all of it goes. Each in one statement, so of two who leave together one is
/// the last.
Result<bool> RowStore::release_entry(const LockName& name, const std::string& owner, TimePoint until) {
  const auto left = change("UPDATE {table} SET {entries}=TRIM(BOTH ',' FROM REPLACE(CONCAT(',',{entries},',')," +
                               literal("," + owner + ",") + ",','))" + where(name) + " AND " + held_by(owner) +
                               " AND FIND_IN_SET(" + literal(owner) + ",{entries}) AND {entries}<>" + literal(owner),
                           until, nullptr);
  if (!left || *left) return left;
  return change(freeing(name, held_by(owner) + " AND {entries}=" + literal(owner)), until, nullptr);
}

/// A row that is there stays as it is. Without IGNORE, which would cut a key short that does not fit.
std::string RowStore::inserting(const LockName& name, const std::string& fields) const {
  return "INSERT INTO {table} SET {name}=" + key(name) + "," + fields + " ON DUPLICATE KEY UPDATE {name}={name}";
}

std::string RowStore::freeing(const LockName& name, const std::string& condition) const {
  if (strategy_ == Strategy::kUnique) return "DELETE FROM {table}" + where(name) + " AND " + condition;
  return std::string("UPDATE {table} SET {state}={free},{version}={version}+1,") +
         (table_.is_users() ? "{held}=NULL," : "") +
         "{owner}=NULL,{since}=NULL,{expires}=NULL,{info}=NULL,{entries}=NULL" + where(name) +
         " AND {state}={taken} AND " + condition;
}

Result<bool> RowStore::release(const LockName& name, const std::string& owner, std::optional<std::uint64_t> token,
                               TimePoint until, Control* control) {
  std::string condition = held_by(owner);
  if (token) condition += " AND {token}=" + std::to_string(*token);
  return change(freeing(name, condition), until, control);
}

Result<bool> RowStore::release_lease(const LockName& name, const std::string& owner, TimePoint until) {
  return change(freeing(name, held_by(owner) + " AND {expires}>UTC_TIMESTAMP(6)"), until, nullptr);
}

Result<bool> RowStore::release_foreign(const LockName& name, TimePoint until) {
  return change(freeing(name, "({owner} IS NULL OR NOT {live})"), until, nullptr);
}

Result<std::vector<LockName>> RowStore::names_where(const std::string& condition, TimePoint until) {
  TRY_ASSIGN(const auto found, servers_.run(named("SELECT {name} FROM {table} WHERE " + condition), until));
  std::vector<LockName> names;
  for (const Row& row : found.rows) {
    if (auto name = LockName::parse_stored(row.empty() ? "" : row[0].value_or(""))) names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<LockName>> RowStore::names(TimePoint until) { return names_where("{state}={taken}", until); }

Result<std::vector<LockName>> RowStore::over(TimePoint until) {
  return names_where("{state}={taken} AND " + std::string(kOver), until);
}

Result<bool> RowStore::sweep(const LockName& name, TimePoint until) {
  return change(freeing(name, kOver), until, nullptr);
}

Result<std::vector<LockName>> RowStore::free_slots(TimePoint until) {
  if (strategy_ == Strategy::kUnique) return std::vector<LockName>();
  return names_where("{state}={free} AND INSTR(CAST({name} AS BINARY),CHAR(31))>0", until);
}

Result<bool> RowStore::remove_free(const LockName& name, TimePoint until) {
  return change("DELETE FROM {table}" + where(name) + " AND {state}={free}", until, nullptr);
}

}  // namespace dlock::mysql
