// SPDX-License-Identifier: Apache-2.0
// The contract of lib/rows/rows.h where a store refuses to write, or its answers are lost: never a false success, and
// "it was not done" only where that is so.
#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "tests/conformance/stock_fixture.h"
#include "tests/support/acquisition.h"
#include "tests/support/relay.h"
#include "tests/support/rows_contract.h"
#include "tests/support/store_table.h"
#include "tests/support/stores.h"

namespace dlock::testing::rows_faults_test {
namespace {

using namespace std::chrono_literals;

LockName group_of(const std::string& word) { return *LockName::parse(word + "." + std::to_string(getpid())); }

// --- stores that answer reads and take no changes -------------------------------------------------------------------

/// While it lives, nobody may write below the folder: not even we, who may be root otherwise.
class Sealed {
 public:
  explicit Sealed(const std::string& folder) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0) all_of(folder, [](const std::string& path) { (void)!chown(path.c_str(), kNobody, kNobody); });
    all_of(folder, [](const std::string& path) {
      std::filesystem::permissions(
          path, std::filesystem::is_directory(path) ? std::filesystem::perms(0555) : std::filesystem::perms(0444));
    });
    if (geteuid() == 0) (void)!seteuid(kNobody);
  }
  Sealed(const Sealed&) = delete;
  Sealed& operator=(const Sealed&) = delete;
  ~Sealed() { (void)!seteuid(getuid()); }

 private:
  template <typename Do>
  static void all_of(const std::string& folder, const Do& one) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) one(entry.path().string());
    one(folder);
  }
};

/// Refused for good, or an outage in which nothing was done.
void check_refusal(const Result<Rows::Number>& answer) {
  REQUIRE_FALSE(answer);
  INFO(answer.error().message);
  const Error& error = answer.error();
  CHECK((error.code == ErrorCode::kDenied || (error.code == ErrorCode::kUnavailable && error.undone)));
  CHECK_FALSE(error.next.empty());
}

void check_sealed(Rows& rows, const LockName& group, Clock& clock) {
  const auto limit = [&] { return CallLimit{clock.now() + 10s}; };
  const std::vector<std::string> keys{"x", "many/x"};
  // Nobody may look at a file that nobody may write; a server answers.
  const auto before = rows.read(group, keys, limit());
  INFO((before ? std::string() : before.error().message));
  REQUIRE((before || before.error().code == ErrorCode::kDenied));
  const auto version = [&](std::size_t at) { return before ? before->rows[at].version : 0; };
  for (const Rows::Commit& one :
       std::vector<Rows::Commit>{{put("x", "new", version(0))},
                                 {put("x", "new", version(0)), put("many/x", "new", version(1))},
                                 {fill_row("y", "new")},
                                 {put("y", "new"), tell("x")}}) {
    check_refusal(rows.commit(group, one, limit()));
  }
  const auto answers =
      rows.commit_each(group, std::vector<Rows::Commit>{{put("y", "")}, {put("z", "")}}, Rows::Tell::kMade, limit());
  REQUIRE(answers.size() == 2);
  for (const auto& answer : answers) check_refusal(answer);
  if (!before) return;
  const auto after = rows.read(group, keys, limit());
  REQUIRE(after);
  for (std::size_t i = 0; i < keys.size(); ++i) CHECK(after->rows[i].version == version(i));
}

// --- lines that break
// -------------------------------------------------------------------------------------------------

/// A relay before a server, in a thread of its own.
class BadLine {
 public:
  BadLine(const Endpoint& server, Framing framing)
      : wake_(eventfd(0, EFD_CLOEXEC)), relay_(ports_to(server), framing), thread_([this] { serve(); }) {}
  ~BadLine() {
    stop_ = true;
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  std::uint16_t port() const { return port_; }

  /// From now on.
  void obey(const RelayOrder& order) {
    std::unique_lock hold(mutex_);
    order_ = order;
    eventfd_write(wake_.get(), 1);
    taken_.wait(hold, [this] { return !order_; });
  }

 private:
  std::vector<RelayPort> ports_to(const Endpoint& server) {
    auto port = open_relay_port(known_addresses(server.host, server.port).at(0));
    REQUIRE(port);
    port_ = port->number;
    std::vector<RelayPort> ports;
    ports.push_back(std::move(*port));
    return ports;
  }

  void serve() {
    while (!stop_) {
      std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
      relay_.turn(fds);
      if (fds[0].revents == 0) continue;
      eventfd_t count = 0;
      eventfd_read(wake_.get(), &count);
      const std::lock_guard hold(mutex_);
      if (order_) relay_.order() = *std::exchange(order_, std::nullopt);
      taken_.notify_all();
    }
  }

  std::uint16_t port_ = 0;
  UniqueFd wake_;
  Relay relay_;
  std::mutex mutex_;
  std::condition_variable taken_;
  std::optional<RelayOrder> order_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// One server, and nothing that leads past the relay.
bool is_one_server(const BackendUrl& url) {
  return url.hosts.size() == 1 && url.scheme.find('+') == std::string::npos && url.param("ca-file").empty();
}

Framing framing_of(std::string_view family) {
  if (family == "redis") return Framing::kRedis;
  if (family == "zookeeper") return Framing::kFrames;
  return family == "mysql" ? Framing::kPackets : Framing::kBytes;
}

/// What happens to a line while a commit is on its way.
std::vector<RelayOrder> breaks() {
  std::vector<RelayOrder> all;
  for (int behind = 0; behind < 4; ++behind) {
    for (const bool requests : {true, false}) all.push_back({.cut_behind = behind, .cuts_requests = requests});
  }
  all.push_back({.requests = RelayOrder::Traffic::kDrop});
  all.push_back({.replies = RelayOrder::Traffic::kHold});
  return all;
}

struct BrokenWorld {
  explicit BrokenWorld(const std::string& url, const BackendUrl& parsed)
      : line(endpoints(parsed).front(), framing_of(parsed.family)), direct(connect_rows(url)), through(url) {
    const std::string host = endpoints(parsed).front().text();
    through.replace(through.find(host), host.size(), "127.0.0.1:" + std::to_string(line.port()));
  }
  static CallLimit limit(Duration time = 10s) { return {test_clock().now() + time}; }

  Rows::Look look(const std::vector<std::string>& some) const {
    auto found = direct->read(group, some, limit());
    REQUIRE(found);
    return *found;
  }

  /// One commit by a client of its own, on a connection that is there already or not.
  void commit_while(const RelayOrder& order, bool connected, Duration time = 400ms) {
    const std::string key = "x" + std::to_string(answers.size());
    line.obey({});
    const auto rows = connect_rows(through);
    if (connected) REQUIRE(rows->read(group, {&key, 1}, limit()));
    line.obey(order);
    answers.push_back(rows->commit(group, {put(key, "done"), add_to("n", {-1})}, limit(time)));
    keys.push_back(key);
  }

  /// What was said, and what somebody else sees.
  void judge() {
    keys.emplace_back("n");
    const Rows::Look seen = look(keys);
    int done = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const bool there = seen.rows[i].version != 0;
      INFO(keys[i], ": ", (answers[i] ? "success" : answers[i].error().message), ", there: ", there);
      if (answers[i]) CHECK((*answers[i] > 0 && there));
      else CHECK(answers[i].error().code == ErrorCode::kUnavailable);
      if (!answers[i] && answers[i].error().undone) CHECK_FALSE(there);
      done += there ? 1 : 0;
    }
    CHECK(seen.rows.back().text == std::to_string(1000 - done));
    CHECK(done > 0);
    CHECK(done < static_cast<int>(answers.size()));
  }

  BadLine line;
  const std::unique_ptr<Rows> direct;
  std::string through;
  const LockName group = group_of("rows.broken");
  std::vector<Result<Rows::Number>> answers;
  std::vector<std::string> keys;
};

}  // namespace

TEST_CASE("rows: a store that takes no changes refuses each commit, and says so") {
  const TemporaryDirectory directory;
  for (const FoundStore& store : stores_of("sealed", "local:" + directory.path(), {})) {
    INFO("store: ", store.row.name);
    const LockName group = group_of("rows.sealed");
    std::optional<Sealed> sealed;
    if (store.row.variable == kOwnDirectory) {
      REQUIRE(connect_rows(store.url)->commit(group, {put("x", "one")}, {test_clock().now() + 10s}));
      sealed.emplace(directory.path());
    }
    check_sealed(*connect_rows(store.url), group, test_clock());
  }
}

TEST_CASE("rows: a commit whose answer is lost is not known, and is never said to be done or undone wrongly") {
  for (const StockFixture& fixture : stock_fixtures()) {
    const auto url = BackendUrl::parse(fixture.url);
    REQUIRE(url);
    if (!is_one_server(*url)) continue;
    INFO("store: ", fixture.name);
    BrokenWorld world(fixture.url, *url);
    REQUIRE(world.direct->commit(world.group, {put("n", "1000")}, world.limit()));
    for (const RelayOrder& order : breaks()) {
      for (const bool connected : {true, false}) world.commit_while(order, connected);
    }
    world.commit_while({}, true, 10s);
    world.judge();
    REQUIRE(world.direct->commit(world.group, {clear_group()}, world.limit()));
  }
}

}  // namespace dlock::testing::rows_faults_test
