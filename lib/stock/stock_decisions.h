// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/rows/rows.h"
#include "lib/stock/stock.h"
#include "lib/stock/stock_look.h"

namespace dlock {

/// One step on its way to its answer.
struct Step {
  LockName id;
  std::optional<Result<StepAnswer>> answer = {};
  std::optional<StepAnswer> promised = {};  ///< once its commit is made; without one there is more to do then
  bool unmet = false;                       ///< refused, as `promised` says, but something may come back
  bool prolonged = false;                   ///< it was set aside before
  /// The segment whose lock it wanted last, whatever that segment has, and the lock's version, if it was seen.
  std::optional<std::pair<int, Rows::Number>> tried = {};
  bool wants_all = false;  ///< nobody has had that lock since, so the segment is short: all are to be looked at
};
using Steps = std::vector<Step>;

/// Of a take (`owner` null) or a reservation.
struct Wish {
  Quantity quantity = 1;
  int start = 0;
  bool locks = false;
  const Owner* owner = nullptr;
  Duration ttl{0};
  int chance = 0;  ///< says which lock it waits for if none is free
};

/// The first of `steps` that can be decided on together: of one kind, each of another request.
std::span<const StockStep> together(std::span<const StockStep> steps);

// Decisions on one step by a look, pure: a commit; or nothing, with the step's answer, or with `unmet` or neither: it
// goes on. A look without segments is none: a take is tried where it begins. What a step is promised is less in
// the look.
Rows::Commit decide_take(const LockName& name, StockLook& look, int races, Step& step, const Wish& wish);
Rows::Commit decide_refund(const StockLook& look, Step& step, const StockRefund& refund);
Rows::Commit decide_restock(const StockLook& look, Step& step, Quantity quantity);

/// What a request that is not set aside for `owner` (any more) has as the answer to its confirmation or cancellation;
/// nullopt: it is set aside.
std::optional<Result<void>> answer_without(const StockRequest& request, const Owner& owner, const SeenRequest& seen,
                                           bool confirms, bool cancels);

/// Items from one segment to another.
struct Transfer {
  std::size_t from;
  std::size_t to;
  Quantity quantity;
};

/// Those that make `want` of `have`, which has as much.
std::vector<Transfer> transfers(const std::vector<Quantity>& have, const std::vector<Quantity>& want);
/// What they bring to each of `count` segments.
std::vector<Quantity> by_segment(std::span<const Transfer> some, std::size_t count);

}  // namespace dlock
