// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/stock/stock_answer.h"
#include "backends/redis/stock/stock_names.h"
#include "lib/stock/stock.h"

namespace dlock::redis {

/// Decides which takes are tried by the short script for the most frequent kind (take_at_once_*.lua: for good, out of
/// one segment, nothing set aside). A take that this script refuses costs a second request, so it is used only if the
/// stock's last take was of that kind: not when it is out of stock, or has something set aside. Remembers one stock.
class TakesAtOnce {
 public:
  /// The segment for the short script; nullopt: send take.lua, which serves every take.
  std::optional<int> segment(const StockRequest& request, int start) const;
  /// Notes what the last take was: of the frequent kind, in a stock of so many segments; or not (0).
  void note(const LockName& stock, int segments);
  int segments() const { return segments_; }

 private:
  std::string stock_;
  int segments_ = 0;
};

/// Turns many steps of one stock into scripts for one pipeline: consecutive takes for good share a script, at a tenth
/// of the cost of one script each; every other step gets its own. Pure.
class StockBatch {
 public:
  /// Makes a command from `script`, the stock's keys and the key `record` of a request (StockCalls::script).
  using Eval = std::function<Command(const char* script, const std::string& record)>;

  /// `stock`, `names` and `steps` outlive it; `eval` is called here only.
  StockBatch(const LockName& stock, const StockNames& names, std::span<const StockStep> steps, const Eval& eval);

  /// The scripts to send, in this order. Called once.
  std::vector<Command> take_scripts() { return std::move(scripts_); }
  /// Reads `answer`, the reply to script `i`, and appends the answer to each step that the script serves. `words`
  /// translates them.
  void read(std::size_t i, Result<StockReply> answer, const StockAnswers& words,
            std::vector<Result<StepAnswer>>& answers) const;

 private:
  Command step_script(const StockStep& step, const Eval& eval) const;
  Result<StepAnswer> one_of_many(const StockStep& step, std::string_view text, const StockAnswers& words) const;
  Command take_all_script(std::span<const StockStep> takes, const Eval& eval) const;

  const LockName& stock_;
  const StockNames& names_;
  std::vector<Command> scripts_;
  std::vector<std::span<const StockStep>> served_;
};

}  // namespace dlock::redis
