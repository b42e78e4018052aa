// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/named_segments.h"

#include <doctest/doctest.h>

#include "backends/mysql/stock/stock_rows.h"
#include "lib/stock/stock_ledger.h"
#include "tests/unit/mysql/fake_server.h"

namespace dlock::mysql::testing::named_segments_test {
namespace {

using namespace std::chrono_literals;
using Fault = FakeServer::Fault;

const Answer kStockRow{{{"7", "maker", "20", "100", "0", "0"}}, 0};
constexpr char kNone[] = "9000000000000000000";
constexpr char kNotLocked[] = "9000000000000000001";

struct World {
  explicit World(Strategy strategy = Strategy::kLease, StockWay way = StockWay::kGuarded) {
    Settings settings{
        .servers =
            {{.endpoint = {"h", 3306, ""}, .user = "u", .password = "", .database = "db", .tls = {}, .batches = true}},
        .row = {},
        .store = "s"};
    settings.strategy = strategy;
    settings.stock = way;
    stock = ledger_stock(std::make_unique<StockRows>(std::move(settings), server.dial(), Runtime{clock, log}));
    locks = stock->segment_locks();
  }

  CallLimit limit() const { return {clock.now() + 10s}; }
  Result<std::optional<SegmentLocks::Choice>> lock_one(const char* segment, const char* got) {
    server.next("FROM dlock_stock s", kStockRow);
    server.next("GET_LOCK", Answer{{{segment, got}}, 0});
    return locks->lock_one(request, 23, 30s, limit());
  }

  FakeClock clock;
  FakeServer server{clock};
  dlock::Log log;
  std::unique_ptr<Stock> stock;
  SegmentLocks* locks = nullptr;
  ScriptedControl control{clock};
  const Owner owner = Owner::random();
  const StockRequest request{*LockName::parse("phone"), *LockName::parse("order"), 2};
};

}  // namespace

TEST_CASE("named segments: only where the URL does not want locks of another kind") {
  CHECK(World(Strategy::kLease).locks != nullptr);
  CHECK(World(Strategy::kSession).locks != nullptr);
  for (const Strategy other : {Strategy::kRow, Strategy::kUnique, Strategy::kOccupy}) {
    CHECK(World(other).locks == nullptr);
  }
}

TEST_CASE("named segments: one that is free is found and locked in one round trip, from the start on") {
  World w;
  auto choice = w.lock_one("3", "1");
  REQUIRE(choice);
  REQUIRE(*choice);
  CHECK((*choice)->segment == 3);
  REQUIRE((*choice)->lock);
  CHECK(w.server.log.back().find("segment>=3") != std::string::npos);       // 23 of 20
  CHECK(w.server.log.back().find("wait_timeout=31") != std::string::npos);  // a silence of a ttl, and more
  CHECK(std::holds_alternative<RenewalHeld>((*choice)->lock->held(w.clock.now())));
  w.server.log.clear();
  CHECK((*choice)->lock->release(w.clock.now() + 1s));
  CHECK(w.server.log == std::vector<std::string>{"DO RELEASE_ALL_LOCKS()"});
  CHECK((*choice)->lock->release(w.clock.now() + 1s));
  CHECK(w.server.log.size() == 1);
}

TEST_CASE("named segments: where all are locked it says where to queue, and nothing where none has enough") {
  World w;
  auto busy = w.lock_one("4", "0");
  REQUIRE(busy);
  REQUIRE(*busy);
  CHECK((*busy)->segment == 4);
  CHECK_FALSE((*busy)->lock);
  w.server.next("GET_LOCK", Answer{});
  const auto none = w.locks->lock_one(w.request, 0, 30s, w.limit());
  REQUIRE(none);
  CHECK_FALSE(*none);
}

TEST_CASE("named segments: who queues has the seat behind the holder's, and leaves it when the wait is over") {
  World w;
  REQUIRE(w.lock_one("4", "0"));
  const std::string& batch = w.server.log.back();
  const std::string seat = "GET_LOCK(CONCAT('dlock:',LEFT(SHA2(DATABASE(),256),32),'+7.',segment),0)=1";
  const std::size_t first = batch.find(seat);
  REQUIRE(first != std::string::npos);
  CHECK(batch.find("'.7.',segment),0)=1") < first);
  CHECK(batch.find("LIMIT 1", batch.rfind(seat)) < batch.rfind("LIMIT 1"));  // where all are taken: any
  StockRequest here = w.request;
  here.only_segment = 4;
  const char* left = ",0)),RELEASE_LOCK(CONCAT('dlock:',LEFT(SHA2(DATABASE(),256),32),'+7.',4))";
  w.server.next(left, Answer{{{"77"}}, 0});
  CHECK(w.locks->reserve_at_once(here, w.owner, 30s, 4, w.clock.now() + 2s, w.limit()));
  CHECK(w.server.planned.empty());
}

TEST_CASE("named segments: a server without named locks is asked once; then the locks for everybody serve") {
  World w;
  w.server.next("FROM dlock_stock s", kStockRow);
  w.server.next("GET_LOCK", 1235);
  const auto none = w.locks->lock_one(w.request, 0, 30s, w.limit());
  REQUIRE(none);
  CHECK_FALSE(*none);
  CHECK(w.stock->segment_locks() == nullptr);
}

TEST_CASE("named segments: a node of Galera has none; the locks for everybody serve") {
  World w;
  w.server.next("FROM dlock_stock s", kStockRow);
  w.server.next("WHERE @dlock_galera", Answer{{{"1"}}, 0});
  const auto none = w.locks->lock_one(w.request, 0, 30s, w.limit());
  REQUIRE(none);
  CHECK_FALSE(*none);
  CHECK(w.stock->segment_locks() == nullptr);
}

TEST_CASE("named segments: the wait for a lock and the reservation are one round trip, and so are release and sale") {
  World w;
  REQUIRE(w.lock_one("4", "0"));
  StockRequest here = w.request;
  here.only_segment = 4;
  w.server.next("GET_LOCK(CONCAT('dlock:',IF(@dlock_galera,NULL,LEFT(SHA2(DATABASE(),256),32)),'.7.',4),2.500)=1",
                Answer{{{"77"}}, 0});
  const auto answer = w.locks->reserve_at_once(here, w.owner, 30s, 4, w.clock.now() + 2500ms, w.limit());
  REQUIRE(answer);
  REQUIRE(*answer);
  const auto* taken = std::get_if<StockTaken>(&**answer);
  REQUIRE(taken);
  CHECK(taken->parts == StockParts{{4, 2}});
  CHECK(taken->token == FencingToken(77));
  const auto lock = w.locks->held();
  CHECK(std::holds_alternative<RenewalHeld>(lock->held(w.clock.now())));
  w.server.log.clear();
  w.server.next("RELEASE_ALL_LOCKS", Answer{{{"1"}}, 0});
  REQUIRE(w.stock->confirm(here, w.owner, w.limit()));
  CHECK(lock->release(w.clock.now() + 1s));
  CHECK(w.server.log.size() == 1);
}

TEST_CASE("named segments: a lock that is not to be had or a segment that became short, another way to deduct") {
  for (const StockWay way : {StockWay::kGuarded, StockWay::kPessimistic, StockWay::kOptimistic}) {
    World w(Strategy::kLease, way);
    REQUIRE(w.lock_one("4", "0"));
    StockRequest here = w.request;
    here.only_segment = 4;
    w.server.next("GET_LOCK", kNullValue);
    const auto answer = w.locks->reserve_at_once(here, w.owner, 30s, 4, w.clock.now() + 1s, w.limit());
    REQUIRE(answer);
    CHECK_FALSE(answer->has_value());
  }
}

TEST_CASE("named segments: a lock that is granted to somebody who was stopped meanwhile is freed") {
  World w;
  REQUIRE(w.lock_one("4", "0"));
  LockSpec spec{.name = *LockName::parse("stock:phone:4"), .owner = w.owner, .wait = {}, .reason = "", .ancestor = {}};
  spec.wait.until = w.clock.now() + 1500ms;
  w.server.next("GET_LOCK", Answer{{{"1"}}, 0});
  w.control.stop_at = w.clock.now();
  const auto lock = w.locks->open(4, spec);
  CHECK_FALSE(lock->acquire(w.control));
  CHECK(w.server.log.back() == "DO RELEASE_ALL_LOCKS()");
  CHECK(std::holds_alternative<RenewalLost>(lock->held(w.clock.now())));
}

}  // namespace dlock::mysql::testing::named_segments_test
