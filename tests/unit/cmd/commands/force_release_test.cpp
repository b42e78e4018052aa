// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/descriptor_io.h"
#include "tests/support/command_world.h"

namespace force_release_test {

using namespace dlock;

namespace {

struct World : CommandWorld {
  World() {
    options.keys = {lock_name("deploy/prod")};
    Participant& holder = backend.hold("deploy/prod", 1042);
    holder.host = "ci-4";
    holder.pid = 8812;
    holder.user = "deploy";
    holder.since = clock.wall() - std::chrono::seconds(41);
  }
  UniqueFd nobody{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  int run() { return force_release_command(options, backend, runtime, output, nobody.get()); }
  bool held() { return !backend.locks.at(lock_name("deploy/prod")).holders.empty(); }
};

/// A terminal at which somebody types `line`; what is said to them is in read_all().
struct Typist {
  UniqueFd master, terminal;
  explicit Typist(const std::string& line) {
    int m = -1, t = -1;
    REQUIRE(openpty(&m, &t, nullptr, nullptr, nullptr) == 0);
    master = UniqueFd(m);
    terminal = UniqueFd(t);
    termios quiet{};
    tcgetattr(t, &quiet);
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(t, TCSANOW, &quiet);
    write_all(m, line + "\n");
  }
  std::string read_all() { return drain_terminal(master, terminal); }
};

}  // namespace

TEST_CASE_FIXTURE(World, "without a terminal and without --yes nothing is freed: 64, and the holder is shown") {
  CHECK(run() == 64);
  CHECK(held());
  CHECK(said() ==
        "deploy/prod  held, exclusive  local:/var/lib/dlock\n"
        "  holder  deploy@ci-4 (pid 8812)  for 41 s  token 1042\n"
        "dlock: force-release of deploy/prod must be confirmed, and there is no terminal to ask on\n"
        "  to free the lock of this holder: dlock force-release --yes --token 1042 deploy/prod\n");
}

TEST_CASE_FIXTURE(World, "the store is told who frees it, and why") {
  options.yes = true;
  options.reason = "hangs since 2.4";
  CHECK(run() == 0);
  CHECK(backend.freed_by.find('@') != std::string::npos);
  CHECK(backend.freed_by.ends_with(": hangs since 2.4"));
}

TEST_CASE_FIXTURE(World, "a free lock is already free: 0, without asking") {
  backend.locks.clear();
  CHECK(run() == 0);
  CHECK(out == "deploy/prod is already free\n");
  out.clear();
  options.json = true;
  CHECK(run() == 0);
  CHECK(nlohmann::json::parse(out)["freed"].empty());
}

TEST_CASE_FIXTURE(World, "whoever is next in line is named, in the question and afterwards") {
  Participant next;
  next.host = "ci-5";
  next.pid = 99;
  backend.locks.at(lock_name("deploy/prod")).waiters = {next};
  Typist typist("deploy/prod");
  const Log screen(Log::Style{}, typist.terminal.get());
  const Runtime here{clock, screen};
  CHECK(force_release_command(options, backend, here, output, typist.terminal.get()) == 0);
  CHECK(typist.read_all().find("next in line: ci-5 (pid 99)\r\ntype the key to free it: ") != std::string::npos);
  CHECK(out.find("\n  next in line: ci-5 (pid 99)\n") != std::string::npos);
}

TEST_CASE_FIXTURE(World, "the holder and the question stand on a screen of 24 lines with 40 waiters") {
  backend.locks.at(lock_name("deploy/prod")).waiters.resize(40);
  Typist typist("no");
  const winsize size{24, 80, 0, 0};
  REQUIRE(ioctl(typist.terminal.get(), TIOCSWINSZ, &size) == 0);
  const Log screen(Log::Style{}, typist.terminal.get());
  const Runtime here{clock, screen};
  CHECK(force_release_command(options, backend, here, output, typist.terminal.get()) == 64);
  const std::string shown = typist.read_all();
  const std::size_t question = shown.find("type the key");
  REQUIRE(question != std::string::npos);
  CHECK(std::count(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(question), '\n') < 24);
  CHECK(shown.find("deploy@ci-4 (pid 8812)") != std::string::npos);
  CHECK(shown.find(" more\r\n") != std::string::npos);
}

TEST_CASE_FIXTURE(World, "a key that was never taken is said to be that, with the live one that was meant: 0") {
  backend.remembers = true;
  options.keys = {lock_name("deploy/prd")};
  CHECK(run() == 0);
  CHECK(out == "deploy/prd: no lock of that name was ever taken; did you mean 'deploy/prod'?\n");
}

TEST_CASE_FIXTURE(World, "a pattern frees what it matches and is held, and nothing else") {
  backend.hold("deploy/test", 7);
  backend.hold("other", 8);
  options.yes = true;
  options.keys = {lock_name("deploy/*")};
  CHECK(run() == 0);
  CHECK_FALSE(held());
  CHECK(backend.locks.at(lock_name("deploy/test")).holders.empty());
  CHECK(backend.locks.at(lock_name("other")).holders.size() == 1);
  out.clear();
  options.keys = {lock_name("x*")};
  CHECK(run() == 0);
  CHECK(out == "no held lock matches x*\n");
}

TEST_CASE_FIXTURE(World, "each lock that a pattern matches is confirmed by its own name") {
  backend.hold("deploy/test", 7);
  options.keys = {lock_name("deploy/*")};
  Typist typist("no\ndeploy/test");
  const Log screen(Log::Style{}, typist.terminal.get());
  const Runtime here{clock, screen};
  CHECK(force_release_command(options, backend, here, output, typist.terminal.get()) == 64);
  CHECK(held());
  CHECK(backend.locks.at(lock_name("deploy/test")).holders.empty());
}

TEST_CASE_FIXTURE(World, "a token and a pattern are 64") {
  options.yes = true;
  options.keys = {lock_name("deploy/*")};
  options.token = FencingToken(1042);
  CHECK(run() == 64);
  CHECK(held());
}

}  // namespace force_release_test
