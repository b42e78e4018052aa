// SPDX-License-Identifier: Apache-2.0
#include "cmd/bench/bench.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>

#include "cmd/bench/latencies.h"
#include "cmd/show/exit_status.h"
#include "cmd/wiring/end_signals.h"
#include "lib/base/json_writer.h"
#include "lib/base/process.h"
#include "lib/base/random.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"
#include "lib/stock/stock_hold.h"
#include "lib/stock/taking.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using Way = StockBenchRow::Way;

constexpr int kTakersWithStep = 40;
constexpr int kTakersWithoutStep = 8;
constexpr std::size_t kMostOrders = kMostBenchRounds;  ///< of one taker
constexpr Quantity kPlenty = Quantity{1} << 40;
constexpr Duration kTime = 1s;
constexpr Duration kTakeBudget = 10s;
constexpr Duration kGlance = 1ms;

/// One process that orders from when all are connected until the time is over.
class Taker {
 public:
  Taker(const StockBenchRow& row, LockName name, const StockClients& clients, const Log& log, std::size_t most)
      : row_(row), name_(std::move(name)), clients_(clients), runtime_{clock_, log}, most_(most) {}

  /// `gate`: its end is the beginning.
  void run(BenchLane& lane, int gate) {
    auto stock = clients_.connect(runtime_);
    if (!stock) return lane.fail(stock.error());
    const std::shared_ptr<Stock> shared = std::move(*stock);
    if (const auto seen = shared->show(name_, {clock_.now() + kTakeBudget}); !seen) return lane.fail(seen.error());
    lane.ready = true;
    char none = 0;
    while (read(gate, &none, 1) < 0 && errno == EINTR) {
    }
    until_ = clock_.now() + kTime;
    while (clock_.now() < until_ && lane.samples < most_) {
      const TimePoint begin = clock_.now();
      const auto served = row_.way == Way::kTake ? take(*shared) : order(shared);
      if (!served && served.error().code == ErrorCode::kBusy) return;  // the time is over
      if (!served) return lane.fail(served.error());
      lane.sample_ns[lane.samples++] = (clock_.now() - begin).count();
    }
  }

 private:
  LockName next_id() { return *LockName::parse(prefix_ + std::to_string(++number_)); }

  Result<void> take(Stock& stock) {
    const StockRequest request{name_, next_id(), 1};
    TRY_ASSIGN(const auto answer, stock.take(request, start_by_chance(), {clock_.now() + kTakeBudget}));
    return std::holds_alternative<StockTaken>(answer) ? Result<void>() : Error{ErrorCode::kShort, "out of stock"};
  }

  Result<void> order(const std::shared_ptr<Stock>& stock) {
    LockSpec spec{.name = name_, .owner = Owner::random(), .wait = {}, .reason = "dlock bench", .ancestor = {}};
    spec.wait.until = until_;
    spec.stock = StockClaim{next_id(), 1, row_.way == Way::kLock};
    StockHold hold(stock, spec, runtime_);
    auto answer = hold.acquire(control_);
    if (auto* refused = std::get_if<Refused>(&*answer)) {
      // A store that other processes write to may not have answered by then.
      if (refused->error.code == ErrorCode::kUnavailable && clock_.now() >= until_) return Error{ErrorCode::kBusy, {}};
      return std::move(refused->error);
    }
    clock_.sleep_until(clock_.now() + row_.step);
    hold.command_ended(0);
    return hold.release(clock_.now() + kTakeBudget);
  }

  const StockBenchRow& row_;
  const LockName name_;
  const StockClients& clients_;
  SystemClock clock_;  // the parent's may own a timer, which fork would make us share
  const Runtime runtime_;
  TimePoint until_{};
  const std::size_t most_;
  NoControl control_;
  const std::string prefix_ = random_hex(6) + "-";
  std::uint64_t number_ = 0;
};

void end_and_reap(pid_t pid) {
  kill(pid, SIGKILL);
  reap(pid);
}

/// Until all have ended, which they do at once when one of `signals` has come.
void reap_takers(const std::vector<pid_t>& pids, EndSignals& signals, Clock& clock) {
  for (const pid_t pid : pids) {
    const UniqueFd process = open_process(pid);
    while (process.valid() && !has_ended(process) && !signals.stop_requested()) {
      std::vector<pollfd> fds{{process.get(), POLLIN, 0}};
      signals.add_interest(fds);
      clock.wait(fds, std::nullopt);
    }
    if (signals.stop_requested()) kill(pid, SIGKILL);
    reap(pid);
  }
}

int takers_of(const StockBenchRow& row) { return row.step > 0s ? kTakersWithStep : kTakersWithoutStep; }

Result<void> measure(StockBenchRow& row, const LockName& name, const StockClients& clients, const Log& log,
                     std::size_t most, EndSignals& signals, const sigset_t& mask) {
  const int takers = takers_of(row);
  const Shared<BenchLane> lanes(takers);
  if (!lanes.valid()) return system_error("cannot share memory with the benchmark's processes", errno);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe for the benchmark's processes", errno);
  const UniqueFd gate(ends[0]);
  UniqueFd keeps_it_open(ends[1]);
  SystemClock clock;
  const auto pids = start_processes(takers, [&](std::size_t i) {
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    keeps_it_open.reset();
    Taker(row, name, clients, log, most).run(lanes[i], gate.get());
  });
  if (pids.size() < static_cast<std::size_t>(takers)) {
    const Error error = system_error("cannot start the benchmark's processes", errno);
    for (const pid_t started : pids) end_and_reap(started);
    return error;
  }
  const TimePoint patience = clock.now() + kTakeBudget;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    while (!lanes[i].ready && clock.now() < patience && !signals.stop_requested())
      clock.sleep_until(clock.now() + kGlance);
  }
  const TimePoint start = clock.now();
  keeps_it_open.reset();
  reap_takers(pids, signals, clock);
  row.took = clock.now() - start;
  TRY_ASSIGN(auto orders, gathered(lanes, pids.size()));
  row.order = std::move(orders);
  row.orders = row.order.count();
  return {};
}

const char* way_name(Way way) { return way == Way::kTake ? "take" : way == Way::kReserve ? "reserve" : "lock"; }

std::string column(std::string text, std::size_t width, bool left = false) {
  // Counted in characters: "µs" has one byte more.
  std::size_t length = 0;
  for (const char c : text) length += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  const std::string blanks(width > length ? width - length : 0, ' ');
  return left ? text + blanks : blanks + text;
}

template <typename Call>
Result<void> on_client(const StockClients& clients, const Runtime& runtime, Call call) {
  TRY_ASSIGN(const auto stock, clients.connect(runtime));
  return call(*stock);
}

std::vector<StockBenchRow> plan() {
  std::vector<StockBenchRow> rows;
  for (const int segments : {1, 20}) rows.push_back({Way::kTake, segments, 0s});
  for (const Way way : {Way::kLock, Way::kReserve}) {
    for (const int segments : {1, 20}) rows.push_back({way, segments, 20ms});
  }
  return rows;
}

double rate_of(const StockBenchRow& row) { return static_cast<double>(per_second(row.orders, row.took)); }

/// Orders a second if nothing but the step took time: as many at once as there are locks, or takers. 0: there is no
/// step.
double ideal_of(const StockBenchRow& row) {
  if (row.step == 0s) return 0;
  const int at_once = row.way == Way::kLock ? std::min(row.segments, takers_of(row)) : takers_of(row);
  return at_once / std::chrono::duration<double>(row.step).count();
}

/// How many times as many orders as with one segment; nullopt: this is that one, or that made none.
std::optional<double> gain_of(const StockBenchRow& row, const std::vector<StockBenchRow>& rows) {
  const auto one = std::find_if(rows.begin(), rows.end(), [&](const StockBenchRow& other) {
    return other.way == row.way && other.segments == 1 && rate_of(other) > 0;
  });
  if (row.segments == 1 || one == rows.end()) return std::nullopt;
  return rate_of(row) / rate_of(*one);
}

std::string tenths(double number) {
  const auto whole = std::llround(number * 10);
  return std::to_string(whole / 10) + "." + std::to_string(whole % 10);
}

std::string bench_stock_text(const std::string& store, int takers, const std::vector<StockBenchRow>& rows) {
  std::string text = "orders in " + store + ", " + std::to_string(takers) + " takers (" +
                     std::to_string(kTakersWithoutStep) +
                     " where nothing is done in between); gain: over one segment\n\n" + column("way", 9, true) +
                     column("segments", 9) + column("step", 8) + column("orders/s", 11) + column("of ideal", 10) +
                     column("gain", 8) + column("p50", 10) + column("p99", 10) + "\n";
  for (const StockBenchRow& row : rows) {
    const double ideal = ideal_of(row);
    const auto gain = gain_of(row, rows);
    text += column(way_name(row.way), 9, true) + column(std::to_string(row.segments), 9) +
            column(row.step > 0s ? fine_duration(row.step) : "-", 8) +
            column(std::to_string(per_second(row.orders, row.took)), 11) +
            column(ideal > 0 ? std::to_string(std::llround(100 * rate_of(row) / ideal)) + " %" : "-", 10) +
            column(gain ? tenths(*gain) + " x" : "-", 8) + column(fine_duration(row.order.percentile(50)), 10) +
            column(fine_duration(row.order.percentile(99)), 10) + "\n";
  }
  return text;
}

/// dlock.bench.stock/2, with its newline.
std::string bench_stock_json(const std::string& store, int takers, const std::vector<StockBenchRow>& rows) {
  JsonWriter json("dlock.bench.stock/2");
  json.field("store", store).field("takers", takers);
  json.key("rows").begin_array();
  for (const StockBenchRow& row : rows) {
    json.begin_object().field("way", way_name(row.way)).field("segments", row.segments);
    json.field("takers", takers_of(row)).key("step_ms").whole_ms(row.step);
    json.field("orders_per_second", per_second(row.orders, row.took));
    if (const double ideal = ideal_of(row); ideal > 0) json.field("ideal_per_second", std::llround(ideal));
    json.key("order");
    put_latencies(json, row.order);
    json.end_object();
  }
  return json.end_array().end_object().line();
}

}  // namespace

int bench_stock_command(const Options& options, const StockClients& clients, const Runtime& runtime, Output& out) {
  auto inbox = ProcessSignals::open();
  if (!inbox) return fail(runtime.log, inbox.error());
  EndSignals signals(*inbox);
  const sigset_t& mask = inbox->inherited().mask;
  const LockName name = *LockName::parse("dlock.bench." + random_hex(4));
  const auto soon = [&] { return CallLimit{runtime.clock.now() + kTakeBudget}; };
  const std::size_t most =
      options.count > 0 ? std::min(static_cast<std::size_t>(options.count), kMostOrders) : kMostOrders;
  std::vector<StockBenchRow> rows = plan();
  std::string store;
  for (StockBenchRow& row : rows) {
    // No connection is open while the takers are started: a library's may not be taken along into another process.
    auto made = on_client(clients, runtime, [&](Stock& stock) {
      store = stock.store();
      return stock.create(name, kPlenty, row.segments, Owner::random(), soon());
    });
    if (!made) return fail(runtime.log, made.error());
    const auto done = measure(row, name, clients, runtime.log, most, signals, mask);
    if (signals.stop_requested()) sigprocmask(SIG_SETMASK, &mask, nullptr);  // another one ends us, dropped or not
    const auto dropped = on_client(clients, runtime, [&](Stock& stock) { return stock.drop(name, soon()); });
    if (signals.stop_requested()) die_of(signals.number());
    if (!done) return fail(runtime.log, done.error());
    if (!dropped) return fail(runtime.log, dropped.error());
  }
  return print(
      out, runtime.log,
      options.json ? bench_stock_json(store, kTakersWithStep, rows) : bench_stock_text(store, kTakersWithStep, rows));
}

}  // namespace dlock
