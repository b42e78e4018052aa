// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_stock.h"

#include "backends/local/local_context.h"
#include "backends/local/stock/ledger.h"
#include "lib/stock/request_record.h"
#include "lib/stock/segment_plan.h"
#include "lib/stock/take_order.h"

namespace dlock {
namespace {

using local::Ledger;

constexpr char kFile[] = "stock.db";

class LocalStock final : public Stock {
 public:
  LocalStock(const BackendUrl& url, const Runtime& runtime)
      : context_{.runtime = runtime, .store = url.redacted(), .named_directory = url.path, .host = {}} {
    const auto network = url.params.find("allow-network-fs");
    context_.allow_network_fs = network != url.params.end() && network->second == "1";
    const auto sync = url.params.find("sync");
    durable_ = sync == url.params.end() || sync->second == "full";
  }

  const std::string& store() const override { return context_.store; }

  Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                      const CallLimit& limit) override {
    auto opened = open(true);
    if (!opened) return opened.error();
    Ledger& ledger = **opened;
    if (auto begun = ledger.begin(limit); !begun) return begun;
    if (ledger.find(name)) {
      const bool ours = ledger.maker() == maker.text();
      ledger.rollback();
      return ours ? Result<void>() : stock_exists(name, store());
    }
    ledger.create(name, quantity, segments, maker);
    return ledger.commit();
  }

  Result<StockState> show(const LockName& name, const CallLimit& limit) override {
    return in_stock<StockState>(name, limit, [&](Ledger& ledger) -> Result<StockState> { return ledger.state(name); });
  }

  Result<std::vector<LockName>> names(const CallLimit& limit) override {
    auto opened = open(false);
    if (!opened) return opened.error();
    if (!*opened) return std::vector<LockName>();
    if (auto begun = (*opened)->begin(limit); !begun) return begun.error();
    auto names = (*opened)->names();
    if (auto done = (*opened)->commit(); !done) return done.error();
    return names;
  }

  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) override {
    return in_stock<StockAnswer>(request.stock, limit, [&](Ledger& ledger) -> Result<StockAnswer> {
      return deduct(ledger, request, nullptr, Duration(0), start);
    });
  }

  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit& limit) override {
    return in_stock<StockAnswer>(request.stock, limit, [&](Ledger& ledger) -> Result<StockAnswer> {
      return deduct(ledger, request, &owner, ttl, start);
    });
  }

  Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl, const CallLimit& limit) override {
    return in_stock<void>(request.stock, limit, [&](Ledger& ledger) -> Result<void> {
      const auto record = ledger.record(request.id);
      if (!record) return record.error();
      if (!is_reserved_by(*record, owner)) return reservation_over(request.stock, request.id);
      ledger.remember(request.id, **record, ttl);
      return {};
    });
  }

  Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    return in_stock<void>(request.stock, limit, [&](Ledger& ledger) -> Result<void> {
      const auto record = ledger.record(request.id);
      if (!record) return record.error();
      using State = RequestRecord::State;
      const bool ours = *record && (*record)->owner == owner.text();
      if (ours && ((*record)->state == State::kTaken || (*record)->state == State::kRefunded)) return {};
      if (!is_reserved_by(*record, owner)) return reservation_over(request.stock, request.id);
      RequestRecord sold = **record;
      sold.state = State::kTaken;
      for (const StockPart& part : sold.parts)
        ledger.move(part.segment, {.reserved = -part.quantity, .taken = part.quantity});
      ledger.remember(request.id, sold);
      return {};
    });
  }

  Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    const auto cancelled = in_stock<void>(request.stock, limit, [&](Ledger& ledger) -> Result<void> {
      const auto record = ledger.record(request.id);
      if (!record) return record.error();
      if (is_reserved_by(*record, owner)) ledger.give_back(request.id, **record);
      return {};
    });
    // A stock that is not there has nothing set aside.
    return !cancelled && cancelled.error().code == ErrorCode::kMisconfigured && missing_ ? Result<void>() : cancelled;
  }

  Result<StockParts> refund(const LockName& name, const LockName& id, std::optional<Quantity> quantity,
                            const CallLimit& limit) override {
    return in_stock<StockParts>(name, limit, [&](Ledger& ledger) -> Result<StockParts> {
      const auto record = ledger.record(id);
      if (!record) return record.error();
      auto plan = plan_refund(*record ? &**record : nullptr, id, quantity);
      if (!plan) return plan.error();
      for (const StockPart& part : plan->back) {
        ledger.move(home_of(part.segment, ledger.segments()), {.quantity = part.quantity, .refunded = part.quantity});
      }
      ledger.remember(id, plan->record);
      return std::move(plan->answer);
    });
  }

  Result<StockParts> add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) override {
    return in_stock<StockParts>(name, limit, [&](Ledger& ledger) -> Result<StockParts> {
      const auto record = ledger.record(id);
      if (!record) return record.error();
      if (*record && (*record)->state != RequestRecord::State::kAdded) return id_of_take(id);
      if (*record && (*record)->quantity != quantity) return id_reused(id, (*record)->quantity, quantity);
      if (*record) return (*record)->parts;
      const auto have = ledger.quantities();
      if (!have) return have.error();
      StockParts parts = fill_emptiest(*have, quantity);
      for (const StockPart& part : parts) ledger.move(part.segment, {.quantity = part.quantity});
      ledger.count_added(quantity);
      ledger.remember(id, {RequestRecord::State::kAdded, quantity, parts, {}, 0});
      return parts;
    });
  }

  Result<void> rebalance(const LockName& name, const CallLimit& limit) override {
    return in_stock<void>(name, limit, [&](Ledger& ledger) { return ledger.level(ledger.segments()); });
  }

  Result<void> resize(const LockName& name, int segments, const CallLimit& limit) override {
    return in_stock<void>(name, limit, [&](Ledger& ledger) { return ledger.level(segments); });
  }

  Result<void> drop(const LockName& name, const CallLimit& limit) override {
    return in_stock<void>(name, limit, [&](Ledger& ledger) -> Result<void> {
      ledger.drop();
      return {};
    });
  }

 private:
  /// The ledger, or nullptr if there is none and none is to be made.
  Result<Ledger*> open(bool create) {
    if (ledger_) return &*ledger_;
    const auto dir = context_.directory();
    if (!dir) return dir.error();
    {
      // Closed before SQLite opens it: closing any descriptor of a file lets go of a process's fcntl locks on it.
      const auto file = (*dir)->open_file(kFile, create);
      if (!file) return file.error();
      if (!file->valid()) return static_cast<Ledger*>(nullptr);
    }
    auto opened = Ledger::open((*dir)->path() + "/" + kFile, durable_, context_.runtime.clock);
    if (!opened) return opened.error();
    ledger_.emplace(std::move(*opened));
    return &*ledger_;
  }

  /// One transaction on the stock `name`; an Error of `body` undoes all of it.
  template <typename T, typename Body>
  Result<T> in_stock(const LockName& name, const CallLimit& limit, Body body) {
    missing_ = false;
    auto opened = open(false);
    if (!opened) return opened.error();
    Ledger* ledger = *opened;
    if (ledger) {
      if (auto begun = ledger->begin(limit); !begun) return begun.error();
    }
    if (!ledger || !ledger->find(name)) {
      if (ledger) {
        if (auto done = ledger->commit(); !done) return done.error();
      }
      missing_ = true;
      return no_such_stock(name, store());
    }
    if (auto swept = ledger->sweep(); !swept) return undone(*ledger, swept.error());
    Result<T> answer = body(*ledger);
    if (!answer) return undone(*ledger, answer.error());
    if (auto done = ledger->commit(); !done) return done.error();
    return answer;
  }

  /// A failure of the database explains whatever came after it.
  static Error undone(Ledger& ledger, Error error) {
    if (ledger.failed()) return ledger.commit().error();
    ledger.rollback();
    return error;
  }

  static bool is_reserved_by(const std::optional<RequestRecord>& record, const Owner& owner) {
    return record && record->state == RequestRecord::State::kReserved && record->owner == owner.text();
  }

  /// `owner` null: for good.
  static Result<StockAnswer> deduct(Ledger& ledger, const StockRequest& request, const Owner* owner, Duration ttl,
                                    int start) {
    const auto record = ledger.record(request.id);
    if (!record) return record.error();
    auto again = answer_again(*record ? &**record : nullptr, request, owner);
    if (!again) return again.error();
    if (*again) {
      if (auto* taken = std::get_if<StockTaken>(&**again); taken && !taken->repeated) {
        taken->token = ledger.next_token();
        ledger.remember(request.id, **record, ttl);
      }
      return **again;
    }
    const auto have = ledger.quantities();
    if (!have) return have.error();
    const auto parts = request.only_segment ? choose_from(*have, *request.only_segment, request.quantity)
                                            : choose_parts(*have, start, request.quantity);
    if (!parts) return StockAnswer(StockShort{ledger.available(), ledger.reserved()});
    RequestRecord made{RequestRecord::State::kTaken, request.quantity, *parts, {}, 0};
    for (const StockPart& part : *parts) {
      if (owner) ledger.move(part.segment, {.quantity = -part.quantity, .reserved = part.quantity});
      else ledger.move(part.segment, {.quantity = -part.quantity, .taken = part.quantity});
    }
    StockTaken taken{*parts, {}, false};
    if (owner) {
      made.state = RequestRecord::State::kReserved;
      made.owner = owner->text();
      taken.token = ledger.next_token();
      ledger.remember(request.id, made, ttl);
    } else {
      ledger.remember(request.id, made);
    }
    return StockAnswer(std::move(taken));
  }

  local::LocalContext context_;
  bool durable_ = true;
  bool missing_ = false;  ///< the last call found no stock of that name
  std::optional<Ledger> ledger_;
};

}  // namespace

Result<std::unique_ptr<Stock>> make_local_stock(const BackendUrl& url, const Runtime& runtime) {
  return std::unique_ptr<Stock>(std::make_unique<LocalStock>(url, runtime));
}

}  // namespace dlock
