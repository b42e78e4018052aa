// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "cmd/commands/commands.h"
#include "tests/support/command_world.h"

namespace commands_test {

using namespace dlock;
using nlohmann::json;

namespace {

const Error kUnreachable{ErrorCode::kUnavailable, "cannot reach it", "is it up?"};

struct World : CommandWorld {
  World() { options.keys = {lock_name("k")}; }
  using Run = int(const Options&, LockAdmin&, const Runtime&, Output&);
  int run(Run command) { return command(options, backend, runtime, output); }
};

}  // namespace

TEST_CASE_FIXTURE(World,
                  "inspect takes patterns, in which * matches slashes, and a lock of exactly that name is among them") {
  backend.hold("deploy/eu/a", 1);
  backend.hold("deploy[1]", 2);
  backend.hold("other", 3);
  options.keys = {lock_name("deploy/*"), lock_name("deploy[1]")};
  CHECK(run(inspect_command) == 0);
  CHECK(out.find("deploy/eu/a  held") != std::string::npos);
  CHECK(out.find("deploy[1]  held") != std::string::npos);
  CHECK(out.find("other") == std::string::npos);
  out.clear();
  options.keys = {lock_name("x?")};
  CHECK(run(inspect_command) == 0);
  CHECK(out == "no lock held or waited for in local:/var/lib/dlock matches x?\n");
}

TEST_CASE_FIXTURE(
    World, "a key that was never taken is said to be that, with the live name that is near, in inspect and check") {
  backend.remembers = true;
  backend.hold("deploy", 1);
  options.keys = {lock_name("deploi")};
  CHECK(run(inspect_command) == 0);
  CHECK(out ==
        "deploi  free  local:/var/lib/dlock\n"
        "  no lock of that name was ever taken; did you mean 'deploy'?\n");
  out.clear();
  options.json = true;
  CHECK(run(inspect_command) == 0);
  CHECK(json::parse(out)["ever_taken"] == false);
  options.token = FencingToken(1);
  options.json = false;
  CHECK(run(check_command) == 79);
  CHECK(said() == "dlock: deploi: no lock of that name was ever taken; did you mean 'deploy'?\n");
}

TEST_CASE_FIXTURE(World, "a store that forgets says of a free key what it can") {
  backend.hold("deploy", 1);
  options.keys = {lock_name("deploi")};
  CHECK(run(inspect_command) == 0);
  CHECK(out == "deploi  free  local:/var/lib/dlock\n  no lock of that name is held; did you mean 'deploy'?\n");
  out.clear();
  options.keys = {lock_name("nothing/like/it")};
  CHECK(run(inspect_command) == 0);
  CHECK(out == "nothing/like/it  free  local:/var/lib/dlock\n");
  out.clear();
  backend.remembers = backend.forgets = true;
  CHECK(run(inspect_command) == 0);
  CHECK(out ==
        "nothing/like/it  free  local:/var/lib/dlock\n"
        "  no lock of that name was ever taken, as far as local:/var/lib/dlock remembers\n");
}

TEST_CASE_FIXTURE(World, "what cannot be read is not free: the others are shown, their number is said, 77") {
  options.keys.clear();
  backend.unreadable.resize(3, {"secret", {ErrorCode::kDenied, "no right to read it"}});
  CHECK(run(inspect_command) == 77);
  CHECK(out.empty());
  CHECK(said().starts_with("dlock: 3 locks in local:/var/lib/dlock cannot be read: secret, secret, secret (no right"));
  backend.hold("k", 1);
  CHECK(run(inspect_command) == 77);
  CHECK(out.starts_with("k  held"));
}

TEST_CASE_FIXTURE(World, "inspect is 69 when the store does not answer, and prints nothing") {
  backend.fails = kUnreachable;
  CHECK(run(inspect_command) == 69);
  CHECK(out.empty());
  CHECK(said() == "dlock: cannot reach it\n  is it up?\n");
}

TEST_CASE_FIXTURE(World, "the stream of --watch tells a lock again only when it changed, and its end as free") {
  options.keys.clear();
  options.json = options.watch = true;
  backend.hold("k", 5);
  backend.fails = kUnreachable;
  backend.looks_until_it_fails = 5;
  backend.looks_until_all_free = 2;
  CHECK(run(inspect_command) == 69);
  REQUIRE(std::count(out.begin(), out.end(), '\n') == 2);
  const auto end = out.find('\n');
  CHECK(json::parse(out.substr(0, end))["holders"].size() == 1);
  CHECK(json::parse(out.substr(end))["holders"].empty());
}

TEST_CASE_FIXTURE(World, "fence gives the status of -E while another check of that resource is going on") {
  options.token = FencingToken(7);
  options.conflict_exit_code = 0;
  backend.fails = Error{ErrorCode::kBusy, "another check is going on"};
  CHECK(run(fence_command) == 0);
  CHECK(said() == "dlock: another check is going on\n");
}

TEST_CASE_FIXTURE(World, "renew and release are 79 for anybody else; --if-held makes that 0 for release only") {
  backend.hold("k", 7).owner = Owner::random().text();
  options.owner = Owner::random();
  CHECK(run(renew_command) == 79);
  CHECK(run(release_command) == 79);
  options.if_held = options.json = true;
  CHECK(run(release_command) == 0);
  CHECK(json::parse(out)["released"] == false);
  CHECK(run(renew_command) == 79);
  backend.fails = kUnreachable;
  CHECK(run(release_command) == 69);
}

TEST_CASE_FIXTURE(World, "doctor is 0 with warnings, and prints the remedy below what it found") {
  backend.findings = {{Finding::Verdict::kWarn, "the directory is on a small disk", "move it"}};
  CHECK(run(doctor_command) == 0);
  CHECK(out ==
        "configuration\n"
        "  ok    no configuration file was found\n"
        "local:/var/lib/dlock\n"
        "  warn  the directory is on a small disk\n"
        "        move it\n"
        "  ok    one lock and unlock takes 0.02 ms, with leases of 30 s\n");
}

TEST_CASE_FIXTURE(World, "doctor ends by the worst failure: unreachable, then refused, then not fit") {
  using enum Finding::Verdict;
  const Finding unfit{kFail, "a", "b", ErrorCode::kMisconfigured}, refused{kFail, "a", "b", ErrorCode::kDenied},
      gone{kFail, "a", "b", ErrorCode::kUnavailable}, fine{};
  CHECK(worst_status({fine}) == 0);
  CHECK(worst_status({fine, unfit}) == 78);
  CHECK(worst_status({{kFail, "a", "b", ErrorCode::kSystem}}) == 78);
  CHECK(worst_status({unfit, refused}) == 77);
  CHECK(worst_status({refused, gone, unfit}) == 69);
  backend.findings = {unfit};
  options.json = true;
  CHECK(run(doctor_command) == 78);
  CHECK(json::parse(out)["healthy"] == false);
}

TEST_CASE_FIXTURE(World, "doctor tells settings with their origin and never a password") {
  options.config.add({"backend.main", "url", {"redis://u:secret@h1/0"}, {Origin::Layer::kFile, "/etc/x.toml:3"}});
  options.config.add({"defaults", "ttl", {"10s"}, {Origin::Layer::kEnvironment, "DLOCK_TTL"}});
  CHECK(doctor_without_backend(options, kUnreachable, runtime, output) == 69);
  CHECK(out.find("secret") == std::string::npos);
  CHECK(out.find("[backend.main] url = redis://u:***@h1/0  (/etc/x.toml:3)") != std::string::npos);
  CHECK(out.find("[defaults] ttl = 10s  ($DLOCK_TTL)") != std::string::npos);
}

}  // namespace commands_test
