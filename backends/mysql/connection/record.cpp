// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/record.h"

#include <algorithm>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

constexpr char kRecord[] = "holder";  ///< the id of its row
constexpr char kDayMicroseconds[] = "86400000000";
enum HolderColumn : std::uint8_t { kIsNode, kItsTime, kItsId, kRefusesChanges, kToken, kHolderText, kHolderColumns };

std::string of_all(Strategy strategy) {
  return " WHERE space='" + std::string(strategy_name(strategy)) + "' AND id='" + kRecord + "' AND text";
}

}  // namespace

std::string encode_holder(const HolderRecord& record) {
  if (record.owner.empty()) return {};
  return std::to_string(record.connection) + " " + record.owner + " " + record.who;
}

HolderRecord decode_holder(std::uint64_t token, std::string_view text) {
  HolderRecord record{.token = token};
  record.connection = leading_number<std::uint64_t>(std::string(cut(text, ' ')));
  record.owner = cut(text, ' ');
  record.who = text;
  return record;
}

Participant participant_of(const HolderRecord& record) {
  Participant participant;
  participant.owner = record.owner;
  participant.token = FencingToken(record.token);
  participant.since = wall_time(static_cast<StoreTime>(std::min<std::uint64_t>(record.token, kLatestTime)));
  add_who(participant, record.who);
  return participant;
}

HolderRow::HolderRow(Servers& servers, Strategy strategy, const LockName& name)
    : servers_(servers),
      columns_("'" + std::string(strategy_name(strategy)) + "'," + literal(name.text()) + ",'" + kRecord + "'"),
      where_(" WHERE (space,name,id)=(" + columns_ + ")") {}

Result<HolderReading> HolderRow::read(From from, TimePoint until, Control* control) {
  const std::string refuses = from == From::kAny ? "0" : kReadOnly;
  TRY_ASSIGN(const auto answer,
             servers_.run("SELECT IF(" + std::string(kGalera) + ",1,0)," + kServerMicroseconds + ",CONNECTION_ID()," +
                              refuses + ",MAX(version),MAX(text) FROM " + kDataTable + where_,
                          until, control));
  const Row row = answer.rows.empty() ? Row() : answer.rows.front();
  if (row.size() != kHolderColumns)
    return Error{ErrorCode::kMisconfigured, servers_.server() + " has answered what dlock does not understand"};
  if (text_of(row, kRefusesChanges) != "0") return servers_.failed(read_only_is_set());
  return HolderReading{decode_holder(leading_number<std::uint64_t>(text_of(row, kToken)), text_of(row, kHolderText)),
                       leading_number<std::int64_t>(text_of(row, kItsTime)),
                       leading_number<std::uint64_t>(text_of(row, kItsId)), text_of(row, kIsNode) == "1"};
}

Result<std::uint64_t> HolderRow::draw(const HolderRecord& next, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto answer,
             servers_.run("INSERT INTO " + std::string(kDataTable) + "(space,name,id,version,text) SELECT " + columns_ +
                              ",LAST_INSERT_ID(" + kServerMicroseconds + ")," + literal(encode_holder(next)) +
                              " FROM DUAL WHERE TRUE" + kUnlessReadOnly +
                              " ON DUPLICATE KEY UPDATE version=LAST_INSERT_ID(GREATEST(version+1," +
                              kServerMicroseconds + ")),text=VALUES(text)",
                          until, control));
  return answer.changed == 0 ? Result<std::uint64_t>(servers_.failed(read_only_is_set())) : answer.number;
}

/// `condition` begins with " AND ".
Result<bool> HolderRow::change(const std::string& text, std::uint64_t token, const std::string& condition,
                               TimePoint until) {
  TRY_ASSIGN(const auto answer, servers_.run("UPDATE " + std::string(kDataTable) + " SET text=" + literal(text) +
                                                 where_ + " AND version=" + std::to_string(token) + condition,
                                             until));
  return answer.changed == 1;
}

Result<bool> HolderRow::replace(const HolderRecord& read, const HolderRecord& next, TimePoint until) {
  return change(encode_holder(next), read.token, " AND text=" + literal(encode_holder(read)), until);
}

Result<bool> HolderRow::clear(std::uint64_t token, TimePoint until) { return change({}, token, {}, until); }

std::string HolderRow::text_query(std::uint64_t token) const {
  return "(SELECT text FROM " + std::string(kDataTable) + where_ + " AND version=" + std::to_string(token) + ")";
}

Result<std::vector<LockName>> recorded_names(Servers& servers, Strategy strategy, TimePoint until) {
  TRY_ASSIGN(
      const auto found,
      servers.run("SELECT name FROM " + std::string(kDataTable) + of_all(strategy) + "<>'' ORDER BY name", until));
  std::vector<LockName> names;
  for (const Row& row : found.rows) {
    if (auto name = LockName::parse_stored(text_of(row, 0))) names.push_back(std::move(*name));
  }
  return names;
}

std::string is_forgotten(Strategy strategy) {
  return of_all(strategy) + "='' AND version+" + kDayMicroseconds + "<" + kServerMicroseconds;
}

}  // namespace dlock::mysql
