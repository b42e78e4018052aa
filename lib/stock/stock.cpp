// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock.h"

#include "lib/config/suggest.h"

namespace dlock {

Quantity StockState::total() const { return sum_of(segments, &StockSegment::quantity); }
Quantity StockState::reserved() const { return sum_of(segments, &StockSegment::reserved); }

namespace {

Result<StepAnswer> step_answer_of(Result<StockMoved> call) {
  if (!call) return call.error();
  return StepAnswer(std::move(*call));
}

}  // namespace

StepAnswer step_answer(StockAnswer answer) {
  return std::visit([](auto& one) { return StepAnswer(std::move(one)); }, answer);
}

Result<StepAnswer> Stock::serve_one(const LockName& stock, const StockStep& step, const CallLimit& limit) {
  const StockRequest request{stock, step.id, step.quantity.value_or(1)};
  switch (step.kind) {
    case StockStep::Kind::kTake: {
      TRY_ASSIGN(auto answer, take(request, step.start, limit));
      return step_answer(std::move(answer));
    }
    case StockStep::Kind::kRefund:
      return step_answer_of(refund({stock, step.id, step.quantity, step.refund_id}, limit));
    case StockStep::Kind::kAdd:
      return step_answer_of(add(stock, step.id, *step.quantity, limit));
  }
  return Error{ErrorCode::kInternal, "a step of no kind"};
}

std::vector<Result<StepAnswer>> Stock::serve_each(const LockName& stock, std::span<const StockStep> steps,
                                                  const CallLimit& limit) {
  std::vector<Result<StepAnswer>> answers;
  answers.reserve(steps.size());
  for (const StockStep& step : steps) {
    const bool stopped = !answers.empty() && !answers.back() && answers.back().error().code == ErrorCode::kUnavailable;
    answers.push_back(stopped ? answers.back() : serve_one(stock, step, limit));
  }
  return answers;
}

Error no_stock_in(const BackendUrl& url) {
  return {ErrorCode::kUnsupported, url.redacted() + " cannot keep stock", "choose another backend with --backend URL"};
}

Error no_such_stock(const LockName& name, const std::string& store) {
  return {ErrorCode::kMisconfigured, "there is no stock '" + name.text() + "' in " + store,
          "create it with: dlock stock create --quantity N --segments S " + name.typed()};
}

bool is_no_such_stock(const Error& error, const LockName& name, const std::string& store) {
  return error.message == no_such_stock(name, store).message;
}

Error with_nearest_stock(Error error, Stock& stock, const LockName& name, const CallLimit& limit) {
  if (!is_no_such_stock(error, name, stock.store())) return error;
  const auto names = stock.names(limit);
  if (!names) return error;
  Nearest nearest(name.text());
  for (const LockName& one : *names) nearest.offer(one.text());
  if (!nearest.best().empty()) error.next = did_you_mean(nearest.best()) + " Else " + error.next;
  return error;
}

Error stock_exists(const LockName& name, const std::string& store) {
  return {ErrorCode::kConflict, "there is a stock '" + name.text() + "' in " + store + " already; it was not changed",
          "see it with: dlock stock show " + name.typed() + "; to accept an existing one: --if-not-exists"};
}

Error too_many_items(const LockName& id, Quantity quantity) {
  return {ErrorCode::kConflict,
          "request '" + id.text() + "' would add " + std::to_string(quantity) +
              ", which is more than the stock can hold; nothing was changed",
          "a stock holds at most " + std::to_string(kMostItems)};
}

Result<void> check_room(const LockName& id, Quantity quantity, Quantity put_in) {
  return quantity > kMostItems - put_in ? Result<void>(too_many_items(id, quantity)) : Result<void>();
}

Error id_reused(const LockName& id, Quantity before, Quantity now) {
  return {ErrorCode::kConflict,
          "request '" + id.text() + "' was for " + std::to_string(before) + ", and now asks for " + std::to_string(now),
          "one id is one request: repeat it as it was, or choose another id"};
}

Error id_refunded(const LockName& id, Quantity sold) {
  return {ErrorCode::kLost, "request '" + id.text() + "' has been refunded: it can take nothing any more",
          sold == 0 ? "order again under another id"
                    : std::to_string(sold) + " of what it took are still sold to it: see dlock stock show --requests"};
}

Error id_of_restock(const LockName& id) {
  return {ErrorCode::kConflict, "request '" + id.text() + "' was a restock, not a take",
          "one id is one request: choose another id"};
}

Error id_of_take(const LockName& id, bool closed) {
  const std::string was =
      closed ? "' was closed by a refund before its take: it is no restock" : "' was a take, not a restock";
  return {ErrorCode::kConflict, "request '" + id.text() + was, "one id is one request: choose another id"};
}

Error took_nothing(const LockName& id) {
  return {ErrorCode::kLost, "request '" + id.text() + "' took nothing: there is nothing to give back",
          "was another id meant? To close one whose take may still come: --before-take"};
}

Error refunded_otherwise(const StockRefund& refund, Quantity before) {
  const std::string quantity = std::to_string(before);
  const std::string repeat = "to repeat that refund: --qty " + quantity;
  if (refund.refund_id) {
    return {ErrorCode::kConflict,
            "refund '" + refund.refund_id->text() + "' of request '" + refund.id.text() + "' was for " + quantity,
            repeat + "; for another refund, choose another --refund-id"};
  }
  return {ErrorCode::kConflict,
          "request '" + refund.id.text() + "' was refunded before, with a quantity of " + quantity +
              ": without --refund-id it is refunded once",
          repeat + "; for another part of it: --refund-id ID"};
}

Error more_than_taken(const StockRefund& refund, Quantity taken, Quantity refunded) {
  const std::string took = "request '" + refund.id.text() + "' took " + std::to_string(taken);
  if (refunded == taken)
    return {ErrorCode::kConflict, took + ", and all of it was refunded before; nothing was changed"};
  const std::string left = refunded > 0 ? ", of which " + std::to_string(refunded) + " were refunded before" : "";
  return {ErrorCode::kConflict, took + left + ": a refund of " + std::to_string(refund.quantity.value_or(taken)) +
                                    " is more than that; nothing was changed"};
}

Error too_many_refunds(const LockName& id) {
  return {ErrorCode::kConflict,
          "request '" + id.text() + "' has had " + std::to_string(kMostRefunds) +
              " refunds, the most that one request can have; nothing was changed",
          "give the rest back with: dlock stock add"};
}

Error refund_while_running(const LockName& id) {
  return {ErrorCode::kBusy, "request '" + id.text() + "' cannot be refunded yet: its command is still running",
          "wait until it has ended, or stop it: what it has set aside comes back then"};
}

Error sold_already(const LockName& id) {
  return {ErrorCode::kConflict, "request '" + id.text() + "' was sold already: it cannot be cancelled",
          "to give back what it took: refund it"};
}

Error reservation_over(const LockName& name, const LockName& id) {
  return {ErrorCode::kLost, "what '" + id.text() + "' had set aside of " + name.text() +
                                " no longer belongs to it: its time had ended, or the stock was dropped"};
}

Error broken_stock(const LockName& name, const std::string& what) {
  return {ErrorCode::kMisconfigured,
          "the stock '" + name.text() + "' is inconsistent: " + what + "; nothing was changed",
          "did another program write there? Repair its data, or drop the stock and create it again"};
}

Error has_sold_too_many(const LockName& name, int segment) {
  return {ErrorCode::kMisconfigured,
          "segment " + std::to_string(segment) + " of the stock '" + name.text() +
              "' has sold as many items as it can count; nothing was changed",
          "sell what is left from another stock"};
}

}  // namespace dlock
