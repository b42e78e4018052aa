// SPDX-License-Identifier: Apache-2.0
#include "lib/history/event.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "lib/history/event_log.h"
#include "lib/history/moment.h"

namespace event_test {

using namespace dlock;
using namespace std::chrono_literals;

constexpr WallTime kThree = WallTime{} + 1770087600s;  // 2026-02-03T03:00:00Z

Event full_event(Event::Kind kind) {
  Event event;
  event.kind = kind;
  event.time = kThree + 5ms;
  event.key = "deploy/\"prod\"";
  event.store = "redis://h:6379";
  event.who.owner = "0123";
  event.who.token = FencingToken(41);
  event.who.slot = "db1";
  event.who.mode = Mode::kPermits;
  event.who.host = "ci-4";
  event.who.pid = 8811;
  event.who.command_pid = 8812;
  event.who.user = "deploy";
  event.who.command = "deploy.sh";
  event.who.reason = "release 2.4";
  event.waited = 3s;
  event.held = 41s;
  event.exit_code = 3;
  event.signal = 15;
  event.outcome = "lost";
  event.why = "the lease\nended";
  event.reentered = true;
  event.who.lease = true;
  event.until = kThree + 1h;
  Participant& holder = event.holder.emplace();
  holder.owner = "4567";
  holder.host = "ci-5";
  holder.pid = 6;
  holder.command_pid = 7;
  holder.since = kThree;
  return event;
}

TEST_CASE("every kind of event is read back as it was written") {
  for (int i = 0; i <= static_cast<int>(Event::Kind::kForceReleased); ++i) {
    const Event event = full_event(static_cast<Event::Kind>(i));
    CAPTURE(event_name(event.kind));
    const std::string line = event_line(event);
    CHECK(line.find('\n') == line.size() - 1);
    const auto read = read_event(line.substr(0, line.size() - 1));
    REQUIRE(read.event);
    CHECK_FALSE(read.torn);
    CHECK(event_line(*read.event) == line);  // nothing was left out
    CHECK(read.event->kind == event.kind);
    CHECK(read.event->holder->host == "ci-5");
    CHECK(event_text(event).find("deploy/\"prod\": ") == 0);
  }
}

TEST_CASE("an event for people spells everybody in the one spelling of a holder") {
  Event event = full_event(Event::Kind::kWaiting);
  event.key = "k";
  event.who.user = "deploy";
  event.who.host = "ci-4";
  event.who.command = "deploy.sh";
  event.holder->user = "ops";
  event.holder->command = "vi";
  CHECK(event_text(event) == "k: deploy@ci-4 (deploy.sh, pid 8812) waits, held by ops@ci-5 (vi, pid 7)");
  event.holder.reset();
  CHECK(event_text(event) == "k: deploy@ci-4 (deploy.sh, pid 8812) waits");
}

TEST_CASE("what is not known is null, and stays unknown") {
  Event event;
  event.key = "k";
  const auto read = read_event(event_line(event));
  REQUIRE(read.event);
  CHECK_FALSE(read.event->waited);
  CHECK_FALSE(read.event->exit_code);
  CHECK_FALSE(read.event->holder);
  CHECK(read.event->who.owner.empty());
}

TEST_CASE("an event is found behind the words of syslog, and behind a piece of another one") {
  Event event = full_event(Event::Kind::kGranted);
  std::string line = event_line(event);
  line.pop_back();
  const auto in_syslog = read_event("Feb  3 03:00:00 ci-4 dlock[8812]: " + line);
  REQUIRE(in_syslog.event);
  CHECK_FALSE(in_syslog.torn);
  for (const std::size_t cut : {line.size() / 2, line.size() - 1, std::size_t{30}}) {
    const auto after_a_piece = read_event(line.substr(0, cut) + line);
    REQUIRE(after_a_piece.event);
    CHECK(after_a_piece.event->who.token == FencingToken(41));
    CHECK(after_a_piece.torn);
    const auto piece = read_event(line.substr(0, cut));
    CHECK_FALSE(piece.event);
    CHECK(piece.torn);
  }
}

TEST_CASE("foreign lines, and events of a kind that is not known, are no events and not torn") {
  for (const char* line :
       {"", "hello", "{}", "[1,2]", "{\"schema\":\"dlock.report/1\",\"key\":\"k\"}", "\xff\xfe",
        "{\"schema\":\"dlock.event/1\",\"time\":\"2026-02-03T03:00:00Z\",\"event\":\"danced\",\"key\":\"k\"}",
        "{\"schema\":\"dlock.event/1\",\"time\":\"yesterday\",\"event\":\"granted\",\"key\":\"k\"}",
        "{\"schema\":\"dlock.event/1\",\"time\":7,\"event\":[],\"key\":{}}"}) {
    CAPTURE(line);
    const auto read = read_event(line);
    CHECK_FALSE(read.event);
    CHECK_FALSE(read.torn);
  }
}

TEST_CASE("numbers that are none, too large or negative do no harm") {
  const auto read = read_event(
      R"({"schema":"dlock.event/1","time":"2026-02-03T03:00:00Z","event":"released","key":"k","token":-1,"pid":"x",)"
      R"("held_ms":-5,"waited_ms":1e99,"exit_code":4.5,"holder":[]})");
  REQUIRE(read.event);
  CHECK_FALSE(read.event->held);
  CHECK_FALSE(read.event->waited);
  CHECK_FALSE(read.event->exit_code);
}

TEST_CASE("numbers and times with which nobody could calculate are left out") {
  const auto line = [](const char* time, const char* numbers) {
    return std::string(R"({"schema":"dlock.event/1","time":")") + time + R"(","event":"released","key":"k",)" +
           numbers + "}";
  };
  const auto read = read_event(line("2026-02-03T03:00:00Z",
                                    R"("held_ms":9223372036854775807,"waited_ms":9223372036854,"exit_code":4294967299,)"
                                    R"("signal":-4294967287,"until":"9999-12-31T23:59:59Z")"));
  REQUIRE(read.event);
  CHECK_FALSE(read.event->held);
  CHECK_FALSE(read.event->waited);
  CHECK_FALSE(read.event->exit_code);
  CHECK_FALSE(read.event->signal);
  CHECK_FALSE(read.event->until);
  const auto year = read_event(line("2026-02-03T03:00:00Z", R"("held_ms":31536000000,"waited_ms":3153600000000)"));
  REQUIRE(year.event);
  CHECK(year.event->held == 24h * 365);
  CHECK(year.event->waited == 24h * 365 * 100);
  CHECK_FALSE(read_event(line("0000-01-01T00:00:00Z", R"("held_ms":5)")).event);
  CHECK_FALSE(read_event(line("9999-12-31T23:59:59Z", R"("held_ms":5)")).event);
}

TEST_CASE("an entry of the journal has the event in a field, or as the message of syslog") {
  CHECK(journal_message(R"({"DLOCK_JSON":"{a}","MESSAGE":"k: granted"})") == "{a}");
  CHECK(journal_message(R"({"MESSAGE":"{b}"})") == "{b}");
  CHECK(journal_message(R"({"MESSAGE":[1,2,3]})") == "");
  CHECK_FALSE(journal_message("-- No entries --"));
}

TEST_CASE("what the journal gets has a field for what people look for, and a line for each") {
  const std::string fields = journal_datagram(full_event(Event::Kind::kLost));
  for (const char* field : {"DLOCK_KEY=deploy/\"prod\"\n", "DLOCK_EVENT=lost\n", "DLOCK_TOKEN=41\n", "PRIORITY=4\n",
                            "SYSLOG_IDENTIFIER=dlock\n", "DLOCK_HELD_MS=41000\n",
                            "MESSAGE=deploy/\"prod\": LOST by deploy@ci-4 (deploy.sh, pid 8812) "})
    CHECK_MESSAGE(fields.find(field) != std::string::npos, field);
}

TEST_CASE("places of events") {
  CHECK(parse_event_place("off")->kind == EventPlace::Kind::kOff);
  CHECK(parse_event_place("journald")->kind == EventPlace::Kind::kJournal);
  CHECK(parse_event_place("journald:/run/x")->path == "/run/x");
  CHECK(parse_event_place("./journald.log")->kind == EventPlace::Kind::kFile);
  CHECK(parse_event_place("fd:3")->fd == 3);
  CHECK(parse_event_place("./fd:3")->kind == EventPlace::Kind::kFile);
  CHECK(parse_event_place("./syslog:514")->kind == EventPlace::Kind::kFile);
  for (const char* text :
       {"", "fd:", "fd:x", "fd:-1", "journald:", "journald:deploy", "jornald", "events", "syslog", "syslog:/dev/log"}) {
    CAPTURE(text);
    const auto place = parse_event_place(text);
    REQUIRE_FALSE(place);
    CHECK(place.error().code == ErrorCode::kInvalid);
    CHECK((place.error().message + place.error().next).find("journald") != std::string::npos);
  }
  for (const char* text : {"off", "journald", "journald:/run/x", "fd:3", "/var/log/x"})
    CHECK(parse_event_place(text)->text() == text);
}

TEST_CASE("a descriptor for events is open, and for writing") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const auto fit = [](int fd) { return parse_open_event_place("fd:" + std::to_string(fd)); };
  CHECK(fit(writer.get())->fd == writer.get());
  CHECK(fit(reader.get()).error().message == "fd:" + std::to_string(reader.get()) + " is not open for writing");
  const int closed = writer.get();
  writer = UniqueFd();
  CHECK(fit(closed).error().code == ErrorCode::kInvalid);
  CHECK(parse_open_event_place("journald")->kind == EventPlace::Kind::kJournal);
}

TEST_CASE("moments: how long ago, when today in the zone of the process, or RFC 3339") {
  setenv("TZ", "CET-1", 1);
  tzset();
  CHECK(*parse_moment("1h", kThree) == kThree - 1h);
  CHECK(*parse_moment("2026-02-03T03:00:05Z", kThree) == kThree + 5s);
  CHECK(*parse_moment("2026-02-03T03:00:05+01:00", kThree) == kThree - 1h + 5s);
  CHECK(*parse_moment("03:30", kThree) == kThree - 30min);
  CHECK(*parse_moment("today", kThree) == kThree - 4h);
  CHECK(*parse_moment("yesterday", kThree) == kThree - 28h);
  CHECK(local_time(kThree) == "2026-02-03 04:00:00");
  CHECK(zone_at(kThree).name == "CET");
  unsetenv("TZ");
  tzset();
  for (const char* text :
       {"", "someday", "2026-02-03", "2026-02-03 03:00", "2026-02-03T03:00:05", "12:00Z", "12:00:00", "-1h"})
    CHECK_FALSE_MESSAGE(parse_moment(text, kThree), text);
  for (const char* never :
       {"2026-02-30T03:00:00Z", "2025-02-29T03:00:00Z", "2026-04-31T03:00:00Z", "1900-02-29T03:00:00Z"})
    CHECK_FALSE_MESSAGE(parse_moment(never, kThree), never);
  for (const char* never : {"24:00", "03:60", "2026-02-03T03:60:00Z", "2026-02-03T03:00:00+24:00"})
    CHECK_FALSE_MESSAGE(parse_moment(never, kThree), never);
  for (const char* never : {"2026-02-00T03:00:00Z", "2026-02-03T03:00:00+01:60", "2026-02-03T03:00:00."})
    CHECK_FALSE_MESSAGE(parse_moment(never, kThree), never);
}

TEST_CASE("RFC 3339 is read back as it was written") {
  CHECK(parse_rfc3339("2026-02-03T03:00:00.005Z") == kThree + 5ms);
  CHECK(parse_rfc3339("1969-12-31T23:59:59.999Z") == WallTime{} - 1ms);
  CHECK_FALSE(parse_rfc3339("2026-02-03 03:00:00Z"));
  CHECK_FALSE(parse_rfc3339("2026-02-03T03:00:00"));
  CHECK(parse_rfc3339("2024-02-29T00:00:00Z"));
  CHECK(parse_rfc3339("2016-12-31T23:59:60Z") == parse_rfc3339("2017-01-01T00:00:00Z"));  // a leap second
}

}  // namespace event_test
