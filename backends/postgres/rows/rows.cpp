// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/rows/rows.h"

#include <algorithm>
#include <utility>

#include "backends/postgres/connection/schema.h"
#include "backends/postgres/connection/servers.h"
#include "lib/base/text.h"
#include "lib/rows/commit_pieces.h"

namespace dlock {
namespace postgres {
namespace {

constexpr std::size_t kMostTogether = 128;  ///< commits of one transaction

/// As the server reads bytes, whatever its settings; and in an array.
std::string bytes_text(std::string_view bytes) { return "\\x" + hex(bytes); }
std::string element(std::string_view bytes) { return "\"\\\\x" + hex(bytes) + "\""; }

template <typename List, typename Text>
std::string array_text(const List& list, const Text& text) {
  std::string array = "{";
  for (const auto& one : list) array += (array.size() > 1 ? "," : "") + text(one);
  return array + "}";
}

std::string bytes_of(const Row& row, std::size_t column) { return from_hex(text_of(row, column)).value_or(""); }

/// Names of channels are short; whoever hears what was meant for another only looks once more.
std::string channel_of(std::string_view space, const LockName& group, std::string_view key) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::string_view part : {space, std::string_view(group.text()), key}) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return "dlock_" + std::to_string(hash);
}

using Change = Rows::Change;
using Kind = Change::Kind;

std::string written_in(const Change& one) { return element(one.kind == Kind::kAdd ? numbers_text(one.add) : one.text); }

std::string version_of(const Change& one) { return std::to_string(one.version); }

std::string kind_of(const Change& one) { return {'"', static_cast<char>(one.kind), '"'}; }

/// In one order for all clients, so that none waits for another in a circle.
Rows::Commit sorted(Rows::Commit commit) {
  std::sort(commit.begin(), commit.end(), [](const Change& a, const Change& b) { return a.key < b.key; });
  return commit;
}

/// The rows of all; of one alone the function sees to it.
std::string locks_of(std::span<const Rows::Commit> commits) {
  std::vector<std::string> keys;
  for (const Rows::Commit& commit : commits) {
    for (const Change& one : commit) keys.push_back(element(one.key));
  }
  return commits.size() == 1 ? "{}" : array_text(keys, [](const std::string& key) { return key; });
}

class PostgresRows final : public Rows {
 public:
  PostgresRows(std::shared_ptr<Servers> servers, const RowSpace& space)
      : space_(space.name), shared_(std::move(servers)), servers_(*shared_) {}

  const std::string& store() const override { return servers_.settings().store; }
  std::string server() const override { return servers_.server(); }

  /// A query sees one moment. With a key that is nobody's, so that the clock is read in any case.
  Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit& limit) override {
    std::vector<std::string> all(keys.begin(), keys.end());
    all.emplace_back();
    TRY_ASSIGN(const auto rows, query(std::string("SELECT r.version,encode(r.text,'hex'),") + kNow +
                                          " FROM unnest($3::bytea[]) WITH ORDINALITY AS k(id,at) LEFT JOIN " + kTable +
                                          " r ON r.space=$1 AND r.name=$2::bytea AND r.id=k.id ORDER BY k.at",
                                      group, array_text(all, element), limit));
    Look look;
    for (const postgres::Row& row : rows) {
      look.rows.push_back(row_of(row, 0));
      look.now_us = leading_number<std::int64_t>(text_of(row, 2));
    }
    look.rows.resize(keys.size());
    return look;
  }

  Result<std::vector<std::string>> list(const LockName& group, const std::string& prefix,
                                        const CallLimit& limit) override {
    TRY_ASSIGN(const auto rows,
               query(std::string("SELECT encode(id,'hex') FROM ") + kTable +
                         " WHERE space=$1 AND name=$2::bytea AND id>$3::bytea AND id<$3::bytea||decode('ff','hex')"
                         " ORDER BY id",
                     group, bytes_text(prefix), limit));
    std::vector<std::string> keys;
    for (const postgres::Row& row : rows) keys.push_back(bytes_of(row, 0));
    return keys;
  }

  /// From one name to the next: what else is in the index is not read.
  Result<std::vector<LockName>> groups(const CallLimit& limit) override {
    const std::string next = std::string("SELECT name FROM ") + kTable + " r WHERE space=$1";
    TRY_ASSIGN(
        const auto rows,
        servers_.run("WITH RECURSIVE g(name) AS ((" + next + " ORDER BY name LIMIT 1) UNION ALL SELECT (" + next +
                         " AND r.name>g.name ORDER BY name LIMIT 1) FROM g WHERE g.name IS NOT NULL)"
                         " SELECT encode(name,'hex') FROM g WHERE name IS NOT NULL",
                     {space_}, limit));
    std::vector<LockName> names;
    for (const postgres::Row& row : rows) {
      if (auto name = LockName::parse_stored(bytes_of(row, 0))) names.push_back(std::move(*name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell /*tell*/,
                                          const CallLimit& limit) override {
    return commit_in_pieces(commits, kMostTogether, [&](auto some) { return commit_together(group, some, limit); });
  }

  Result<Survey> survey(const std::string& key, Which which, const CallLimit& limit) override {
    const std::string text = which == Which::kFilled ? "text<>''" : "text=''";
    TRY_ASSIGN(const auto rows, servers_.run(std::string("SELECT encode(name,'hex'),version,encode(text,'hex'),") +
                                                 kNow + " FROM (SELECT) AS one LEFT JOIN " + kTable +
                                                 " ON space=$1 AND id=$2::bytea AND " + text + " ORDER BY name",
                                             {space_, bytes_text(key)}, limit));
    Survey survey;
    for (const postgres::Row& row : rows) {
      survey.now_us = leading_number<std::int64_t>(text_of(row, 3));
      if (auto name = LockName::parse_stored(bytes_of(row, 0)))
        survey.rows.emplace_back(std::move(*name), row_of(row, 1));
    }
    return survey;
  }

  Result<bool> listen(const LockName& group, const std::string& key, const CallLimit& limit) override {
    if (std::exchange(listening_, std::nullopt)) TRY(servers_.run("UNLISTEN *", {}, limit));
    TRY_ASSIGN(const bool pooled, servers_.is_pooled(limit));
    if (pooled) return false;
    TRY(servers_.run("LISTEN " + channel_of(space_, group, key), {}, limit));
    listening_ = servers_.generation();
    return true;
  }

  void add_interest(std::vector<pollfd>& fds) const override {
    if (listening_ && servers_.current()) servers_.current()->add_interest(fds);
  }

  bool heard() override {
    if (!listening_) return false;
    const bool lasts = servers_.current() && servers_.generation() == *listening_;
    const bool told = !lasts || servers_.current()->heard();
    if (!lasts || !servers_.current()->usable()) listening_.reset();
    return told;
  }

  void close() override { servers_.close(); }

 private:
  static Row row_of(const postgres::Row& row, std::size_t column) {
    const auto version = leading_number<Number>(text_of(row, column));
    return {bytes_of(row, column + 1), version, static_cast<std::int64_t>(version)};
  }

  Result<Answer> query(const std::string& text, const LockName& group, std::string third, const CallLimit& limit) {
    return servers_.run(text, {space_, bytes_text(group.text()), std::move(third)}, limit);
  }

  /// One statement, which calls the function for each in turn.
  Result<std::vector<Number>> commit_together(const LockName& group, std::span<const Commit> commits,
                                              const CallLimit& limit) {
    const auto key_of = [&](const Change& one) {
      return element(one.kind == Kind::kTell ? channel_of(space_, group, one.key) : one.key);
    };
    std::vector<std::string> params{space_, bytes_text(group.text())};
    std::string values;
    for (const Commit& commit : commits) {
      const Commit in_order = sorted(commit);
      const std::string locks = params.size() == 2 ? locks_of(commits) : "{}";
      values += values.empty() ? "(" : ",(";
      for (const auto& [type, text] :
           {std::pair("bytea", locks), std::pair("text", array_text(in_order, kind_of)),
            std::pair("bytea", array_text(in_order, key_of)), std::pair("bigint", array_text(in_order, version_of)),
            std::pair("bytea", array_text(in_order, written_in))}) {
        params.push_back(text);
        values += (values.ends_with('(') ? "$" : ",$") + std::to_string(params.size()) + "::" + type + "[]";
      }
      values += ")";
    }
    TRY_ASSIGN(const auto rows,
               servers_.run("SELECT dlock_commit($1,$2,l,k,i,v,t) FROM (VALUES" + values + ") AS c(l,k,i,v,t)", params,
                            limit));
    std::vector<Number> numbers;
    for (const postgres::Row& row : rows) numbers.push_back(leading_number<Number>(text_of(row, 0)));
    numbers.resize(commits.size());
    return numbers;
  }

  const std::string space_;
  const std::shared_ptr<Servers> shared_;
  Servers& servers_;
  std::optional<int> listening_;  ///< on the connection of this number
};

}  // namespace

std::unique_ptr<Rows> make_rows(std::shared_ptr<Servers> servers, const RowSpace& space) {
  return std::make_unique<PostgresRows>(std::move(servers), space);
}

}  // namespace postgres

Result<std::unique_ptr<Rows>> make_postgres_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime) {
  TRY_ASSIGN(auto settings, postgres::settings_of(url));
  return postgres::make_rows(std::make_shared<postgres::Servers>(std::move(settings), runtime.clock), space);
}

}  // namespace dlock
