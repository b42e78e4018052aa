// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/rows/rows.h"

#include <algorithm>
#include <map>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/rows/gate.h"
#include "backends/mysql/rows/row_batch.h"
#include "backends/mysql/rows/transaction.h"
#include "lib/base/text.h"
#include "lib/row_lock/record.h"

namespace dlock {
namespace mysql {
namespace {

/// A client that is silent for so long may have left rows locked.
constexpr int kIdleSeconds = 15;
constexpr std::size_t kMostTogether = 128;     ///< commits of one transaction
constexpr std::size_t kMostRowsListed = 5000;  ///< of one answer

Settings for_batches(Settings settings, int idle_seconds) {
  for (DatabaseSettings& server : settings.servers) {
    server.batches = true;
    server.idle_seconds = idle_seconds;
  }
  return settings;
}

std::string turn_of(const LockName& group, const std::string& key) {
  return named_lock("turn", group.text() + "\n" + key);
}

class MysqlRows final : public Rows {
 public:
  MysqlRows(Settings settings, const Dial& dial, const RowSpace& space, const Runtime& runtime, int idle_seconds,
            bool queues)
      : settings_(for_batches(std::move(settings), idle_seconds)),
        space_(literal(space.name)),
        transaction_(Servers(settings_.servers, dial, runtime.clock), runtime.clock),
        has_turns_(!queues) {
    if (queues) gate_.emplace(settings_, transaction_.servers(), space_, runtime);
  }

  const std::string& store() const override { return settings_.store; }
  std::string server() const override { return transaction_.servers().server(); }
  void close() override { transaction_.servers().close(); }
  RowQueue* queue() override { return gate_ ? &*gate_ : nullptr; }
  void add_interest(std::vector<pollfd>& fds) const override {
    if (const Database* database = transaction_.servers().current()) database->add_interest(fds);
  }
  Result<bool> listen(const LockName& group, const std::string& key, const CallLimit& limit) override {
    return gate_ ? gate_->listen(group, key, limit) : Result<bool>(false);
  }
  /// The server has ended the connection: by KILL, which is how somebody is told; or because it goes down.
  bool heard() override {
    if (gate_ && gate_->is_deaf()) return true;
    Database* database = transaction_.servers().current();
    if (database == nullptr || database->usable()) return false;
    transaction_.servers().close();
    return true;
  }

  Result<RowTurn> take_turn(const LockName& group, std::span<const std::string> keys, Duration wait,
                            const CallLimit& limit) override {
    if (!has_turns_) return RowTurn{};
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    std::string first = "0";
    for (std::size_t i = keys.size(); i-- > 0;) {
      const std::string waits = i + 1 == keys.size() ? std::to_string(seconds) : "0";
      first = "IF(GET_LOCK(" + turn_of(group, keys[i]) + "," + waits + ")," + std::to_string(i + 1) + "," + first + ")";
    }
    Servers& servers = transaction_.servers();
    TRY_ASSIGN(const auto database, servers.connect(limit.until, limit.control));
    const std::string text = std::string(kReleaseNamedLocks) + ";SELECT IF(" + kGalera + ",-1," + first + ")";
    const AnswerOrFailure outcome = ask(*database, text, servers.clock(), limit.until, limit.control);
    if (const auto* failure = std::get_if<Failure>(&outcome)) {
      has_turns_ = !is_without_named_locks(failure->code);
      return servers.failed(*failure);
    }
    const auto& rows = std::get<Answer>(outcome).rows;
    const auto got = rows.empty() ? -1 : number_of(rows[0], 0);
    has_turns_ = got >= 0;
    has_turn_ = got > 0;
    return RowTurn{has_turns_, has_turn_ ? std::optional(static_cast<std::size_t>(got - 1)) : std::nullopt};
  }

  /// A query sees one moment.
  Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit& limit) override {
    std::string among;
    for (const std::string& key : keys) among += (among.empty() ? "" : ",") + literal(key);
    const std::string numbers = "CONCAT_WS(' ',a,b,c,d)";
    TRY_ASSIGN(const auto rows, query("SELECT id,version,IFNULL(text," + numbers + ") FROM " + of(group) +
                                          " AND id IN(" + among + ");SELECT " + kServerMicroseconds,
                                      limit));
    Look look;
    look.rows.resize(keys.size());
    std::map<std::string, Row> found;
    for (const mysql::Row& row : rows) {
      const auto version = leading_number<Number>(mysql::text_of(row, 1));
      if (row.size() == 1) look.now_us = leading_number<std::int64_t>(mysql::text_of(row, 0));
      else found[mysql::text_of(row, 0)] = {mysql::text_of(row, 2), version, static_cast<std::int64_t>(version)};
    }
    for (std::size_t i = 0; i < keys.size(); ++i) look.rows[i] = found[keys[i]];
    return look;
  }

  Result<std::vector<std::string>> list(const LockName& group, const std::string& prefix,
                                        const CallLimit& limit) override {
    std::vector<std::string> keys;
    std::string end = prefix, after = prefix;
    ++end.back();
    while (true) {
      TRY_ASSIGN(const auto rows, query("SELECT id FROM " + of(group) + " AND id>" + literal(after) + " AND id<" +
                                            literal(end) + " ORDER BY id LIMIT " + std::to_string(kMostRowsListed),
                                        limit));
      for (const mysql::Row& row : rows) keys.push_back(mysql::text_of(row, 0));
      if (rows.size() < kMostRowsListed) return keys;
      after = keys.back();
    }
  }

  Result<std::vector<LockName>> groups(const CallLimit& limit) override {
    TRY_ASSIGN(const auto rows, query("SELECT DISTINCT name FROM " + std::string(kDataTable) +
                                          " WHERE space=" + space_ + " ORDER BY name",
                                      limit));
    std::vector<LockName> names;
    for (const mysql::Row& row : rows) {
      if (auto name = LockName::parse_stored(mysql::text_of(row, 0))) names.push_back(std::move(*name));
    }
    return names;
  }

  Result<Survey> survey(const std::string& key, Which which, const CallLimit& limit) override {
    const std::string text = "IFNULL(text,a)";
    TRY_ASSIGN(const auto rows,
               query("SELECT name,version," + text + " FROM " + std::string(kDataTable) + " WHERE space=" + space_ +
                         " AND id=" + literal(key) + " AND " + text + (which == Which::kFilled ? "<>''" : "=''") +
                         " ORDER BY name;SELECT " + kServerMicroseconds,
                     limit));
    Survey survey;
    for (const mysql::Row& row : rows) {
      const auto version = leading_number<Number>(mysql::text_of(row, 1));
      if (row.size() == 1) survey.now_us = leading_number<std::int64_t>(mysql::text_of(row, 0));
      else if (auto name = LockName::parse_stored(mysql::text_of(row, 0)))
        survey.rows.push_back({*name, {mysql::text_of(row, 2), version, static_cast<std::int64_t>(version)}});
    }
    return survey;
  }

  std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell tell,
                                          const CallLimit& limit) override {
    std::vector<Result<Number>> answers;
    if (commits.size() == 1 && !(has_turns_ && tells(commits.front()))) {
      if (const auto statement =
              plain_update(" WHERE space=" + space_ + " AND name=" + literal(group.text()), commits.front())) {
        answers.push_back(write_one(*statement, limit));
        if (gate_ && answers.front() && *answers.front() > 0) gate_->tell(group, commits.front(), limit);
        return answers;
      }
    }
    std::size_t most = kMostTogether;
    while (answers.size() < commits.size()) {
      auto rest = commits.subspan(answers.size());
      const auto made = commit_together(group, rest.first(std::min(most, rest.size())), tell, limit);
      if (!made) answers.resize(commits.size(), Result<Number>(made.error()));
      else if (made->refused && made->count > 1) most = made->count / 2;  // one of them is; which is seen by halves
      else answers.resize(answers.size() + made->count, Result<Number>(made->number));
      if (!made || made->refused) continue;
      most = std::min(2 * most, kMostTogether);
      for (const Commit& one : rest.first(made->count)) {
        if (gate_) gate_->tell(group, one, limit);
      }
    }
    return answers;
  }

 private:
  /// In autocommit mode, which is the fastest.
  Result<Number> write_one(const std::string& statement, const CallLimit& limit) {
    Servers& servers = transaction_.servers();
    TRY_ASSIGN(const auto answer, servers.run(statement, limit.until, limit.control));
    if (answer.changed == 1) return Number(answer.number);
    TRY_ASSIGN(const auto refuses, servers.run(kAskReadOnly, limit.until, limit.control));
    return says_read_only(refuses) ? Result<Number>(servers.failed(read_only_is_set())) : Number(0);
  }

  struct Together {
    std::size_t count = 0;
    bool refused = false;
    Number number = 0;
  };

  void leave_turn(const CallLimit& limit) {
    if (std::exchange(has_turn_, false))
      (void)transaction_.servers().run(kReleaseNamedLocks, limit.until, limit.control);
  }

  std::string of(const LockName& group) const {
    return std::string(kDataTable) + " WHERE space=" + space_ + " AND name=" + literal(group.text());
  }

  Result<std::vector<mysql::Row>> query(const std::string& text, const CallLimit& limit) {
    while (true) {
      const auto begun = transaction_.begin(limit);
      auto rows = begun ? transaction_.commit(text) : Result<std::vector<mysql::Row>>(begun.error());
      if (rows || !transaction_.is_worth_repeating()) return rows;
    }
  }

  /// The first of `rest` in one transaction, repeated after a conflict with another one.
  Result<Together> commit_together(const LockName& group, std::span<const Commit> rest, Tell tell,
                                   const CallLimit& limit) {
    while (true) {
      TRY(transaction_.begin(limit));
      if (relies_on_nothing(rest.front())) TRY(check_engine());
      const auto turn = [&](const std::string& key) { return turn_of(group, key); };
      RowBatch batch(transaction_, space_, literal(group.text()), has_turns_ ? turn : RowBatch::TurnOf());
      Together some;
      while (some.count < rest.size() && batch.add(rest[some.count])) ++some.count;
      const bool told = tell == Tell::kNumber;
      batch.write(told);
      const auto done = transaction_.commit_and_tell(batch.after_commit(told));
      if (done) some.number = done->empty() ? 1 : leading_number<Number>(mysql::text_of(done->front(), 0));
      if (done) return some;
      some.refused = RowBatch::is_refusal(transaction_.failure_code());
      if (some.refused) leave_turn(limit);
      if (some.refused) return some;
      const bool lacks_turns = has_turns_ && is_without_named_locks(transaction_.failure_code());
      has_turns_ = has_turns_ && !lacks_turns;
      if (!lacks_turns && !transaction_.is_worth_repeating()) return done.error();
    }
  }

  /// A table without transactions would keep what a step that failed has changed.
  Result<void> check_engine() {
    for (const mysql::Row& kind : transaction_.read(kinds_query("='" + std::string(kDataTable) + "'"))) {
      if (const auto fit = judge_engine(kind); !fit) {
        transaction_.rollback();
        return fit.error();
      }
    }
    return {};
  }

  const Settings settings_;
  const std::string space_;
  Transaction transaction_;
  std::optional<RowGate> gate_;
  bool has_turns_;         ///< the server has named locks, and we use one for each row that is filled
  bool has_turn_ = false;  ///< of a row that is not filled yet
};

}  // namespace

std::unique_ptr<Rows> make_rows(Settings settings, const Dial& dial, const RowSpace& space, const Runtime& runtime) {
  return std::make_unique<MysqlRows>(std::move(settings), dial, space, runtime, kIdleSeconds, false);
}

std::unique_ptr<Rows> make_lock_rows(Settings settings, const Dial& dial, Duration ttl, const Runtime& runtime) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(ttl).count() + 1;
  const int idle = static_cast<int>(std::clamp<std::int64_t>(seconds, 2, 28800));
  return std::make_unique<MysqlRows>(std::move(settings), dial, kLockSpace, runtime,
                                     ttl > Duration(0) ? idle : kIdleSeconds, true);
}

}  // namespace mysql

Result<std::unique_ptr<Rows>> make_mysql_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime) {
  TRY_ASSIGN(auto settings, mysql::settings_of(url, std::chrono::seconds(5)));
  return mysql::make_rows(std::move(settings), mysql::connect_by_connector, space, runtime);
}

}  // namespace dlock
