// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/standing_leases.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/local/files/process.h"
#include "lib/base/process.h"
#include "tests/support/fake_clock.h"

namespace dlock::local::standing_leases_test {
namespace {

using namespace std::chrono_literals;
using dlock::testing::FakeClock;

constexpr BootId kBoot{1};
constexpr BootId kNextBoot{2};

std::int64_t boot_ns(TimePoint point) { return point.time_since_epoch().count(); }

Record some_lease(Ticket ticket, Mode mode = Mode::kExclusive) {
  Record record;
  record.ticket = ticket;
  record.set_owner(Owner::random());
  record.mode = static_cast<std::uint32_t>(mode);
  record.flags = Record::kGranted | Record::kLease;
  return record;
}

struct SteppedClock final : Clock {
  TimePoint now() const override { return boot; }
  WallTime wall() const override { return shown; }
  void wait(std::vector<pollfd>& /*fds*/, std::optional<TimePoint> /*until*/) override {}
  TimePoint boot{1000h};
  WallTime shown{1000h};
};

/// A file in memory with these records, under a header that speaks of their leases.
struct File {
  explicit File(const std::vector<Record>& records) : file(*LockFile::private_one("k")) {
    header.counter = 100;
    for (const Record& record : records) announce_lease(header, record.ticket, this_boot());
    REQUIRE(file.write(header));
    header = *file.read_header();
    for (std::uint32_t i = 0; i < records.size(); ++i) REQUIRE(file.write_record(i, records[i]));
  }
  std::vector<Ticket> standing(TimePoint now) const {
    std::vector<Ticket> tickets;
    for (const auto& one : standing_leases(file, header, now)) tickets.push_back(one.record.ticket);
    return tickets;
  }

  LockFile file;
  Header header;
};

}  // namespace

TEST_CASE("a lease lasts until its deadline on the boot clock, whatever becomes of the wall clock") {
  SteppedClock clock;
  Record lease = some_lease(7);
  set_end(lease, 10s, clock);
  CHECK(lasts(lease, boot_ns(clock.now())));
  clock.shown += 1000h;
  CHECK(lasts(lease, boot_ns(clock.now())));
  clock.shown -= 2000h;
  CHECK(lasts(lease, boot_ns(clock.now())));
  CHECK(lasts(lease, boot_ns(clock.now() + 10s - 1ns)));
  CHECK_FALSE(lasts(lease, boot_ns(clock.now() + 10s)));
  CHECK(lease.has_ended(boot_ns(clock.now() + 10s)));
}

TEST_CASE("only what was granted and not given back is a lease, and --at-least is one from its grant on") {
  FakeClock clock;
  const auto stands = [&](std::uint32_t flags) {
    Record record = some_lease(7);
    set_end(record, 10s, clock);
    record.flags = flags;
    return lasts(record, boot_ns(clock.now()));
  };
  CHECK(stands(Record::kGranted | Record::kLease));
  CHECK(stands(Record::kGranted | Record::kAtLeast));
  CHECK_FALSE(stands(Record::kGranted));
  CHECK_FALSE(stands(Record::kLease));
  CHECK_FALSE(stands(Record::kGranted | Record::kLease | Record::kGivenBack));
  CHECK_FALSE(stands(Record::kGranted | Record::kAtLeast | Record::kGivenBack));
}

TEST_CASE("a lease of a process lasts as long as exactly that one") {
  const pid_t watched = fork();
  if (watched == 0) {
    for (;;) pause();
  }
  Record lease = some_lease(7);
  lease.watch_pid = watched;
  lease.pid_namespace = pid_namespace();
  lease.drawn_boot_ns = started_ns(look_up_process(watched)->id);
  CHECK(lasts(lease, 0));
  Record earlier_one = lease;
  earlier_one.drawn_boot_ns -= 1'000'000'000;
  CHECK_FALSE(lasts(earlier_one, 0));
  kill(watched, SIGKILL);
  waitpid(watched, nullptr, 0);
  CHECK_FALSE(lasts(lease, 0));
  lease.pid_namespace += 1;  // whose pids are not ours
  CHECK(lasts(lease, 0));
}

TEST_CASE("the leases of a file are those that last, oldest first, above what was revoked") {
  FakeClock clock;
  std::vector<Record> records{some_lease(9, Mode::kShared), some_lease(5, Mode::kShared), some_lease(7, Mode::kShared)};
  set_end(records[0], 30s, clock);
  set_end(records[1], 20s, clock);
  set_end(records[2], 10s, clock);
  File file(records);
  CHECK(file.header.oldest_lease == 5);
  CHECK(file.standing(clock.now()) == std::vector<Ticket>{5, 7, 9});
  CHECK(first_end(standing_leases(file.file, file.header, clock.now())) == clock.now() + 10s);
  CHECK(file.standing(clock.now() + 10s) == std::vector<Ticket>{5, 9});
  CHECK(file.standing(clock.now() + 30s).empty());
  file.header.revoked = 5;
  CHECK(file.standing(clock.now()) == std::vector<Ticket>{7, 9});
  file.header.oldest_lease = 0;
  CHECK(file.standing(clock.now()).empty());
}

TEST_CASE("a reboot ends every lease and lock-delay; what comes later is not mixed up with them") {
  Header header;
  header.counter = 100;
  announce_lease(header, 50, kBoot);
  begin_delay(header, FakeClock::start() + 1h, kBoot);
  forget_earlier_boot(header, kBoot);
  CHECK(header.oldest_lease == 50);
  CHECK(header.delay_until_ns != 0);
  announce_lease(header, 60, kBoot);
  announce_lease(header, 40, kBoot);
  CHECK(header.oldest_lease == 40);
  announce_lease(header, 70, kNextBoot);
  CHECK(header.oldest_lease == 70);
  CHECK(header.delay_until_ns == 0);
  CHECK(header.boot == kNextBoot);
  forget_earlier_boot(header, BootId{});  // without /proc nothing is known of a reboot
  CHECK(header.oldest_lease == 70);
  forget_earlier_boot(header, kBoot);
  CHECK(header.oldest_lease == 0);
}

TEST_CASE("leases stand in line by their tickets; a run inside counts besides") {
  const std::vector<LockFile::Placed> leases{{0, some_lease(5)}, {1, some_lease(8, Mode::kShared)}};
  const auto all = with_leases({{Side::kReaders, 6, 1}, {Side::kReaders, 8, 1}}, leases);
  REQUIRE(all.size() == 3);
  CHECK(all[0] == LiveTicket{Side::kWriters, 5, 1});
  CHECK(all[1] == LiveTicket{Side::kReaders, 6, 1});
  CHECK(all[2] == LiveTicket{Side::kReaders, 8, 2});
}

TEST_CASE("the record of a lease is nobody else's place") {
  FakeClock clock;
  std::vector<Record> records{some_lease(5), some_lease(7)};
  for (Record& record : records) set_end(record, 10s, clock);
  File file(records);
  const auto leases = standing_leases(file.file, file.header, clock.now());
  CHECK(file.file.claim_record(file.header, leases) == 2U);
  file.header.next_record = 0;
  CHECK(file.file.claim_record(file.header, {}) == 0U);
}

}  // namespace dlock::local::standing_leases_test
