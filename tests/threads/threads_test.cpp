// SPDX-License-Identifier: Apache-2.0
// What has threads, and nothing else, for ThreadSanitizer: the look-up of names, and the drivers whose client library
// has threads of its own or is called on one. Real servers; a driver, its connections and its library's threads are all
// in this process.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "backends/mysql/backend.h"
#include "backends/zookeeper/backend.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/net/lookup.h"

#ifdef DLOCK_SANITIZED
/// A look at a descriptor that the client library of ZooKeeper closes just then finds nothing, which is an answer.
extern "C" const char* __tsan_default_suppressions() { return "race:for_each_unmarked\nrace:break_connections\n"; }
#endif

namespace threads_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

struct Store {
  std::string url;
  Result<std::unique_ptr<LockAdmin>> (*admin)(const BackendUrl&, const Runtime&);
  Result<std::unique_ptr<LockDriver>> (*driver)(const BackendUrl&, const LockSpec&, const Runtime&);
};

/// Those for which the environment names a server; all of them with CI=true.
std::vector<Store> stores() {
  std::vector<Store> found;
  const auto add = [&](const char* variable, const Store& store) {
    const char* url = getenv(variable);
    const char* ci = getenv("CI");
    if (!url && ci && std::string(ci) == "true") FAIL("there is no ", variable);
    if (url && *url) found.push_back({url, store.admin, store.driver});
  };
  add("DLOCK_TEST_MYSQL", {"", make_mysql_admin, keep_mysql_lock});
  add("DLOCK_TEST_ZK", {"", make_zookeeper_admin, keep_zookeeper_lock});
  return found;
}

/// A supervisor that wants an end after a while.
struct Impatient final : Control {
  explicit Impatient(std::chrono::milliseconds while_) : alarm(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)) {
    const itimerspec once{{}, {0, std::chrono::nanoseconds(while_).count() + 1}};
    timerfd_settime(alarm.get(), 0, &once, nullptr);
  }
  void add_interest(std::vector<pollfd>& fds) const override { fds.push_back({alarm.get(), POLLIN, 0}); }
  bool stop_requested() override {
    pollfd rung{alarm.get(), POLLIN, 0};
    return poll(&rung, 1, 0) == 1;
  }
  bool take_who() override { return false; }
  void tell(const SessionEvent& /*event*/) override {}

  UniqueFd alarm;
};

LockSpec spec_of(const std::string& key, Clock& clock) {
  LockSpec spec{.name = *LockName::parse(key), .owner = Owner::random(), .wait = {}};
  spec.wait.until = clock.now() + 60s;
  spec.wait.connect_timeout = 20s;
  spec.ttl = 20s;
  return spec;
}

/// Why there is no result; empty if there is one.
template <typename Value>
std::string trouble(const Result<Value>& result) {
  return result ? "" : result.error().message;
}

/// Takes the lock, renews it, releases it. Empty if all went well.
std::string hold_once(const Store& store, const std::string& key) {
  SystemClock clock;
  const Log log;
  auto driver = store.driver(*BackendUrl::parse(store.url), spec_of(key, clock), Runtime{clock, log});
  if (!driver) return driver.error().message;
  NoControl nobody;
  const auto answer = (*driver)->acquire(nobody);
  if (const auto* refused = answer ? std::get_if<Refused>(&*answer) : nullptr) return refused->error.message;
  const Renewal renewed = (*driver)->renew(nobody, clock.now() + 20s);
  if (const auto* unknown = std::get_if<RenewalUnknown>(&renewed)) return unknown->why;
  if (const auto* lost = std::get_if<RenewalLost>(&renewed)) return lost->why;
  return trouble((*driver)->release(clock.now() + 20s));
}

/// Accepts, and says nothing.
struct Silence {
  Silence() {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof in;
    listener = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&in), size) == 0);
    REQUIRE(listen(listener.get(), 16) == 0);
    REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&in), &size) == 0);
    port = ntohs(in.sin_port);
  }
  UniqueFd listener;
  int port = 0;
};

}  // namespace

TEST_CASE("a name is looked up: by who waits for the answer, and by who does not") {
  for (int i = 0; i < 20; ++i) {
    auto kept = Lookup::start("localhost", 1);
    REQUIRE(kept);
    REQUIRE(Lookup::start("localhost", 2));  // dropped before its answer
    pollfd ready{kept->fd(), POLLIN, 0};
    REQUIRE(poll(&ready, 1, 60'000) == 1);
    CHECK(kept->take());
  }
}

constexpr char kPeer[] = "a client takes the lock again and again";

TEST_CASE(kPeer) {
  for (const Store& store : stores()) {
    CAPTURE(store.url);
    for (int i = 0; i < 8; ++i) CHECK(hold_once(store, "threads") == "");
  }
}

TEST_CASE("two clients in turn, each in a process of its own") {
  std::string only = "-tc=" + std::string(kPeer);
  std::string self = "/proc/self/exe";
  char* arguments[] = {self.data(), only.data(), nullptr};
  pid_t peer = 0;
  REQUIRE(posix_spawn(&peer, self.c_str(), nullptr, nullptr, arguments, environ) == 0);
  for (const Store& store : stores()) {
    CAPTURE(store.url);
    for (int i = 0; i < 8; ++i) CHECK(hold_once(store, "threads") == "");
  }
  int status = -1;
  CHECK(waitpid(peer, &status, 0) == peer);
  CHECK(status == 0);
}

TEST_CASE("a wait is given up while the server is asked") {
  for (const Store& store : stores()) {
    CAPTURE(store.url);
    SystemClock clock;
    const Log log;
    const auto url = BackendUrl::parse(store.url);
    const Runtime runtime{clock, log};
    auto holder = store.driver(*url, spec_of("threads-held", clock), runtime);
    REQUIRE(holder);
    NoControl nobody;
    const auto held = (*holder)->acquire(nobody);
    REQUIRE(std::holds_alternative<Granted>(*held));
    for (int i = 0; i < 10; ++i) {
      auto waiter = store.driver(*url, spec_of("threads-held", clock), runtime);
      REQUIRE(waiter);
      Impatient supervisor(i * 10ms);
      const auto answer = (*waiter)->acquire(supervisor);
      CHECK_FALSE((answer && std::holds_alternative<Granted>(*answer)));
    }
    CHECK(trouble((*holder)->release(clock.now() + 20s)) == "");
  }
}

TEST_CASE("what holds and waits is looked at by commands") {
  for (const Store& store : stores()) {
    CAPTURE(store.url);
    SystemClock clock;
    const Log log;
    auto admin = store.admin(*BackendUrl::parse(store.url), Runtime{clock, log});
    REQUIRE(admin);
    CHECK(trouble((*admin)->inspect(*LockName::parse("threads"))) == "");
    CHECK(trouble((*admin)->inspect_all()) == "");
    CHECK(trouble((*admin)->ping()) == "");
  }
}

TEST_CASE("a server that says nothing is given up, and so is its connection") {
  const Silence silence;
  for (const Store& store : stores()) {
    auto url = BackendUrl::parse(store.url);
    REQUIRE(url);
    std::string text = store.url;
    const std::size_t at = text.rfind(':');
    text.replace(at + 1, text.find_first_of("/?", at) - at - 1, std::to_string(silence.port));
    CAPTURE(text);
    SystemClock clock;
    const Log log;
    LockSpec spec = spec_of("threads-silent", clock);
    spec.wait.once = true;
    spec.wait.connect_timeout = 300ms;
    auto driver = store.driver(*BackendUrl::parse(text), spec, Runtime{clock, log});
    REQUIRE(driver);
    NoControl nobody;
    const auto answer = (*driver)->acquire(nobody);
    REQUIRE(answer);
    CHECK(std::holds_alternative<Refused>(*answer));
  }
}

}  // namespace threads_test
