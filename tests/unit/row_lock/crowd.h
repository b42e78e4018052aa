// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "lib/keeper/control.h"
#include "lib/lock/lease.h"
#include "lib/row_lock/row_lock.h"
#include "tests/support/memory_queue.h"

namespace dlock::testing {

/// Clients of one lock in one time, one of which runs at a moment, chosen by chance: each call to the store, and each
/// wait, lets others go first. Each is a thread, because an acquisition blocks; only the one that has its turn runs.
class Crowd {
 public:
  /// `queues`: the store has a queue of its own.
  Crowd(unsigned seed, bool tells, bool queues) : queues_(queues), random_(seed) { shelf.tells = tells; }

  void run(int clients) {
    shelf.between = [this] { call(); };
    shelf.changed = [this](const Rows::Row& before, const Rows::Row& after) { judge(before, after); };
    for (int i = 0; i < clients; ++i) clients_.push_back(std::make_unique<Client>(*this));
    for (auto& client : clients_) client->thread = std::thread([this, it = client.get()] { live(*it); });
    while (give_turn()) {
    }
    for (auto& client : clients_) client->thread.join();
  }

  int granted = 0;
  std::vector<std::string> breaches;

 private:
  struct Client final : Clock, Control {
    explicit Client(Crowd& its_crowd) : crowd(its_crowd) {}
    TimePoint now() const override { return crowd.now_; }
    WallTime wall() const override { return WallTime(std::chrono::hours(1)); }
    void wait(std::vector<pollfd>& /*fds*/, std::optional<TimePoint> until) override { crowd.rest(*this, until); }
    void add_interest(std::vector<pollfd>& /*fds*/) const override {}
    bool stop_requested() override { return false; }
    bool take_who() override { return false; }
    void tell(const SessionEvent& /*event*/) override {}

    Crowd& crowd;
    std::thread thread;
    std::condition_variable turn;
    std::optional<TimePoint> wakes = TimePoint();
    int seen = 0;  ///< of RowShelf::tellings
    bool has_turn = false;
    bool done = false;
    // What it believes.
    std::optional<Mode> holds;
    TimePoint deadline{};
  };

  struct TheClock final : Clock {
    explicit TheClock(Crowd& its_crowd) : crowd(its_crowd) {}
    TimePoint now() const override { return crowd.now_; }
    WallTime wall() const override { return {}; }
    void wait(std::vector<pollfd>& /*fds*/, std::optional<TimePoint> /*until*/) override {}
    Crowd& crowd;
  };

  int below(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }
  Duration ms(int most) { return std::chrono::milliseconds(below(most)); }

  /// Takes the lock and holds it, renews, and gives it back, or dies, some times.
  void live(Client& me) {
    std::unique_lock guard(mutex_);
    me.turn.wait(guard, [&] { return me.has_turn; });
    at_turn_ = &me;
    for (int i = 0; i < 5; ++i) {
      rest(me, now_ + ms(3000));
      hold_once(me);
    }
    me.done = true;
    me.has_turn = false;
    back_.notify_one();
  }

  void hold_once(Client& me) {
    constexpr Mode kModes[] = {Mode::kExclusive, Mode::kExclusive, Mode::kShared, Mode::kPermits};
    LockSpec spec{
        .name = name_, .owner = Owner::random(), .mode = kModes[below(4)], .wait = {}, .reason = "", .ancestor = {}};
    if (spec.mode == Mode::kPermits) spec.permits = 2;
    spec.ttl = std::chrono::seconds(3);
    if (below(3) == 0) spec.lock_delay = std::chrono::seconds(1);
    if (below(3) == 0) spec.wait.until = now_ + ms(4000);
    RowLock lock(rows_of(me), spec, {me, log_});
    auto answer = lock.acquire(me);
    if (!answer || std::holds_alternative<Refused>(*answer)) return;
    const auto& grant = std::get<Granted>(*answer);
    believe(me, spec.mode, *grant.deadline);
    for (int renewals = below(4); renewals > 0; --renewals) {
      rest(me, now_ + ms(below(6) == 0 ? 4000 : 1500));
      if (now_ >= me.deadline) break;
      const Renewal renewal = lock.renew(me, now_ + std::chrono::seconds(1));
      if (const auto* renewed = std::get_if<RenewalRenewed>(&renewal)) me.deadline = renewed->deadline;
      if (std::holds_alternative<RenewalLost>(renewal)) me.deadline = now_;
    }
    me.holds.reset();
    if (below(5) != 0) (void)lock.release(now_ + std::chrono::seconds(2));
  }

  std::unique_ptr<Rows> rows_of(Client& me) {
    if (queues_) return std::make_unique<QueuedRows>(shelf, me);
    return std::make_unique<MemoryRows>(shelf);
  }

  void believe(Client& me, Mode mode, TimePoint deadline) {
    ++granted;
    me.holds = mode;
    me.deadline = deadline;
    int same = 1;
    for (const auto& other : clients_) {
      if (other.get() == &me || !other->holds || other->deadline <= now_) continue;
      ++same;
      if (mode != *other->holds || mode == Mode::kExclusive)
        breaches.push_back(std::string("two hold it: ") + mode_name(mode) + " and " + mode_name(*other->holds));
    }
    if (mode == Mode::kPermits && same > 2) breaches.push_back("three hold two permits");
  }

  /// The record before and after a commit.
  void judge(const Rows::Row& before, const Rows::Row& after) {
    const StoreTime now = shelf.now_us();
    const auto was = decode_record(before, now), is = decode_record(after, now);
    if (!was || !is) return breaches.push_back("no record: " + after.text);
    for (const LeaseHolder& holder : is->holders) {
      const LeaseHolder* old = find_holder(*was, holder.owner);
      if (old && old->until <= now && holder.until > now) breaches.push_back("a lease was revived");
      if (old) continue;
      if (holder.token <= highest_) breaches.push_back("a token is not larger than all before");
      highest_ = holder.token;
      for (const LeaseWaiter& waiter : was->waiters) {
        if (waiter.owner == holder.owner) break;
        const bool beside = waiter.mode == is->mode && waiter.mode != Mode::kExclusive;
        if (waiter.until > now && !beside)
          breaches.push_back("the queue was passed: " + before.text + "\nby\n" + after.text);
      }
    }
  }

  /// Before each call: others may go first, time passes, and now and then an answer is lost.
  void call() {
    rest(*at_turn_, now_ + (below(2) == 0 ? Duration(0) : ms(5)));
    if (below(12) != 0) return;
    shelf.fault_at = shelf.calls + 1;
    shelf.fault = below(2) == 0 ? RowShelf::Fault::kBefore : RowShelf::Fault::kAfter;
  }

  /// Until `until`, or until something was told to anybody.
  void rest(Client& me, std::optional<TimePoint> until) {
    std::unique_lock guard(mutex_, std::adopt_lock);
    me.wakes = until;
    me.has_turn = false;
    back_.notify_one();
    me.turn.wait(guard, [&] { return me.has_turn; });
    at_turn_ = &me;
    guard.release();
  }

  bool give_turn() {
    std::unique_lock guard(mutex_);
    std::vector<Client*> ready;
    std::optional<TimePoint> first;
    for (const auto& client : clients_) {
      if (client->done) continue;
      if (client->seen != shelf.tellings || (client->wakes && *client->wakes <= now_)) ready.push_back(client.get());
      else first = earlier(first, client->wakes);
    }
    if (ready.empty() && !first) return false;
    if (ready.empty()) return now_ = *first, true;
    Client& next = *ready[static_cast<std::size_t>(below(static_cast<int>(ready.size())))];
    if (below(4) == 0) now_ += std::chrono::milliseconds(1);
    next.seen = shelf.tellings;
    next.has_turn = true;
    next.turn.notify_one();
    back_.wait(guard, [&] { return !next.has_turn; });
    return true;
  }

  const bool queues_;
  std::mt19937 random_;
  TimePoint now_ = TimePoint(std::chrono::hours(1000));
  TheClock clock_{*this};
  RowShelf shelf{clock_};
  Log log_;
  const LockName name_ = *LockName::parse("k");
  std::vector<std::unique_ptr<Client>> clients_;
  Client* at_turn_ = nullptr;
  std::uint64_t highest_ = 0;  ///< token
  std::mutex mutex_;
  std::condition_variable back_;
};

}  // namespace dlock::testing
