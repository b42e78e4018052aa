// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "lib/base/clock.h"
#include "lib/stock/request_record.h"
#include "lib/stock/segment_plan.h"
#include "lib/stock/stock.h"

namespace dlock::testing {

/// What a MemoryStock knows; outlives its clients.
struct MemoryShelf {
  explicit MemoryShelf(Clock& its_clock, std::vector<Quantity> quantities)
      : clock(its_clock), have(std::move(quantities)), aside(have.size()) {}

  Clock& clock;
  std::vector<Quantity> have;
  std::vector<Quantity> aside;
  Quantity taken = 0;
  std::map<LockName, RequestRecord> records;
  std::map<LockName, TimePoint> until;
  FencingToken token;
  std::vector<LockName> listed = {};  ///< by names()
  std::set<LockName> dropped = {};

  int unanswered = 0;    ///< so many calls happen, but their answers are lost
  int unreached = 0;     ///< so many calls do not even happen
  bool crowded = false;  ///< no call happens, because others are in the way
  int calls = 0;
};

/// One stock in memory, with the reservations and takes of the port; what a test of its callers needs. Not all of it.
class MemoryStock final : public Stock {
 public:
  explicit MemoryStock(MemoryShelf& shelf) : shelf_(shelf) {}

  const std::string& store() const override { return store_; }
  Result<void> create(const LockName&, Quantity, int, const Owner&, const CallLimit&) override { return absent(); }
  Result<StockState> show(const LockName& name, const CallLimit&) override {
    if (shelf_.dropped.contains(name)) return no_such_stock(name, store_);
    sweep();
    StockState state{.name = name, .segments = {}};
    for (std::size_t i = 0; i < shelf_.have.size(); ++i) state.segments.push_back({shelf_.have[i], shelf_.aside[i]});
    return state;
  }
  Result<std::vector<LockName>> names(const CallLimit&) override { return shelf_.listed; }

  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit&) override {
    return answered<StockAnswer>([&] { return deduct(request, nullptr, Duration(0), start); });
  }
  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit&) override {
    return answered<StockAnswer>([&] { return deduct(request, &owner, ttl, start); });
  }
  Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl, const CallLimit&) override {
    return answered<void>([&]() -> Result<void> {
      if (!reserved_by(request.id, owner)) return reservation_over(request.stock, request.id);
      shelf_.until[request.id] = shelf_.clock.now() + ttl;
      return {};
    });
  }
  bool wait_for(const LockName&, const StockInProgress::Turn&, Duration pause, const CallLimit&) override {
    shelf_.clock.sleep_until(shelf_.clock.now() + pause);
    return true;
  }
  Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit&) override {
    return answered<void>([&]() -> Result<void> {
      const auto record = shelf_.records.find(request.id);
      if (record != shelf_.records.end() && is_sold_to(record->second, owner)) return {};
      if (!reserved_by(request.id, owner)) return reservation_over(request.stock, request.id);
      record->second.state = RequestRecord::State::kTaken;
      shelf_.until.erase(request.id);
      for (const StockPart& part : record->second.parts) at(shelf_.aside, part) -= part.quantity;
      shelf_.taken += record->second.quantity;
      return {};
    });
  }
  Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit&) override {
    return answered<void>([&]() -> Result<void> {
      if (reserved_by(request.id, owner)) give_back(request.id);
      const auto record = shelf_.records.find(request.id);
      return record == shelf_.records.end() || shelf_.until.count(request.id) ? Result<void>()
                                                                              : sold_already(request.id);
    });
  }
  Result<StockMoved> refund(const StockRefund&, const CallLimit&) override { return absent(); }
  Result<StockMoved> add(const LockName&, const LockName&, Quantity, const CallLimit&) override { return absent(); }
  Result<std::vector<KnownRequest>> requests(const LockName&, std::size_t, const CallLimit&) override {
    return absent();
  }
  Result<void> rebalance(const LockName&, const CallLimit&) override { return absent(); }
  Result<void> resize(const LockName&, int, const CallLimit&) override { return absent(); }
  Result<void> drop(const LockName&, const CallLimit&) override { return absent(); }

 private:
  static Error absent() { return {ErrorCode::kInternal, "no test asks for this"}; }

  template <typename T, typename Call>
  Result<T> answered(Call call) {
    const Error silence{ErrorCode::kUnavailable, "no answer"};
    ++shelf_.calls;
    if (shelf_.unreached > 0 && shelf_.unreached-- > 0) return silence;
    if (shelf_.crowded)
      return Error{.code = ErrorCode::kUnavailable, .message = "a crowd", .undone = true, .outage = Outage::kCrowded};
    sweep();
    Result<T> answer = call();
    if (shelf_.unanswered > 0 && shelf_.unanswered-- > 0) return silence;
    return answer;
  }

  Quantity& at(std::vector<Quantity>& row, const StockPart& part) {
    return row[static_cast<std::size_t>(part.segment)];
  }

  bool reserved_by(const LockName& id, const Owner& owner) const {
    const auto record = shelf_.records.find(id);
    return shelf_.until.count(id) && record->second.owner == owner.text();
  }

  void give_back(const LockName& id) {
    for (const StockPart& part : shelf_.records.at(id).parts) {
      at(shelf_.have, part) += part.quantity;
      at(shelf_.aside, part) -= part.quantity;
    }
    shelf_.records.erase(id);
    shelf_.until.erase(id);
  }

  void sweep() {
    const auto all = shelf_.until;
    for (const auto& [id, end] : all) {
      if (end <= shelf_.clock.now()) give_back(id);
    }
  }

  Result<StockAnswer> deduct(const StockRequest& request, const Owner* owner, Duration ttl, int start) {
    const auto record = shelf_.records.find(request.id);
    auto again = answer_again(record == shelf_.records.end() ? nullptr : &record->second, request, owner);
    if (!again) return again.error();
    if (*again) return **again;
    const auto parts = choose_parts(shelf_.have, start, request.quantity);
    if (!parts) {
      StockShort by;
      for (const Quantity one : shelf_.have) by.available += one;
      for (const Quantity one : shelf_.aside) by.reserved += one;
      return StockAnswer(by);
    }
    for (const StockPart& part : *parts) {
      at(shelf_.have, part) -= part.quantity;
      if (owner) at(shelf_.aside, part) += part.quantity;
    }
    const auto state = owner ? RequestRecord::State::kReserved : RequestRecord::State::kTaken;
    shelf_.records[request.id] = {state, request.quantity, *parts, owner ? owner->text() : "", 0};
    if (owner) shelf_.until[request.id] = shelf_.clock.now() + ttl;
    else shelf_.taken += request.quantity;
    shelf_.token = FencingToken(shelf_.token.value() + 1);
    return StockAnswer(StockTaken{*parts, shelf_.token, false});
  }

  MemoryShelf& shelf_;
  const std::string store_ = "memory:";
};

}  // namespace dlock::testing
