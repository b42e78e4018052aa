// SPDX-License-Identifier: Apache-2.0
// What only the local backend promises: descriptors that keep a lock, and what becomes of its files and helpers.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/conformance/local/machine.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"

namespace dlock::testing::local_test {
namespace {

using std::chrono::milliseconds;

pid_t heir_of(HelperProcess& holder) {
  holder.say("spawn");
  const std::string said = holder.line().value_or("");
  REQUIRE(said.starts_with("heir "));
  return static_cast<pid_t>(std::atol(said.c_str() + 5));
}

/// A child of ours that holds `key` by way of `client` until it is killed.
pid_t holding_child(Client& client, const std::string& key) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    Acquisition own(client, exclusive(key));
    own.held();
    if (write(ends[1], "h", 1) == 1) pause();
    _exit(0);
  }
  char byte = 0;
  REQUIRE(read(ends[0], &byte, 1) == 1);
  for (const int end : ends) close(end);
  return child;
}

}  // namespace

TEST_CASE("a process and its child exclude each other, also from a key that was taken and given back before the fork") {
  Machine m;
  Acquisition before(*m.a, exclusive("k"));
  before.held();
  before.release();
  const pid_t child = holding_child(*m.a, "k");
  Acquisition refused(*m.a, once(exclusive("k")));
  CHECK(refused.wait_for<Refused>());
  const auto state = m.b->inspect(name("k"));
  REQUIRE(state);
  REQUIRE(state->holders.size() == 1);
  CHECK(state->holders.front().pid == child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  Acquisition next(*m.a, exclusive("k"));
  next.held();
  CHECK(m.b->inspect(name("k"))->holders.front().pid == getpid());
  next.release();
}

TEST_CASE("a release in order frees the lock, whatever still has the descriptor") {
  Machine m;
  for (const LockSpec& spec : {exclusive("k"), shared("k"), permits("k", 1)}) {
    HelperProcess holder(m.store, spec);
    holder.granted();
    const pid_t heir = heir_of(holder);
    holder.say("release");
    CHECK(holder.line() == "released");
    Acquisition next(*m.a, once(exclusive("k")));
    next.held();
    next.release();
    kill(heir, SIGKILL);
  }
}

TEST_CASE("the lock-delay of a holder that was killed is shown before and after somebody has come, and can be ended") {
  Machine m;
  LockSpec careful = exclusive("k");
  careful.lock_delay = std::chrono::seconds(60);
  HelperProcess holder(m.store, careful);
  holder.granted();
  holder.kill();
  const auto shown = [&] { return m.b->inspect(name("k"))->holders; };
  REQUIRE(eventually([&] { return shown().size() == 1 && shown().front().standing == Standing::kDelayAfterLease; }));
  CHECK_FALSE(shown().front().until);
  Acquisition early(*m.a, once(exclusive("k")));
  REQUIRE(early.wait_for<Refused>());
  REQUIRE(shown().size() == 1);
  CHECK(shown().front().standing == Standing::kDelayAfterLease);
  CHECK(shown().front().until);
  REQUIRE(m.b->force_release(name("k"), *m.b->inspect(name("k")), ""));
  CHECK(shown().empty());
  Acquisition next(*m.a, once(exclusive("k")));
  next.held();
  next.release();
}

TEST_CASE("a waiter whose helper process is killed goes on waiting") {
  Machine m;
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  HelperProcess waiter(m.store, exclusive("k"));
  CHECK(eventually([&] { return m.a->inspect(name("k"))->waiters.size() == 1; }));
  const std::string children =
      "/proc/" + std::to_string(waiter.pid()) + "/task/" + std::to_string(waiter.pid()) + "/children";
  const auto first_child = [&] {
    char text[32] = {};
    const UniqueFd file(open(children.c_str(), O_RDONLY | O_CLOEXEC));
    if (read(file.get(), text, sizeof text - 1) <= 0) return 0L;
    return std::atol(text);
  };
  REQUIRE(eventually([&] { return first_child() > 0; }));
  kill(static_cast<pid_t>(first_child()), SIGKILL);
  CHECK_FALSE(waiter.line(milliseconds(150)));
  holder.release();
  waiter.granted();
}

TEST_CASE(
    "somebody who is stopped with the guard in hand makes the others unavailable, not hang, and they go on after him") {
  Machine m;
  {
    Acquisition holder(*m.a, exclusive("k"));
    holder.held();
    holder.release();
  }
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(m.locks.path())) path = entry.path();
  UniqueFd stuck(open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(local::try_write_lock(stuck.get(), local::kGuard) == 0);
  Acquisition attempt(*m.b, once(exclusive("k")));
  auto refused = attempt.wait_for<Refused>();
  REQUIRE(refused);
  CHECK(refused->error.code == ErrorCode::kUnavailable);
  Acquisition bounded(*m.b, for_at_most(exclusive("k"), milliseconds(200)));
  refused = bounded.wait_for<Refused>();
  REQUIRE(refused);
  CHECK(refused->error.code == ErrorCode::kUnavailable);
  Acquisition patient(*m.b, exclusive("k"));
  CHECK(patient.stays_quiet());
  stuck.reset();
  patient.held();
  patient.release();
}

TEST_CASE("whoever reaps all children does not disturb a waiting session") {
  Machine m;
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  Acquisition waiter(*m.b, exclusive("k"));
  CHECK(waiter.stays_quiet());
  holder.release();
  // The helper ends as soon as it was granted the bytes; take its status away before the session looks.
  CHECK(eventually([] { return waitpid(-1, nullptr, WNOHANG) > 0; }));
  waiter.held();
  waiter.release();
}

TEST_CASE("a force-release is seen within a second when inotify is refused") {
  Machine m;
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  const auto shown = m.b->inspect(name("k"));
  REQUIRE(shown);
  // No descriptor is left for inotify by the time when the session makes its watch.
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  const bool quiet = holder.stays_quiet(milliseconds(400));
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(quiet);
  std::vector<pollfd> fds;
  holder.session().add_interest(fds);
  CHECK(fds.empty());
  REQUIRE(m.b->force_release(name("k"), *shown, ""));
  CHECK(holder.wait_for<Lost>(std::chrono::seconds(3)));
}

}  // namespace dlock::testing::local_test
