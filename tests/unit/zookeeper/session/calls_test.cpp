// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/calls.h"

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_clock.h"

namespace dlock::zookeeper::testing::calls_test {
namespace {

using namespace dlock::testing;
using namespace std::chrono_literals;

/// As the library does it: what is asked waits for a connection, and is lost with each that is refused or breaks.
class Connecting final : public Session {
 public:
  void ask(std::uint64_t ticket, const Request& request) override {
    asked.push_back(request.path);
    pending_.push_back(ticket);
  }
  std::optional<Event> next() override {
    if (inbox_.empty() && !pending_.empty() && !(silent && refusals_left == 0)) serve();
    if (inbox_.empty()) return std::nullopt;
    Event first = std::move(inbox_.front());
    inbox_.pop_front();
    return first;
  }
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  std::string trouble() const override { return "Connection refused"; }
  int refusals() const override { return refused_; }
  void reconnect() override {
    silent = false;
    refusals_left = refusals_then;
  }
  void use_servers(const std::vector<std::string>& servers) override { used = servers; }
  void close() override {}
  void abandon() override {}

  int refusals_left = 0;  ///< servers that refuse, one after the other
  int refusals_then = 0;  ///< the same, once a silent server was left
  bool silent = false;    ///< who is asked after them
  bool breaks = false;    ///< each connection that stands, before it answers
  std::vector<std::string> asked;
  std::vector<std::string> used;

 private:
  void serve() {
    const bool refused = refusals_left > 0;
    if (refused) --refusals_left, ++refused_;
    if (!refused) inbox_.emplace_back(StateChanged{SessionState::kConnected, {1, "password", {}}, 10s});
    if (!refused && breaks) inbox_.emplace_back(StateChanged{SessionState::kConnecting, {}, {}});
    for (const std::uint64_t ticket : std::exchange(pending_, {})) {
      inbox_.emplace_back(Answered{ticket, {.code = refused || breaks ? Code::kConnectionLoss : Code::kOk}});
    }
  }

  int refused_ = 0;
  std::vector<std::uint64_t> pending_;
  std::deque<Event> inbox_;
};

struct World {
  explicit World(int servers) {
    auto one = std::make_unique<Connecting>();
    session = one.get();
    calls.emplace(std::move(one), "zk://a,b,c", clock, servers);
  }
  Result<Answer> call(const std::string& path) {
    return calls->call({.kind = Request::Kind::kExists, .path = path}, clock.now() + 5s, nullptr);
  }

  FakeClock clock;
  Connecting* session = nullptr;
  std::optional<Calls> calls;
};

}  // namespace

TEST_CASE(
    "zookeeper/calls: what waited for a connection that was refused has reached nobody, and goes to the next server") {
  World w(3);
  w.session->refusals_left = 2;
  CHECK(w.call("/a"));
  CHECK(w.session->asked == std::vector<std::string>{"/a", "/a", "/a"});
  CHECK(w.clock.since_start() == 0s);
}

TEST_CASE(
    "zookeeper/calls: what was sent in one go keeps its order, and what nobody wants any more is not asked again") {
  World w(3);
  w.session->refusals_left = 1;
  const auto send = [&](const char* path) { return w.calls->send({.kind = Request::Kind::kExists, .path = path}); };
  const std::uint64_t first = send("/a");
  const std::uint64_t forgotten = send("/b");
  const std::uint64_t last = send("/c");
  w.calls->forget(forgotten);
  CHECK(w.calls->answer(first, w.clock.now() + 5s, nullptr));
  CHECK(w.calls->answer(last, w.clock.now() + 5s, nullptr));
  CHECK(w.session->asked == std::vector<std::string>{"/a", "/b", "/c", "/a", "/c"});
}

TEST_CASE("zookeeper/calls: where all refuse, each has been asked, and the caller is told") {
  World w(3);
  w.session->refusals_left = 1000;
  const auto answer = w.call("/a");
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::kUnavailable);
  CHECK(w.session->asked.size() == 4);  // one is named twice in the library's list if they are even
  World alone(1);
  alone.session->refusals_left = 1000;
  CHECK_FALSE(alone.call("/a"));
  CHECK(alone.session->asked.size() == 1);
}

TEST_CASE(
    "zookeeper/calls: what a connection that stood has lost may have been done, and is not asked again by itself") {
  World w(3);
  w.session->breaks = true;
  CHECK_FALSE(w.call("/a"));
  CHECK(w.session->asked.size() == 1);
  CHECK_FALSE(w.call("/b"));
  CHECK(w.session->asked.size() == 2);
}

TEST_CASE(
    "zookeeper/calls: servers that have moved are used as soon as they are found, and sought only while none answers") {
  World w(1);
  int looks = 0;
  w.calls->find_servers_by([&](TimePoint now) -> std::optional<std::vector<std::string>> {
    ++looks;
    if (now < FakeClock::start() + 1s) return std::nullopt;
    return std::vector<std::string>{"10.0.0.2:2181"};
  });
  while (w.clock.since_start() < 1s) {
    CHECK(w.session->used.empty());
    w.calls->receive();
    w.calls->wait(w.clock.now() + 1s, nullptr);
  }
  w.calls->receive();
  CHECK(w.session->used == std::vector<std::string>{"10.0.0.2:2181"});
  CHECK(w.call("/a"));
  const int before = looks;
  w.calls->receive();
  CHECK(looks == before);
}

TEST_CASE("zookeeper/calls: a server that was silent for a moment is tried again before all have refused") {
  World world(3);
  world.calls->give_up_after(3);
  world.session->refusals_left = 2;
  world.session->refusals_then = 2;
  world.session->silent = true;
  CHECK(world.call("/a"));
}

}  // namespace dlock::zookeeper::testing::calls_test
