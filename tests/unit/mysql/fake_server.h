// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/lease/record.h"
#include "lib/base/text.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_control.h"

namespace dlock::mysql::testing {

using dlock::testing::FakeClock;
using dlock::testing::ScriptedControl;

/// One row of dlock_lock and one gate, with named ways to fail. It understands the statements of LeaseStore, writes
/// down every statement it hears, and answers what `says` was told to say to anything else.
class FakeServer {
 public:
  enum class Fault {
    kNotDone,    ///< the connection breaks before it
    kDone,       ///< it was done, and the reply was lost
    kSilent,     ///< no reply comes, nothing was done
    kSilentDone  ///< no reply comes, it was done
  };
  struct Planned {
    std::string statement;                  ///< a piece of it
    std::variant<Fault, int, Answer> what;  ///< an int: that error
  };

  explicit FakeServer(FakeClock& fake) : clock(fake) {
    clock.next_happening = [this] { return earlier(gate_opens, sleeps_until); };
  }

  /// The next statement that contains `statement` goes like this.
  void next(std::string statement, std::variant<Fault, int, Answer> what) {
    planned.push_back({std::move(statement), std::move(what)});
  }
  int heard(const std::string& piece) const {
    int count = 0;
    for (const std::string& one : log) count += one.find(piece) != std::string::npos;
    return count;
  }

  Dial dial() {
    return [this](const DatabaseSettings& settings) { return std::make_unique<Connection>(*this, settings); };
  }

  /// A statement that was under way all the time.
  void arrives(const std::string& statement) { (void)perform(statement); }

  FakeClock& clock;
  std::deque<Planned> planned;
  std::vector<std::string> log;

  bool has_row = false;
  std::string version, fence, mode, permits, holders;
  std::string read_only = "0";
  bool gate_is_taken = false;             ///< by somebody else
  int gate_error = 0;                     ///< what GET_LOCK says: 1235
  bool galera = false;                    ///< it is a node of a cluster, which has gates of its own
  bool is_behind = false;                 ///< an earlier waiter lives in the poll queue
  std::optional<TimePoint> gate_opens;    ///< for who waits
  std::optional<TimePoint> sleeps_until;  ///< who says SLEEP
  std::deque<int> connect_errors;         ///< of the next connections; 0: well
  std::vector<std::string> connected;     ///< to which endpoints
  bool down = false;                      ///< no connection, and those that are there break

  std::int64_t now_us() const { return 1'000'000'000'000'000 + clock.since_start() / std::chrono::microseconds(1); }

 private:
  class Connection final : public Database {
   public:
    Connection(FakeServer& server, const DatabaseSettings& settings) : server_(server) {
      server_.connected.push_back(settings.endpoint.text());
      int code = 0;
      if (!server_.connect_errors.empty()) {
        code = server_.connect_errors.front();
        server_.connect_errors.pop_front();
      }
      if (server_.down) code = 2002;
      broken_ = code != 0;
      outcome_ = code == 0 ? AnswerOrFailure(Answer{}) : AnswerOrFailure(Failure{code, "cannot connect", true, false});
    }
    void begin(std::string statement, std::string next) override {
      server_.log.push_back(statement);
      next_ = std::move(next);
      went_on_ = false;
      outcome_ = server_.reply(statement);
      waits_ = !outcome_ && statement.find("GET_LOCK") != std::string::npos;
      if (outcome_) go_on();
    }
    bool went_on() const override { return went_on_; }
    std::optional<AnswerOrFailure> outcome() override {
      if (waits_ && server_.gate_opens && server_.clock.now() >= *server_.gate_opens) {
        waits_ = false;
        outcome_ = Answer{{{"1"}}, 0};
        server_.gate_opens.reset();
        server_.gate_is_taken = false;
        go_on();
      }
      if (server_.sleeps_until && server_.clock.now() >= *server_.sleeps_until) {
        server_.sleeps_until.reset();
        outcome_ = Answer{{{"0"}}, 0};
      }
      auto taken = std::exchange(outcome_, std::nullopt);
      if (taken && std::holds_alternative<Failure>(*taken)) broken_ = broken_ || std::get<Failure>(*taken).cut_off;
      return taken;
    }
    void add_interest(std::vector<pollfd>& /*fds*/) const override {}
    void close() override { broken_ = true; }
    bool usable() override { return !broken_ && !server_.down; }

   private:
    void go_on() {
      const auto* answer = std::get_if<Answer>(&*outcome_);
      if (next_.empty() || !answer || answer->rows.empty() || answer->rows[0][0] != "1") return;
      went_on_ = true;
      server_.log.push_back(next_);
      outcome_ = server_.reply(std::exchange(next_, ""));
      if (outcome_ && std::holds_alternative<Answer>(*outcome_))
        std::get<Answer>(*outcome_).went_on = server_.clock.now();
    }

    FakeServer& server_;
    std::optional<AnswerOrFailure> outcome_;
    std::string next_;
    bool went_on_ = false;
    bool waits_ = false;
    bool broken_ = false;
  };

  /// nullopt: silence.
  std::optional<AnswerOrFailure> reply(const std::string& statement) {
    if (down) return Failure{2013, "gone", true, false};
    if (!planned.empty() && statement.find(planned.front().statement) != std::string::npos) {
      const Planned plan = planned.front();
      planned.pop_front();
      if (const auto* answer = std::get_if<Answer>(&plan.what)) return *answer;
      if (const auto* code = std::get_if<int>(&plan.what))
        return Failure{*code, "error", *code >= 2000 && *code < 2060, false};
      const Fault fault = std::get<Fault>(plan.what);
      if (fault == Fault::kDone || fault == Fault::kSilentDone) (void)perform(statement);
      if (fault == Fault::kDone || fault == Fault::kNotDone) return Failure{2013, "lost connection", true, false};
      return std::nullopt;
    }
    return perform(statement);
  }

  static std::string word_after(const std::string& text, const std::string& name, std::size_t from = 0) {
    const std::size_t at = text.find(name, from);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size();
    std::string word = text.substr(begin, text.find_first_of(",; ", begin) - begin);
    if (word.starts_with("'")) word = word.substr(1, word.size() - 2);
    return word;
  }
  static std::string unhex(const std::string& word) {
    std::string bytes;
    for (std::size_t i = 2; i + 1 < word.size(); i += 2)
      bytes += static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16));
    return bytes;
  }

  std::optional<AnswerOrFailure> perform(const std::string& statement) {
    if (const std::size_t sleep = statement.find("SLEEP("); sleep != std::string::npos) {
      const double seconds = std::stod(statement.substr(sleep + 6));
      sleeps_until = clock.now() + std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
      return std::nullopt;
    }
    if (statement.find("/* dlock waits") != std::string::npos) {
      if (gate_error != 0) return Failure{gate_error, "no named locks", false, false};
      if (gate_is_taken) return std::nullopt;
      return Answer{{{"1"}}, 0};
    }
    if (statement.find("holders=CONCAT(") != std::string::npos) return compute(statement);
    if (statement.find(",MAX(version)") != std::string::npos) return look(statement);
    if (statement.starts_with("INSERT IGNORE INTO dlock_lock")) {
      if (has_row) return Answer{{}, 0};
      store(statement);
      return Answer{{}, 1};
    }
    if (statement.starts_with("UPDATE dlock_lock")) {
      const std::size_t where = statement.find(" WHERE ");
      const bool fits = has_row && word_after(statement, "AND version=", where) == version;
      if (fits) store(statement);
      return Answer{{}, fits ? 1U : 0U};
    }
    return Answer{};
  }

  /// A row that the server itself fills in: for a newcomer, behind which it is read, or for a renewal.
  AnswerOrFailure compute(const std::string& statement) {
    const std::size_t begin = statement.find("CONCAT(", statement.find("holders=")) + 7;
    const std::string words = statement.substr(begin, statement.find("),expires=", begin) - begin);
    const bool renews = statement.find("version=version+1,holders=") != std::string::npos;
    const auto all = decode_holders(holders).value_or(std::vector<LeaseHolder>());
    bool over = true;
    for (const LeaseHolder& holder : all) over = over && holder.until + (renews ? 0 : holder.delay) <= now_us();
    const std::size_t where = statement.find(" WHERE ");
    bool fits = has_row && (read_only == "0" || statement.find(" AND @@global.read_only=0") == std::string::npos);
    if (renews) fits = fits && !over && word_after(statement, "AND version=", where) == version;
    else
      fits = fits && over && std::stoull(version) < std::stoull(next_token()) &&
             holders.find(value("x'" + word_after(statement, "LOCATE(x'", where))) == std::string::npos;
    if (is_turn(statement)) fits = fits && !is_behind;
    else if (statement.find("@dlock_gate=1") != std::string::npos) {
      if (gate_error != 0) return Failure{gate_error, "no named locks", false, false};
      fits = fits && !gate_is_taken && !galera;
    }
    if (fits) {
      std::string made;
      for (std::string_view rest = words; !rest.empty();) made += value(argument(rest));
      if (!renews) {
        fence = next_token();
        mode = word_after(statement, ",mode=");
        permits = word_after(statement, ",permits=");
      }
      holders = made;
      version = renews ? std::to_string(std::stoull(version) + 1) : fence;
    }
    if (statement.find(";SELECT") != std::string::npos) return look(statement);
    return Answer{{}, fits ? 1U : 0U, {}, fits && !renews ? std::stoull(fence) : 0};
  }

  /// The first of a list, which is what is left then.
  static std::string argument(std::string_view& list) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < list.size() && (depth > 0 || list[end] != ','); ++end)
      depth += list[end] == '(' ? 1 : list[end] == ')' ? -1 : 0;
    std::string first(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    return first;
  }
  std::string next_token() const {
    return std::to_string(std::max<std::uint64_t>(std::stoull(fence) + 1, static_cast<std::uint64_t>(now_us())));
  }
  std::string value(const std::string& expression) const {
    if (expression.starts_with("x'")) return unhex(expression);
    if (expression == "CONNECTION_ID()") return "7";
    if (expression.starts_with("GREATEST(")) return next_token();
    if (!expression.starts_with("TIMESTAMPDIFF(")) return expression;
    const std::size_t plus = expression.rfind('+');
    return std::to_string(now_us() + (plus == std::string::npos ? 0 : std::stoll(expression.substr(plus + 1))));
  }

  /// As MariaDB says it: of the bare variable 0, if there is a row.
  std::string read_only_beside_aggregates(const std::string& statement) const {
    const bool sum = statement.find("@@global.read_only+0") != std::string::npos;
    const bool bare = !sum && statement.find("@@global.read_only") != std::string::npos;
    return sum || (bare && !has_row) ? read_only : "0";
  }

  static bool is_turn(const std::string& statement) { return statement.find(" AS earlier)") != std::string::npos; }

  AnswerOrFailure look(const std::string& statement) {
    std::optional<std::string> gate;
    if (galera && statement.find("IF(@dlock_galera,-1,") != std::string::npos) gate = "-1";
    else if (is_turn(statement)) gate = is_behind ? "0" : "1";
    else if (statement.find("GET_LOCK") != std::string::npos) {
      if (gate_error != 0) return Failure{gate_error, "no named locks", false, false};
      gate = gate_is_taken ? "0" : "1";
    }
    Row row{gate, std::to_string(now_us()), "7", read_only_beside_aggregates(statement)};
    if (has_row) row.insert(row.end(), {version, fence, mode, permits, holders});
    else row.resize(9);
    return Answer{{row}, 0};
  }

  void store(const std::string& statement) {
    has_row = true;
    const std::size_t from = statement.find("version=");
    version = word_after(statement, "version=", from);
    fence = word_after(statement, "fence=", from);
    mode = word_after(statement, "mode=", from);
    permits = word_after(statement, "permits=", from);
    holders = unhex(word_after(statement, "holders=", from));
  }
};

}  // namespace dlock::mysql::testing
