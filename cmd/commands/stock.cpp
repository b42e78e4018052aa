// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/stock.h"

#include <signal.h>

#include <algorithm>

#include "cmd/batch/batch.h"
#include "cmd/options/stock_actions.h"
#include "cmd/options/wait_policy.h"
#include "cmd/show/exit_status.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/stock/taking.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// Of a call that waits for nobody but the server.
constexpr Duration kAskBudget = 10s;

/// One call of `dlock stock`.
class Calling {
 public:
  Calling(const Options& options, Stock& stock, const Runtime& runtime, Output& out)
      : options_(options), what_(*options.stock), stock_(stock), runtime_(runtime), out_(out) {}

  int run() {
    switch (what_.action) {
      case StockAction::kCreate:
        return create();
      case StockAction::kShow:
        return stock_show(options_, stock_, runtime_, out_);
      case StockAction::kTake:
        return what_.ids_from.empty() ? take() : batch_command(options_, stock_, runtime_, out_);
      case StockAction::kBatch:
        return batch_command(options_, stock_, runtime_, out_);
      case StockAction::kRefund:
        return refund();
      case StockAction::kAdd:
        return add();
      case StockAction::kRebalance:
        return end([&](const CallLimit& limit) { return stock_.rebalance(name(), limit); });
      case StockAction::kResize:
        return end([&](const CallLimit& limit) { return stock_.resize(name(), what_.segments, limit); });
      case StockAction::kDrop:
        return drop();
      case StockAction::kRun:
        break;
    }
    return fail(runtime_.log, {ErrorCode::kInternal, "stock run without its supervisor"});
  }

 private:
  const LockName& name() const { return options_.keys.front(); }

  TimePoint soon() const { return runtime_.clock.now() + std::max(options_.connect_timeout, kAskBudget); }

  int refuse(const Error& error) {
    return fail(runtime_.log, with_nearest_stock(error, stock_, name(), CallLimit{soon()}));
  }

  /// A call that says nothing when it succeeds.
  template <typename Call>
  int end(Call call) {
    const auto done = insist(call, soon(), runtime_.clock, nullptr);
    return done ? 0 : refuse(done.error());
  }

  /// A call that answers with parts.
  template <typename Call>
  Result<StockParts> parts_of(Call call) {
    StockParts parts;
    const auto done = insist(
        [&](const CallLimit& limit) -> Result<void> {
          auto answer = call(limit);
          if (!answer) return answer.error();
          parts = std::move(*answer);
          return {};
        },
        soon(), runtime_.clock, nullptr);
    if (!done) return done.error();
    return parts;
  }

  int print_answer(const char* schema, const LockName& id, Quantity quantity, const StockParts& parts,
                   std::optional<bool> repeated) {
    if (!options_.json) return print(out_, runtime_.log, stock_parts_text(parts));
    JsonWriter json;
    json.begin_object().key("schema").text(schema).key("name").text(name().text()).key("id").text(id.text());
    json.key("qty").number(quantity).key("parts").begin_array();
    for (const StockPart& part : parts) {
      json.begin_object().key("segment").number(part.segment).key("qty").number(part.quantity).end_object();
    }
    json.end_array();
    if (repeated) json.key("repeated").boolean(*repeated);
    return print(out_, runtime_.log, json.end_object().line());
  }

  int create() {
    const Owner maker = Owner::random();
    const auto made = insist(
        [&](const CallLimit& limit) { return stock_.create(name(), what_.quantity, what_.segments, maker, limit); },
        soon(), runtime_.clock, nullptr);
    const bool there = !made && what_.if_not_exists && made.error().code == ErrorCode::kConflict;
    if (!made && !there) return fail(runtime_.log, made.error());
    if (made && what_.quantity == 0) {
      runtime_.log.notice("stock '" + name().text() + "' is empty; fill it with: dlock stock add --qty N " +
                          name().typed());
    }
    return 0;
  }

  int take() {
    const StockRequest request{name(), request_id(what_), what_.qty};
    const auto attempt = [&](int start, const CallLimit& limit) { return stock_.take(request, start, limit); };
    const WaitPolicy wait = wait_policy(options_, runtime_.clock.now());
    const auto taken = take_when_possible(request, attempt, wait, runtime_.clock, nullptr);
    if (!taken && taken.error().code == ErrorCode::kBusy) {
      runtime_.log.error(taken.error());
      return options_.conflict_exit_code;
    }
    if (!taken) return refuse(taken.error());
    if (taken->repeated) runtime_.log.verbose("request '" + request.id.text() + "' was served before");
    if (!what_.id) signal(SIGPIPE, SIG_IGN);  // to be there when nobody reads the answer
    const int status = print_answer("dlock.stock.take/1", request.id, request.quantity, taken->parts, taken->repeated);
    if (status != 0 && !what_.id) take_back(request);
    return status;
  }

  /// Nobody could ask for it again, or refund it: its id is known to us alone.
  void take_back(const StockRequest& request) {
    const auto back =
        parts_of([&](const CallLimit& limit) { return stock_.refund(name(), request.id, std::nullopt, limit); });
    if (!back) return runtime_.log.error(back.error());
    runtime_.log.warn("the " + std::to_string(request.quantity) + " of " + name().text() +
                      " went back, since the answer could not be printed");
  }

  int refund() {
    const LockName id = request_id(what_);
    const auto back =
        parts_of([&](const CallLimit& limit) { return stock_.refund(name(), id, what_.qty_given, limit); });
    if (!back) return refuse(back.error());
    if (back->empty()) runtime_.log.notice("request '" + id.text() + "' had taken nothing, and never will");
    return print_answer("dlock.stock.refund/1", id, sum_of(*back), *back, std::nullopt);
  }

  int add() {
    const LockName id = request_id(what_);
    const auto added = parts_of([&](const CallLimit& limit) { return stock_.add(name(), id, what_.qty, limit); });
    if (!added) return refuse(added.error());
    return print_answer("dlock.stock.add/1", id, what_.qty, *added, std::nullopt);
  }

  /// Gone after an answer that was lost: that was us.
  int drop() {
    bool unanswered = false;
    return end([&](const CallLimit& limit) -> Result<void> {
      auto dropped = stock_.drop(name(), limit);
      if (!dropped && unanswered && dropped.error().code == ErrorCode::kMisconfigured) return {};
      unanswered = unanswered || (!dropped && dropped.error().code == ErrorCode::kUnavailable);
      return dropped;
    });
  }

  const Options& options_;
  const StockOptions& what_;
  Stock& stock_;
  const Runtime& runtime_;
  Output& out_;
};

}  // namespace

std::string stock_parts_text(const StockParts& parts) {
  std::string text;
  for (const StockPart& part : parts) {
    text += std::to_string(part.segment) + " " + std::to_string(part.quantity) + "\n";
  }
  return text;
}

int stock_command(const Options& options, Stock& stock, const Runtime& runtime, Output& out) {
  return Calling(options, stock, runtime, out).run();
}

}  // namespace dlock
