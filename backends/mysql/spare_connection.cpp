// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/spare_connection.h"

#include <utility>

namespace dlock::mysql {
namespace {

bool are_same(const DatabaseSettings& a, const DatabaseSettings& b) {
  return a.endpoint == b.endpoint && a.user == b.user && a.password == b.password && a.database == b.database &&
         a.idle_seconds == b.idle_seconds && a.batches == b.batches && !a.tls && !b.tls;
}

/// GET_LOCK is the first column, if it is asked for.
bool is_refused(const Outcome& outcome) {
  const auto* answer = std::get_if<Answer>(&outcome);
  return answer && !answer->rows.empty() && !answer->rows[0].empty() && answer->rows[0][0] == "0";
}

}  // namespace

/// A connection, until it is given back.
class SpareConnection::Lent final : public Database {
 public:
  Lent(SpareConnection& home, const DatabaseSettings& settings, std::unique_ptr<Database> used)
      : home_(home),
        settings_(settings),
        is_used_(used != nullptr),
        is_idle_(used && !home.frees_),
        database_(used ? std::move(used) : home.dial_(settings)) {}

  ~Lent() override {
    if (busy_ || !database_->usable()) return;
    home_.frees_ = may_hold_;
    if (may_hold_) database_->begin("DO RELEASE_ALL_LOCKS()");
    home_.settings_ = settings_;
    home_.database_ = std::move(database_);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  void begin(std::string statement) override {
    busy_ = true;
    wants_lock_ = statement.find("GET_LOCK(") != std::string::npos;
    database_->begin(std::move(statement));
  }

  std::optional<Outcome> outcome() override {
    if (std::exchange(is_idle_, false)) {
      is_used_ = busy_ = false;
      return Answer{};
    }
    auto outcome = database_->outcome();
    if (!outcome) return outcome;
    if (std::exchange(is_used_, false)) {
      // It ended while nobody looked, or the server knows no such statement: as if there had been none.
      if (std::holds_alternative<Answer>(*outcome)) outcome = Answer{};
      else return (database_ = home_.dial_(settings_))->outcome();
    }
    busy_ = false;
    may_hold_ = may_hold_ || (wants_lock_ && !is_refused(*outcome));
    return outcome;
  }

  void add_interest(std::vector<pollfd>& fds) const override { database_->add_interest(fds); }
  void abandon() override { database_->abandon(); }
  bool usable() override { return database_->usable(); }

 private:
  SpareConnection& home_;
  const DatabaseSettings settings_;
  bool is_used_;
  bool is_idle_;  ///< used, and nothing is under way on it
  bool wants_lock_ = false;
  bool may_hold_ = false;  ///< a named lock
  bool busy_ = true;       ///< connecting, or a statement whose outcome was not taken
  std::unique_ptr<Database> database_;
};

std::unique_ptr<Database> SpareConnection::dial(const DatabaseSettings& settings) {
  std::unique_ptr<Database> used;
  if (database_ && are_same(settings, settings_) && database_->usable()) used = std::move(database_);
  return std::make_unique<Lent>(*this, settings, std::move(used));
}

}  // namespace dlock::mysql
