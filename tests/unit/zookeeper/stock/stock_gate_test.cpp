// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/zookeeper/stock/stock_world.h"

namespace dlock::zookeeper::stock_gate_test {

using namespace testing;

TEST_CASE("What is read behind a gate that others have opened meanwhile is not believed to make no sense") {
  World w;
  w.create(9, 3);
  const auto slow = w.client();
  const auto other = w.client();
  bool raced = false;
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
    if (raced) return;
    if (w.head().ends_with(" -")) return void(++w.segment(0).stat.version);  // nothing is won before it is closed
    if (request.kind != Request::Kind::kList) return;
    raced = true;  // between the look at the segments and that at the reservations
    REQUIRE(other->reserve(order("a", 2), kOwner, 60s, 0, w.limit()));
  };
  const auto resized = slow->resize(kPhone, 2, w.limit());
  INFO((resized ? std::string() : resized.error().message));
  CHECK(raced);
  CHECK(resized);
  CHECK(w.state().segments.size() == 2);
  CHECK(w.state().reserved() == 2);
}

TEST_CASE("Who closes or opens the gate of a stock that was dropped and made anew does not bring the old one back") {
  for (const bool opens : {false, true}) {
    CAPTURE(opens);
    World w;
    w.create(9, 3);
    const auto slow = w.client();
    const auto other = w.client();
    const std::string path = "/shop/%stock/phone";
    if (opens) {  // somebody has closed it, and is gone
      auto& node = w.ensemble.nodes.at(path);
      node.data.replace(node.data.size() - 1, 1, "gate");
      ++node.stat.version;
    }
    bool raced = false;
    w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
      if (raced || request.kind != Request::Kind::kChange) return;
      raced = request.changes.front().kind == Change::Kind::kSet && request.changes.front().path == path;
      for (int i = 0; !raced && i < 3; ++i) ++w.segment(i).stat.version;
      if (!raced) return;
      REQUIRE(other->drop(kPhone, w.limit()));
      REQUIRE(other->create(kPhone, 7, 2, Owner::random(), w.limit()));
      if (opens) REQUIRE(other->rebalance(kPhone, w.limit()));  // the head has the version that it had before
    };
    const auto taken = slow->take(order("a", 2), 0, w.limit());
    CHECK(raced);
    w.ensemble.before_each = nullptr;
    INFO((taken ? std::string() : taken.error().message));
    CHECK(taken);
    CHECK(w.state().created == 7);
    CHECK(w.state().total() == 5);
  }
}

}  // namespace dlock::zookeeper::stock_gate_test
