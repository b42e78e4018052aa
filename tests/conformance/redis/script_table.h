// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "lib/base/clock.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// Words are apart by blanks; in one of them _ stands for a blank, and '' for no text. {+100}: the server's time in ms
/// and 100 s; {us}: its time in us; 100s: about as many ms. Keys have the names that the table gives them.
struct ScriptRow {
  const char* what;
  std::vector<const char*> before;  ///< commands
  const char* script;               ///< and its arguments, less those that are always the same
  const char* answer;
  const char* after;  ///< each key that is there: its name, what is in it, and the rest of its life
};

/// Scripts, state by state, on a real Redis: each row has a lock of its own.
class ScriptTable {
 public:
  explicit ScriptTable(const std::string& url);
  virtual ~ScriptTable() = default;

  void check(const ScriptRow& row);

 protected:
  using Keys = std::vector<std::pair<std::string, std::string>>;

  /// What rows call them, and where they are for this lock, in the order of ScriptRow::after. Begins a row.
  virtual Keys keys_of(const LockName& name) = 0;
  /// Of a script's name and its arguments.
  virtual Command command_of(const std::vector<std::string>& script) = 0;

 private:
  void begin();
  Reply ask(const Command& command);
  std::vector<std::string> words(const std::string& text) const;
  std::string state();
  std::string shown(const Reply& reply) const;
  std::string text(const std::string& said) const;
  std::string number(std::int64_t n) const;

  SystemClock clock_;
  Result<BackendUrl> url_;
  std::unique_ptr<Deployment> server_;
  std::string key_;  ///< decides who is asked
  Keys keys_;
  std::int64_t now_us_ = 0;
  int rows_ = 0;
};

template <class Table>
void check_scripts(const std::vector<ScriptRow>& rows) {
  const char* url = getenv("DLOCK_TEST_REDIS");
  if (!url || *url == 0) return;  // the fixtures say what is missing
  Table table(url);
  for (const ScriptRow& row : rows) table.check(row);
}

}  // namespace dlock::redis
