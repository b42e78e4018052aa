// SPDX-License-Identifier: Apache-2.0
// Rule 1 of stocks under stress: many processes take, reserve, sell, give back, refund, restock, level and resize one
// stock, repeat each other's requests, and are killed: by themselves between any two steps, and from outside in the
// middle of one. All the while the books must balance and nothing may be negative. In the end every request is refunded
// and every restock repeated: then exactly what was created and added must be there. Prints one summary line; the exit
// status says it, too.
//
//   stock_stress [KILLS [SECONDS [URL]]]        without URL: the stores of backends/*/conformance.txt
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/acquisition.h"
#include "tests/support/store_table.h"
#include "tests/support/stores.h"

namespace dlock::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kWorkers = 12;
constexpr Quantity kCreated = 1000;
constexpr int kSegments = 20;
constexpr std::uint32_t kMostIds = 1 << 20;
constexpr Duration kTtl = 300ms;
constexpr Duration kPatience = 20s;

/// What all processes see: statistics, and what a request was answered.
struct Board {
  std::atomic<std::uint32_t> takes{0};  ///< ids handed out
  std::atomic<std::uint32_t> adds{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> sold{0};
  std::atomic<std::uint64_t> shortages{0};
  std::atomic<std::uint64_t> repeats{0};
  std::atomic<std::uint64_t> refunds{0};
  std::atomic<std::uint64_t> unknown{0};  ///< outcomes
  std::atomic<std::uint64_t> failures{0};
  std::atomic<std::uint64_t> served_twice{0};
  std::atomic<std::uint64_t> answers[kMostIds];  ///< the parts of a sale, as a number; 0: none seen yet
};

LockName stock_name() {
  static const std::string name = "stress-" + std::to_string(getpid());  // made before the first fork
  return *LockName::parse(name);
}
LockName take_id(std::uint32_t number) { return *LockName::parse("take-" + std::to_string(number)); }
LockName add_id(std::uint32_t number) { return *LockName::parse("add-" + std::to_string(number)); }
Quantity take_quantity(std::uint32_t number) { return number % 23 == 0 ? 60 + number % 101 : 1 + number % 5; }
Quantity add_quantity(std::uint32_t number) { return 1 + number % 9; }
CallLimit soon() { return {test_clock().now() + 10s}; }
CallLimit patiently() { return {test_clock().now() + 30s}; }  // servers may be killed meanwhile

class Worker {
 public:
  Worker(Board& board, const std::string& url)
      : board_(board), stock_(connect_stock(url)), random_(std::random_device()()) {}

  [[noreturn]] void run() {
    for (;;) {
      const auto dice = random_() % 100;
      if (dice < 30) take(fresh());
      else if (dice < 40) take(earlier());
      else if (dice < 65) sell(random_() % 8 ? fresh() : earlier());
      else if (dice < 90) refund(random_() % 20 ? earlier() : fresh());
      else if (dice < 94) add();
      else if (dice < 97) expect(stock_->rebalance(stock_name(), soon()));
      else expect(stock_->resize(stock_name(), 1 + static_cast<int>(random_() % 40), soon()));
    }
  }

 private:
  std::uint32_t fresh() { return board_.takes++ % kMostIds; }
  std::uint32_t earlier() {
    const std::uint32_t known = board_.takes;
    return known == 0 ? fresh() : known - 1 - static_cast<std::uint32_t>(random_() % std::min(known, 400u));
  }
  /// Every other one locks its segment while it is set aside.
  StockRequest request(std::uint32_t id) const { return {stock_name(), take_id(id), take_quantity(id), id % 2 == 1}; }

  /// Between any two steps.
  void step() {
    board_.calls++;
    if (random_() % 150 == 0) raise(SIGKILL);
  }

  template <typename T>
  bool expect(const Result<T>& result, std::initializer_list<ErrorCode> fine = {}) {
    step();
    if (result) return true;
    const ErrorCode code = result.error().code;
    if (code == ErrorCode::kUnavailable) {
      board_.unknown++;
    } else if (std::find(fine.begin(), fine.end(), code) == fine.end()) {
      std::fprintf(stderr, "failure: %s\n", result.error().message.c_str());
      board_.failures++;
    }
    return false;
  }

  void note_sale(std::uint32_t id, const StockParts& parts) {
    const std::uint64_t now = std::hash<std::string>()(parts_text(parts)) | 1;
    std::uint64_t before = 0;
    const bool first = board_.answers[id].compare_exchange_strong(before, now);
    if (!first && before != now) board_.served_twice++;
    if (sum_of(parts) != take_quantity(id)) board_.served_twice++;
  }

  void take(std::uint32_t id) {
    const auto answer = stock_->take(request(id), static_cast<int>(random_() % 1000), soon());
    if (!expect(answer, {ErrorCode::kLost})) return;
    if (const auto* taken = std::get_if<StockTaken>(&*answer)) {
      (taken->repeated ? board_.repeats : board_.sold)++;
      note_sale(id, taken->parts);
    }
    if (std::holds_alternative<StockShort>(*answer)) board_.shortages++;
  }

  /// What a keeper does.
  void sell(std::uint32_t id) {
    const Owner owner = Owner::random();
    auto answer = stock_->reserve(request(id), owner, kTtl, static_cast<int>(random_() % 1000), soon());
    if (!expect(answer, {ErrorCode::kLost})) return;
    if (const auto* by = std::get_if<StockInProgress>(&*answer); by && by->locked) {
      const StockInProgress::Turn turn = *by->locked;
      stock_->wait_for(stock_name(), turn, 5ms, soon());
      answer = stock_->reserve(request(id), owner, kTtl, turn.segment, soon());
      if (!expect(answer, {ErrorCode::kLost})) return;
    }
    const auto* aside = std::get_if<StockTaken>(&*answer);
    if (!aside) return;
    if (aside->repeated) return note_sale(id, aside->parts);
    if (random_() % 3 == 0) usleep(static_cast<useconds_t>(random_() % 3000));
    if (random_() % 2) expect(stock_->extend(request(id), owner, kTtl, soon()), {ErrorCode::kLost});
    if (random_() % 50 == 0) usleep(400'000);  // too late
    if (random_() % 4 == 0) {
      // Its time may be over, and the same request sold since, by whoever asked for it then.
      expect(stock_->cancel(request(id), owner, soon()), {ErrorCode::kConflict});
    } else if (expect(stock_->confirm(request(id), owner, soon()), {ErrorCode::kLost})) {
      board_.sold++;
      if (random_() % 3 == 0) expect(stock_->confirm(request(id), owner, soon()), {ErrorCode::kLost});
    }
  }

  void refund(std::uint32_t id) {
    const auto back = stock_->refund({.stock = stock_name(), .id = take_id(id), .before_take = true}, soon());
    if (expect(back, {ErrorCode::kBusy})) board_.refunds++;
  }

  void add() {
    const std::uint32_t known = board_.adds;
    const std::uint32_t id = known > 0 && random_() % 2 ? static_cast<std::uint32_t>(random_() % known) : board_.adds++;
    expect(stock_->add(stock_name(), add_id(id), add_quantity(id), soon()));
  }

  Board& board_;
  std::unique_ptr<Stock> stock_;
  std::mt19937 random_;
};

class Controller {
 public:
  Controller(Board& board, std::string url, int kills, int seconds)
      : board_(board), url_(std::move(url)), kills_(kills), seconds_(seconds) {}

  int run() {
    const auto made = connect_stock(url_)->create(stock_name(), kCreated, kSegments, Owner::random(), soon());
    if (!made) {
      std::fprintf(stderr, "%s\n", made.error().message.c_str());
      return 1;
    }
    for (int i = 0; i < kWorkers; ++i) workers_.push_back(spawn());
    torment();
    for (const pid_t worker : workers_) end(worker);
    const bool right = recover();
    std::printf(
        "%s: %llu calls, %llu sold, %llu short, %llu repeated, %llu refunds, %u restocks, %d died, %d checks: "
        "%llu served twice, %d out of balance, %llu failures, %llu unknown: %s\n",
        url_.c_str(), of(board_.calls), of(board_.sold), of(board_.shortages), of(board_.repeats), of(board_.refunds),
        board_.adds.load(), died_, checks_, of(board_.served_twice), unbalanced_, of(board_.failures),
        of(board_.unknown), right ? "right" : "WRONG");
    return right ? 0 : 1;
  }

 private:
  static unsigned long long of(const std::atomic<std::uint64_t>& number) { return number.load(); }

  pid_t spawn() {
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    Worker(board_, url_).run();
  }

  static void end(pid_t worker) {
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
  }

  bool is_busy() const { return board_.sold > 100 && board_.repeats > 10 && board_.refunds > 100 && died_ >= kills_; }

  /// Until both the deaths and the seconds are reached; longer, within limits, where a slow machine got little done.
  void torment() {
    std::mt19937 random(4711);
    const TimePoint until = test_clock().now() + std::chrono::seconds(seconds_);
    while (died_ < kills_ || test_clock().now() < until || (!is_busy() && test_clock().now() < until + kPatience)) {
      usleep(3000);
      for (pid_t& worker : workers_) {
        if (waitpid(worker, nullptr, WNOHANG) == worker) worker = (++died_, spawn());
      }
      if (random() % 4 == 0) {
        pid_t& worker = workers_[random() % workers_.size()];
        end(worker);
        worker = (++died_, spawn());
      }
      // Its connection is gone before the next fork.
      check(connect_stock(url_)->show(stock_name(), patiently()));
    }
  }

  void check(const Result<StockState>& state) {
    if (!state && state.error().code == ErrorCode::kUnavailable) return void(++board_.unknown);
    ++checks_;
    bool sound = static_cast<bool>(state);
    if (state) {
      sound = state->total() + state->reserved() + state->taken - state->refunded == state->created + state->added;
      for (const StockSegment& segment : state->segments) {
        sound = sound && segment.quantity >= 0 && segment.reserved >= 0;
      }
    }
    if (!sound && state) std::fprintf(stderr, "out of balance at check %d\n", checks_);
    if (!sound && !state) std::fprintf(stderr, "%s\n", state.error().message.c_str());
    if (!sound) ++unbalanced_;
  }

  /// Every request is refunded, every restock done: what is there then is known without asking the stock's own books.
  bool recover() {
    const auto stock = connect_stock(url_);
    Quantity added = 0;
    for (std::uint32_t id = 0; id < board_.adds; ++id) {
      if (!stock->add(stock_name(), add_id(id), add_quantity(id), soon())) ++board_.failures;
      added += add_quantity(id);
    }
    for (std::uint32_t id = 0; id < board_.takes; ++id) refund_at_last(*stock, id);
    auto state = stock->show(stock_name(), patiently());
    // What dead processes held in other slots is asked for when it is overdue.
    const TimePoint until = test_clock().now() + 10s;
    while (state && state->reserved() != 0 && test_clock().now() < until) {
      usleep(50'000);
      state = stock->show(stock_name(), patiently());
    }
    check(state);
    (void)stock->drop(stock_name(), soon());
    const Quantity expected = kCreated + added;
    const auto is_locked = [](const StockSegment& segment) { return segment.locked_by.has_value(); };
    const bool whole = state && state->total() == expected && state->reserved() == 0 && state->open == 0 &&
                       std::none_of(state->segments.begin(), state->segments.end(), is_locked);
    if (state && !whole) {
      std::fprintf(stderr, "there are %lld, there should be %lld; %lld set aside\n",
                   static_cast<long long>(state->total()), static_cast<long long>(expected),
                   static_cast<long long>(state->reserved()));
    }
    if (!is_busy()) std::fprintf(stderr, "hardly anything happened\n");
    return whole && is_busy() && unbalanced_ == 0 && board_.failures == 0 && board_.served_twice == 0;
  }

  /// A reservation of a process that died ends within its ttl.
  void refund_at_last(Stock& stock, std::uint32_t id) {
    const TimePoint until = test_clock().now() + 10s;
    while (true) {
      const auto back = stock.refund({.stock = stock_name(), .id = take_id(id), .before_take = true}, soon());
      if (back) return;
      if (back.error().code != ErrorCode::kBusy || test_clock().now() > until) break;
      usleep(10'000);
    }
    ++board_.failures;
  }

  Board& board_;
  const std::string url_;
  const int kills_;
  const int seconds_;
  std::vector<pid_t> workers_;
  int died_ = 0;
  int checks_ = 0;
  int unbalanced_ = 0;
};

}  // namespace
}  // namespace dlock::testing

int main(int argc, char** argv) {
  using dlock::testing::Board;
  using dlock::testing::Controller;
  using dlock::testing::TemporaryDirectory;
  const int kills = argc > 1 ? std::atoi(argv[1]) : 60;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 5;
  const TemporaryDirectory directory;
  std::vector<std::string> urls;
  if (argc > 3) {
    urls = {argv[3]};
  } else {
    for (const auto& store : dlock::testing::stores_of("stock", "local:" + directory.path(), {}))
      urls.push_back(store.url);
  }
  int status = 0;
  for (const std::string& url : urls) {
    void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 71;
    status |= Controller(*new (memory) Board, url, kills, seconds).run();
  }
  return status;
}
