// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/rows/row_batch.h"

#include <algorithm>
#include <array>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"

namespace dlock::mysql {
namespace {

using Kind = Rows::Change::Kind;

constexpr const char* kNumbers[] = {"a", "b", "c", "d"};

/// Whether `text` is what the numbers' columns give back for it.
bool is_numbers(const std::string& text) {
  std::array<std::int64_t, Rows::kMostNumbers> room{};
  const std::size_t count = count_numbers(text);
  if (count == 0 || count > room.size()) return false;
  const std::span numbers(room.data(), count);
  const bool is_counted = read_numbers(text, numbers) && numbers_text(numbers) == text;
  return is_counted && std::none_of(numbers.begin(), numbers.end(), [](std::int64_t one) { return one < 0; });
}

bool is_of_rows(const Rows::Change& one) { return one.kind != Kind::kBefore && one.kind != Kind::kTell; }

}  // namespace

bool tells(const Rows::Commit& commit) {
  return std::any_of(commit.begin(), commit.end(), [](const Rows::Change& one) { return one.kind == Kind::kTell; });
}

bool RowBatch::is_refusal(int code) { return code == kDuplicateKey || code == kNullValue || code == kOutOfRange; }

bool RowBatch::add(const Rows::Commit& commit) {
  const bool meets = std::any_of(commit.begin(), commit.end(), [&](const Rows::Change& one) {
    if (!is_of_rows(one)) return false;
    const bool adds = one.kind == Kind::kAdd;
    return one.kind == Kind::kClear ? !keys_.empty() || !adds_.empty()
                                    : keys_.contains(one.key) || (!adds && adds_.contains(one.key));
  });
  const bool cleared = !others_.empty() && others_.back().kind == Kind::kClear;
  if (meets || cleared) return false;
  for (const Rows::Change& one : commit) {
    if (one.kind == Kind::kAdd) {
      auto& sum = adds_[one.key];
      sum.resize(std::max(sum.size(), one.add.size()));
      for (std::size_t i = 0; i < one.add.size(); ++i) sum[i] += one.add[i];
      continue;
    }
    if (one.kind != Kind::kClear && is_of_rows(one)) keys_.insert(one.key);
    if (is_of_rows(one)) least_ = std::max(least_, one.version + 1);
    others_.push_back(one);
  }
  return true;
}

std::string RowBatch::of(const std::string& key) const {
  return " WHERE space=" + space_ + " AND name=" + name_ + " AND id=" + literal(key);
}

/// The mark is set only where all of it holds: beside an equation MySQL knows the column before it looks at the row,
/// and sets the mark for a row that is not the one.
void RowBatch::change(const std::string& statement, const std::string& condition) {
  const std::string next = transaction_.new_mark();
  const std::string goes_on = mark_.empty() ? "" : "LAST_INSERT_ID()=" + mark_ + " AND ";
  transaction_.write(statement + " AND IF(" + goes_on + condition + ",LAST_INSERT_ID(" + next + "+0*version),0)");
  mark_ = next;
}

void RowBatch::add_numbers(const std::string& key, const std::vector<std::int64_t>& by) {
  std::string set = "UPDATE " + std::string(kDataTable) + " SET version=GREATEST(version+1," + number_ + ")";
  std::string condition;
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (by[i] == 0) continue;
    const std::string column = kNumbers[i];
    set += "," + column + "=" + column + "+(" + std::to_string(by[i]) + ")";
    condition += (condition.empty() ? "" : " AND ") + column +
                 (by[i] < 0 ? ">=" + std::to_string(-by[i]) : "<=" + std::to_string(Rows::kMostNumber - by[i]));
  }
  change(set + of(key), condition.empty() ? "a IS NOT NULL" : condition);
}

/// The text, and the numbers that it is.
std::string RowBatch::values_of(const std::string& text) const {
  if (!is_numbers(text)) return literal(text) + ",NULL,NULL,NULL,NULL";
  std::string values = "NULL";
  std::string_view rest = text;
  for (std::size_t i = 0; i < Rows::kMostNumbers; ++i) {
    const auto end = std::min(rest.find(' '), rest.size());
    values += "," + (rest.empty() ? std::string("NULL") : std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

/// All rows that are filled get one number, which is larger than the clock if one of theirs is.
void RowBatch::raise_number(const std::string& keys) {
  transaction_.write("SET @dlock_number=GREATEST(@dlock_number,IFNULL((SELECT MAX(version)+1 FROM " +
                     std::string(kDataTable) + " WHERE space=" + space_ + " AND name=" + name_ + " AND id IN(" + keys +
                     ")),0))");
}

/// A row that has a text is an error of the server, and so is, if the number is told, one that has got a larger number
/// meanwhile.
void RowBatch::fill(const std::string& key, const std::string& text, bool told) {
  const std::string next = told ? "IF(text='' AND version<VALUES(version),VALUES(version),"
                                : "IF(text='',GREATEST(version+1,VALUES(version)),";
  std::string others;
  for (const char* column : {"text", "a", "b", "c", "d"})
    others += "," + std::string(column) + "=VALUES(" + column + ")";
  transaction_.write("INSERT INTO " + std::string(kDataTable) + "(space,name,id,version,text,a,b,c,d) VALUES(" +
                     space_ + "," + name_ + "," + literal(key) + "," + number_ + "," + values_of(text) +
                     ") ON DUPLICATE KEY UPDATE version=" + next + "~0+CONNECTION_ID())" + others);
}

void RowBatch::insert(const std::string& key, const std::string& text) {
  rows_.push_back({key, "," + number_ + "," + values_of(text) + ")"});
}

std::string RowBatch::after_commit(bool told) const {
  const std::string leaves = turn_of_ && tells(others_) ? kReleaseNamedLocks : "";
  const std::string asks = told ? "SELECT @dlock_number" : "";
  return leaves + (leaves.empty() || asks.empty() ? "" : ";") + asks;
}

void RowBatch::write(bool told) {
  const std::string clock = "GREATEST(" + std::string(kServerMicroseconds) + "," + std::to_string(least_) + ")";
  number_ = told ? "@dlock_number" : clock;
  if (told) transaction_.write("SET @dlock_number=" + clock);
  std::string filled;
  for (const Rows::Change& one : others_) {
    if (one.kind == Kind::kFill) filled += (filled.empty() ? "" : ",") + literal(one.key);
  }
  if (told && !filled.empty()) raise_number(filled);
  for (const auto& [key, by] : adds_) add_numbers(key, by);
  const std::string table(kDataTable);
  bool clears = false;
  std::string unused;
  for (const Rows::Change& one : others_) {
    clears = clears || one.kind == Kind::kClear;
    if (one.kind == Kind::kClear || !is_of_rows(one)) continue;
    if (one.kind == Kind::kFill) {
      fill(one.key, one.text, told);
      continue;
    }
    const std::string at = "version=" + std::to_string(one.version);
    if (one.version == 0 && one.kind != Kind::kRemove) insert(one.key, one.text);
    if (one.version == 0 && one.kind == Kind::kCheck) unused += ";DELETE FROM " + table + of(one.key);
    if (one.version == 0) continue;
    if (one.kind == Kind::kRemove) change("DELETE FROM " + table + of(one.key), at);
    if (one.kind == Kind::kCheck) change("UPDATE " + table + " SET version=version" + of(one.key), at);
    if (one.kind != Kind::kPut) continue;
    std::string set = "version=" + number_;
    std::string values = values_of(one.text);
    for (const char* column : {"text", "a", "b", "c", "d"}) {
      const auto end = std::min(values.find(','), values.size());
      set += "," + std::string(column) + "=" + values.substr(0, end);
      values.erase(0, std::min(end + 1, values.size()));
    }
    change("UPDATE " + table + " SET " + set + of(one.key), at);
  }
  // NULL where none may be is an error of one row in every SQL mode, of several in some.
  const std::string is_well = "IF(LAST_INSERT_ID()=" + mark_ + ",";
  const bool one = rows_.size() == 1 && !mark_.empty();
  if (!mark_.empty() && !one) transaction_.write("SET @dlock_made=" + is_well + "1,~0+CONNECTION_ID())");
  std::string values;
  for (const auto& [key, rest] : rows_) {
    values += (values.empty() ? "(" : ",(") + space_ + "," + name_ + "," +
              (one ? is_well + literal(key) + ",NULL)" : literal(key)) + rest;
  }
  if (!values.empty())
    transaction_.write("INSERT INTO " + table + "(space,name,id,version,text,a,b,c,d) VALUES" + values);
  if (!unused.empty()) transaction_.write(unused.substr(1));
  for (const Rows::Change& last : others_) {
    if (last.kind != Kind::kBefore) continue;
    transaction_.write("SET @dlock_made=IF(" + std::string(kServerMicroseconds) + "<" + std::to_string(last.version) +
                       ",1,~0+CONNECTION_ID())");
  }
  if (clears) transaction_.write("DELETE FROM " + table + " WHERE space=" + space_ + " AND name=" + name_);
  for (const Rows::Change& last : others_) {
    if (!turn_of_ || last.kind != Kind::kFill) continue;
    transaction_.write("DO IF(" + std::string(kGalera) + ",0,GET_LOCK(" + turn_of_(last.key) + ",0))");
  }
}

}  // namespace dlock::mysql
