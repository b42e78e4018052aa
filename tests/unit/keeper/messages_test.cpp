// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/messages.h"

#include <doctest/doctest.h>

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

namespace messages_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

LockState busy_state() {
  LockState state{*LockName::parse("deploy/prod"), "redis://h", Mode::kExclusive, 0, {}, {}};
  Participant holder;
  holder.owner = "0123456789abcdef0123456789abcdef";
  holder.host = "ci-4";
  holder.pid = 8812;
  holder.reason = "line 1\nline 2 with 100 % of = signs";
  holder.token = FencingToken(41);
  holder.since = WallTime(5s);
  holder.slot = "db2";
  holder.command = "deploy.sh";
  state.holders.push_back(holder);
  holder.lease = true;
  holder.pid = 0;
  state.holders.push_back(holder);
  state.waiters = {Participant{}, Participant{}};
  return state;
}

SessionEvent there_and_back(const SessionEvent& event) {
  const auto message = decode(encode(event_message(event)));
  REQUIRE(message);
  auto back = parse_event(*message);
  REQUIRE(back);
  return std::move(*back);
}

/// Gives each member a value that no new object has.
struct Fill {
  std::vector<std::string> names;

  template <typename T>
  void operator()(const char* name, T& value) {
    names.emplace_back(name);
    fill(value);
  }
  template <typename T>
  void rare(const char* name, T& value) {
    (*this)(name, value);
  }
  template <typename T>
  void unshown(const char* name, T& value) {
    (*this)(name, value);
  }

 private:
  std::int64_t next() { return static_cast<std::int64_t>(names.size()) + 100; }
  std::string text() { return "100 % of\n" + names.back(); }

  void fill(std::string& value) { value = text(); }
  void fill(LockName& name) { name = *LockName::parse("k " + names.back()); }
  void fill(Owner& /*random*/) {}
  void fill(FencingToken& token) { token = FencingToken(static_cast<std::uint64_t>(next())); }
  void fill(std::vector<std::string>& slots) { slots = {"db1", names.back()}; }
  void fill(Duration& duration) { duration = Duration(next()); }
  void fill(std::optional<HeldClaim>& claim) { claim = {Owner::random(), FencingToken(5), text()}; }
  void fill(std::optional<StockClaim>& claim) { claim = {*LockName::parse("order 77"), next(), true}; }
  template <typename Clock, typename Since>
  void fill(std::chrono::time_point<Clock, Since>& point) {
    point = std::chrono::time_point<Clock, Since>(Since(next()));
  }
  template <typename Number>
  requires std::integral<Number> || std::is_enum_v<Number>
  void fill(Number& number) {
    if constexpr (std::same_as<Number, bool>) number = !number;
    else if constexpr (std::is_enum_v<Number>) number = last_of(number);
    else number = static_cast<Number>(next());
  }
  template <typename T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
};

}  // namespace

TEST_CASE("Every event of a keeper arrives as it was sent") {
  const Owner owner = Owner::random();
  HeldLock lock{*LockName::parse("k v"), owner, FencingToken(7), "redis://h", true, "beware"};
  lock.slot = "host:5432/db";
  const auto granted = std::get<Granted>(there_and_back(Granted{{lock}, TimePoint(9s), 4s}));
  REQUIRE(granted.locks.size() == 1);
  CHECK(granted.locks[0].name.text() == "k v");
  CHECK(granted.locks[0].owner == owner);
  CHECK(granted.locks[0].token == FencingToken(7));
  CHECK(granted.locks[0].reentered);
  CHECK(granted.locks[0].warning == "beware");
  CHECK(granted.locks[0].slot == "host:5432/db");
  CHECK(granted.deadline == TimePoint(9s));
  CHECK(granted.lease == 4s);

  CHECK(std::get<Renewed>(there_and_back(Renewed{TimePoint(11s)})).deadline == TimePoint(11s));
  CHECK(std::get<Unreached>(there_and_back(Unreached{"refused"})).why == "refused");
  CHECK(std::holds_alternative<Reached>(there_and_back(Reached{})));
  CHECK(std::get<Unrenewed>(there_and_back(Unrenewed{"timed out"})).why == "timed out");
  CHECK(std::get<Lost>(there_and_back(Lost{"50 % gone"})).why == "50 % gone");
  CHECK(std::get<Lost>(there_and_back(Lost{"gone"})).final);
  CHECK(std::get<Lost>(there_and_back(Lost{"", false, ">ops@ci-5"})).by == ">ops@ci-5");
  CHECK_FALSE(std::get<Lost>(there_and_back(Lost{"asked for", false})).final);
  CHECK(std::holds_alternative<Withdrawn>(there_and_back(Withdrawn{})));
  CHECK(std::holds_alternative<Released>(there_and_back(Released{})));
  const auto failed =
      std::get<ReleaseUnconfirmed>(there_and_back(ReleaseUnconfirmed{{ErrorCode::kUnavailable, "cut"}}));
  CHECK(failed.error.message == "cut");

  const auto refused = std::get<Refused>(there_and_back(Refused{{ErrorCode::kBusy, "held", "wait"}, busy_state()}));
  CHECK(refused.error.code == ErrorCode::kBusy);
  REQUIRE(refused.state);
  REQUIRE(refused.state->holders.size() == 2);
  CHECK_FALSE(refused.state->holders[0].lease);
  CHECK(refused.state->holders[1].lease);
  CHECK(refused.state->holders[0].reason == "line 1\nline 2 with 100 % of = signs");
  CHECK(refused.state->holders[0].since == WallTime(5s));
  CHECK(refused.state->holders[0].slot == "db2");
  CHECK(refused.state->waiters[0].slot.empty());
  CHECK(refused.state->holders[0].command == "deploy.sh");
  CHECK(refused.state->waiters[0].command.empty());
  CHECK_FALSE(refused.state->holders[0].until);
  CHECK(refused.state->waiters.size() == 2);
}

TEST_CASE("What is wanted reaches the keeper whole, password included") {
  const auto url = BackendUrl::parse("redis://app:s3%20cret@h1:7000/2");
  REQUIRE(url);
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "why", .ancestor = {}};
  Fill all;
  visit_fields(spec, all);
  const Message sent = acquire_message(*url, spec, {.format = Log::Format::kJson, .verbose = true, .colour = true});
  for (const std::string& name : all.names) CHECK_MESSAGE(sent.find(name), name);
  const auto message = decode(encode(sent));
  REQUIRE(message);
  const auto request = parse_acquire(*message);
  REQUIRE(request);
  CHECK(request->url.password == "s3 cret");
  CHECK(request->url.redacted() == url->redacted());
  CHECK(request->style.format == Log::Format::kJson);
  CHECK_FALSE(request->style.quiet);
  CHECK(encode(acquire_message(request->url, request->spec, request->style)) == encode(sent));
  CHECK(request->spec.slots == spec.slots);
  CHECK(request->spec.ancestor->token == FencingToken(5));
  CHECK(request->spec.ancestor->secret == spec.ancestor->secret);
  CHECK(request->spec.stock->quantity == spec.stock->quantity);
  for (const std::string& name : all.names) {
    Message wrong = sent;
    wrong.fields[name] = "";
    const bool is_text = name == "reason" || name == "command" || name == "secret";
    CHECK_MESSAGE(static_cast<bool>(parse_acquire(wrong)) == is_text, name);
  }
}

TEST_CASE("Whatever is known of a holder or waiter reaches the supervisor") {
  LockState state = busy_state();
  Fill all;
  visit_fields(state.holders[0], all);
  const Message sent = event_message(Waiting{state});
  for (const std::string& name : all.names) CHECK_MESSAGE(sent.find("holder.0." + name), name);
  CHECK(encode(event_message(there_and_back(Waiting{state}))) == encode(sent));
}

TEST_CASE("A long queue is cut to what a message holds, and who is cut off is counted") {
  for (const std::size_t length : {0, 210, 512, 706, 100'000}) {
    const std::size_t many = length < 1000 ? 5000 : 200;  // or it is a gigabyte
    for (const std::size_t count : {std::size_t(1), std::size_t(63), std::size_t(64), std::size_t(65), many}) {
      CAPTURE(length);
      CAPTURE(count);
      LockState state = busy_state();
      Participant participant;
      participant.owner = "0123456789abcdef0123456789abcdef";
      participant.reason = std::string(length, '%');  // three bytes each on the way
      state.holders.assign(count, participant);
      state.waiters.assign(count, participant);
      const SessionEvent event = Refused{{ErrorCode::kBusy, std::string(length, 'x'), {}}, state};
      CHECK(encode(event_message(event)).size() <= kLargestMessage);
      const auto told = std::get<Refused>(there_and_back(event)).state;
      REQUIRE(told);
      CHECK(told->holders.size() > 0);
      CHECK(told->waiters.size() > 0);
      CHECK(told->holders.size() + told->more_holders == count);
      CHECK(told->waiters.size() + told->more_waiters == count);
      CHECK(told->waiters[0].reason.size() == std::min<std::size_t>(length, 512));
    }
  }
}

TEST_CASE("Who asked a holder to end reaches the supervisor with the longest reason") {
  LockState state = busy_state();
  state.holders[0].revoked = "deploy@ci-4: " + std::string(256, 'r');
  CHECK(std::get<Waiting>(there_and_back(Waiting{state})).state.holders[0].revoked == state.holders[0].revoked);
}

TEST_CASE("A text that is too long is cut between two characters") {
  LockState state = busy_state();
  state.holders[0].reason = std::string(511, 'x') + "\u00e4 and more";
  CHECK(std::get<Waiting>(there_and_back(Waiting{state})).state.holders[0].reason == std::string(511, 'x'));
}

TEST_CASE("What a keeper cannot have said is refused, whatever it is") {
  for (const char* packet : {"", "\n", "=x", "lost\nwhy", "lost\n=x", "lost\nwhy=%", "lost\nwhy=%4", "lost\nwhy=%zz"}) {
    CAPTURE(std::string(packet));
    CHECK_FALSE(decode(packet));
  }
  CHECK_FALSE(decode(std::string(kLargestMessage + 1, 'x')));
  for (const char* packet :
       {"hello", "lost", "renewed", "renewed\ndeadline=", "renewed\ndeadline=12x", "granted\nname=k",
        "granted\nname=", "granted\nname=k\nowner=x\ntoken=1\nstore=s", "refused\ncode=99\nmessage=m", "waiting",
        "unconfirmed\ncode=1", "waiting\nstate.name=k\nstate.store=s\nstate.mode=7", "asked",
        "waiting\nstate.name=k\nstate.store=s\nstate.mode=0\nwaiter.more=-1"}) {
    CAPTURE(std::string(packet));
    const auto message = decode(packet);
    REQUIRE(message);
    CHECK_FALSE(parse_event(*message));
  }
}

}  // namespace messages_test
