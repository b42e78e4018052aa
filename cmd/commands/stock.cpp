// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <signal.h>

#include <algorithm>
#include <type_traits>

#include "cmd/batch/batch.h"
#include "cmd/options/stock_actions.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/progress.h"
#include "cmd/wiring/compose.h"
#include "lib/base/json_writer.h"
#include "lib/stock/taking.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// Deadline of a call that waits only for the server.
constexpr Duration kAskBudget = 10s;

/// "SEGMENT QTY" lines.
std::string stock_parts_text(const StockParts& parts) {
  std::string text;
  for (const StockPart& part : parts) {
    text += std::to_string(part.segment) + " " + std::to_string(part.quantity) + "\n";
  }
  return text;
}

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
        return take();
      case StockAction::kBatch:
        return batch_command(options_, stock_, runtime_, out_);
      case StockAction::kRefund:
        return refund();
      case StockAction::kAdd:
        return add();
      case StockAction::kRebalance:
        return end([&](const CallLimit& limit) { return stock_.rebalance(name(), limit); },
                   [](JsonWriter& /*json*/) {});
      case StockAction::kResize:
        return end([&](const CallLimit& limit) { return stock_.resize(name(), what_.segments, limit); },
                   [&](JsonWriter& json) { json.field("segments", what_.segments); });
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

  /// `id`: of the request; nullptr: the call has none, and may be made again as it was.
  int refuse(Error error, const LockName* id = nullptr) {
    if (error.code != ErrorCode::kUnavailable) {
      return fail(runtime_.log, with_nearest_stock(std::move(error), stock_, name(), CallLimit{soon()}));
    }
    if (error.undone) return fail(runtime_.log, error);
    error.message += "; it may have been done";
    error.next +=
        (error.next.empty() ? "" : "; ") + ("to find out without doing it twice: " + same_stock_call(options_, id));
    return fail(runtime_.log, error);
  }

  JsonWriter begin_json() const {
    JsonWriter json("dlock.stock." + std::string(action_row(what_.action).name) + "/1");
    json.field("name", name().text());
    return json;
  }

  /// A call that has nothing to say when it succeeds, but as JSON, to which `put` adds.
  template <typename Call, typename Put>
  int end(Call call, Put put) {
    const auto done = insisted(call);
    if (!done) return refuse(done.error());
    if (!options_.json) return 0;
    JsonWriter json = begin_json();
    put(json);
    return print(out_, runtime_.log, json.end_object().line());
  }

  /// Who cannot be reached is asked for --connect-timeout; who may have done it, until it is known.
  template <typename Call>
  std::invoke_result_t<Call&, const CallLimit&> insisted(Call call) {
    const TimePoint until = soon();
    auto answer = insist(call, runtime_.clock.now() + options_.connect_timeout, runtime_.clock, nullptr);
    if (answer) return answer;
    if (answer.error().code != ErrorCode::kUnavailable || answer.error().undone)
      return busy_if_crowded(std::move(answer).error());
    answer = insist(call, until, runtime_.clock, nullptr);
    return answer || answer.error().code != ErrorCode::kUnavailable ? answer : unknown(answer.error());
  }
  static Error unknown(Error error) {
    error.undone = false;
    return error;
  }

  int print_answer(const LockName& id, Quantity quantity, const StockParts& parts, bool repeated) {
    if (repeated && !options_.json)
      runtime_.log.notice("repeated: request '" + id.text() + "' was served before, nothing was changed", {"repeated"});
    if (!options_.json) return print(out_, runtime_.log, stock_parts_text(parts));
    JsonWriter json = begin_json();
    json.field("id", id.text());
    if (what_.refund_id) json.field("refund_id", what_.refund_id->text());
    put_parts(json.field("qty", quantity), parts);
    json.field("repeated", repeated);
    return print(out_, runtime_.log, json.end_object().line());
  }

  int create() {
    const Owner maker = Owner::random();
    const auto made = insisted(
        [&](const CallLimit& limit) { return stock_.create(name(), what_.quantity, what_.segments, maker, limit); });
    const bool there = !made && what_.if_not_exists && made.error().code == ErrorCode::kConflict;
    if (!made && !there) return refuse(made.error());
    if (made && what_.quantity == 0) {
      runtime_.log.notice("stock '" + name().text() + "' is empty; fill it with: dlock stock add --qty N " +
                          name().typed());
    }
    if (!options_.json) return 0;
    JsonWriter json = begin_json();
    json.field("created", !there);
    return print(out_, runtime_.log, json.end_object().line());
  }

  int take() {
    const StockRequest request{name(), request_id(what_), what_.qty};
    const auto taken = take_and_tell(request);
    if (!taken && taken.error().code == ErrorCode::kBusy) {
      runtime_.log.error(taken.error());
      return options_.conflict_exit_code;
    }
    if (!taken) return refuse(taken.error(), &request.id);
    if (!what_.id) signal(SIGPIPE, SIG_IGN);  // to survive an answer without a reader
    const int status = print_answer(request.id, request.quantity, taken->parts, taken->repeated);
    if (status != 0 && !what_.id) take_back(request);
    return status;
  }

  /// The wait is told of as that of a run.
  Result<StockTaken> take_and_tell(const StockRequest& request) {
    const When when = options_.nonblock ? When::kNever : options_.progress;
    const Telling telling{.keys = {name()}, .progress = when, .wait = options_.wait, .ask_again = {}};
    const SupervisionPolicy no_command;
    Progress progress(telling, no_command, runtime_);
    const auto attempt = [&](int start, const CallLimit& limit) {
      auto answer = stock_.take(request, start, limit);
      const bool waits =
          answer ? !std::holds_alternative<StockTaken>(*answer) : answer.error().outage == Outage::kCrowded;
      const TimePoint now = runtime_.clock.now();
      if (waits && progress.waiting(now))
        progress.told_who({.name = name(), .store = stock_.store(), .holders = {}, .waiters = {}}, now);
      return answer;
    };
    const WaitPolicy wait = plan_wait(options_).from(runtime_.clock.now());
    auto taken = take_when_possible(request, attempt, wait, runtime_.clock, nullptr);
    progress.waited();
    if (!taken) return taken;
    SupervisorState state;
    state.locks.push_back({name(), Owner::random(), taken->token, stock_.store()});
    progress.granted(state);
    return taken;
  }

  /// The request could neither be repeated nor refunded: its id is known to us alone.
  void take_back(const StockRequest& request) {
    const auto back = insisted([&](const CallLimit& limit) { return stock_.refund({name(), request.id}, limit); });
    if (!back) return runtime_.log.error(back.error());
    runtime_.log.warn("the " + std::to_string(request.quantity) + " of " + name().text() +
                      " went back, because the answer could not be printed");
  }

  int refund() {
    const LockName id = request_id(what_);
    const StockRefund refund{name(), id, what_.qty_given, what_.refund_id, what_.before_take};
    const auto back = insisted([&](const CallLimit& limit) { return stock_.refund(refund, limit); });
    if (!back) return refuse(back.error(), &id);
    if (back->parts.empty()) runtime_.log.notice(id.text() + " took nothing, and a take with that id now fails");
    return print_answer(id, sum_of(back->parts), back->parts, back->repeated);
  }

  int add() {
    const LockName id = request_id(what_);
    const auto added = insisted([&](const CallLimit& limit) { return stock_.add(name(), id, what_.qty, limit); });
    if (!added) return refuse(added.error(), &id);
    return print_answer(id, what_.qty, added->parts, added->repeated);
  }

  int drop() {
    return end([&](const CallLimit& limit) { return stock_.drop(name(), limit); }, [](JsonWriter& /*json*/) {});
  }

  const Options& options_;
  const StockOptions& what_;
  Stock& stock_;
  const Runtime& runtime_;
  Output& out_;
};

}  // namespace

int stock_command(const Options& options, Stock& stock, const Runtime& runtime, Output& out) {
  return Calling(options, stock, runtime, out).run();
}

}  // namespace dlock
