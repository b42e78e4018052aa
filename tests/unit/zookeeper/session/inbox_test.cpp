// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/library_callbacks.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <string>
#include <thread>
#include <vector>

namespace dlock::zookeeper::inbox_test {
namespace {

bool is_ready(const Inbox& inbox) {
  pollfd look{inbox.fd(), POLLIN, 0};
  return poll(&look, 1, 0) > 0;
}

std::string path_of(const Event& event) { return std::get<WatchFired>(event).path; }

}  // namespace

TEST_CASE("The inbox is ready while it has something, which is taken once, in the order of its coming") {
  const auto inbox = *Inbox::make();
  CHECK_FALSE(is_ready(*inbox));
  inbox->put({WatchFired{"/a"}});
  inbox->put({WatchFired{"/b"}});
  CHECK(is_ready(*inbox));
  const std::list<Event> taken = inbox->take();
  REQUIRE(taken.size() == 2);
  CHECK(path_of(taken.front()) == "/a");
  CHECK(path_of(taken.back()) == "/b");
  CHECK_FALSE(is_ready(*inbox));
  CHECK(inbox->take().empty());
  inbox->put({WatchFired{"/c"}});
  CHECK(is_ready(*inbox));
}

TEST_CASE("What was put before the inbox was shut is there, and nothing after it") {
  const auto inbox = *Inbox::make();
  inbox->put({WatchFired{"/a"}});
  inbox->shut();
  inbox->put({WatchFired{"/late"}});
  CHECK(inbox->take().size() == 1);
  CHECK_FALSE(is_ready(*inbox));
}

TEST_CASE("Threads put at the same time, and the loop misses nothing: whenever something is left, the inbox is ready") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 2000;
  const auto inbox = *Inbox::make();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([inbox, i] {
      for (std::size_t n = 0; n < kEach; ++n) inbox->put({WatchFired{std::to_string(i)}});
    });
  }
  std::vector<std::size_t> seen(kThreads);
  for (std::size_t all = 0; all < kThreads * kEach;) {
    pollfd look{inbox->fd(), POLLIN, 0};
    const int ready = poll(&look, 1, 10'000);
    CHECK(ready == 1);
    if (ready != 1) break;
    for (const Event& event : inbox->take()) ++seen[std::stoul(path_of(event))], ++all;
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(seen == std::vector<std::size_t>(kThreads, kEach));
}

}  // namespace dlock::zookeeper::inbox_test
