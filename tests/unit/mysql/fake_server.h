// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_control.h"

namespace dlock::mysql::testing {

using dlock::testing::FakeClock;
using dlock::testing::ScriptedControl;

/// One record of a holder and one gate, with named ways to fail. It understands the statements of HolderRow, writes
/// down every statement it hears, and answers nothing to anything else.
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

  std::uint64_t token = 0;  ///< of the record; 0: there is none
  std::string text;         ///< who has it
  std::string read_only = "0";
  bool gate_is_taken = false;             ///< by somebody else
  int gate_error = 0;                     ///< what GET_LOCK says: 1235
  bool galera = false;                    ///< it is a node of a cluster, which has gates of its own
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

  /// Of a literal, and what follows it.
  static std::string unhex(const std::string& word) {
    std::string bytes;
    for (std::size_t i = 2; i + 1 < word.size() && word[i] != '\''; i += 2)
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
    if (statement.find(",MAX(version)") != std::string::npos) return look();
    if (statement.starts_with("INSERT INTO dlock_data")) return draw(statement);
    if (statement.starts_with("UPDATE dlock_data SET text=")) {
      const bool fits = statement.find(" AND version=" + std::to_string(token)) != std::string::npos;
      if (fits) text = unhex(statement.substr(statement.find("x'")));
      return Answer{{}, fits ? 1U : 0U};
    }
    return Answer{};
  }

  /// The text is the third literal, after the name and 'holder'.
  AnswerOrFailure draw(const std::string& statement) {
    if (read_only != "0") return Answer{};
    token = std::max(token + 1, static_cast<std::uint64_t>(now_us()));
    text = unhex(statement.substr(statement.find("x'", statement.find("LAST_INSERT_ID("))));
    return Answer{{}, 1, {}, token};
  }

  AnswerOrFailure look() const {
    Row row{galera ? "1" : "0", std::to_string(now_us()), "7", read_only};
    if (token == 0) row.resize(6);
    else row.insert(row.end(), {std::to_string(token), text});
    return Answer{{row}, 0};
  }
};

}  // namespace dlock::mysql::testing
