// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/stock/stock_answer.h"
#include "backends/redis/stock/stock_names.h"

namespace dlock::redis {

/// Many steps at their home slot as scripts that go there in one pipeline: one for takes for good that follow each
/// other, which costs each of them a tenth of a script of its own, and one for each other step. Pure; `steps` outlive
/// it.
class StockBatch {
 public:
  /// A script with the keys of the slot, and the record of a request among them (StockCalls::script).
  using Eval = std::function<Command(const char* script, const std::string& record)>;

  StockBatch(const LockName& stock, const StockNames& names, std::span<const StockStep> steps, const Eval& eval);

  /// What is to be sent.
  std::vector<Command> take_scripts() { return std::move(scripts_); }
  /// Appends the answers to the steps that the script `i` serves.
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
