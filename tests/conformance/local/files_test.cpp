// SPDX-License-Identifier: Apache-2.0
// The files of the local backend: how large, how safe, what a damaged or hostile one does.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "backends/local/backend.h"
#include "backends/local/files/byte_locks.h"
#include "tests/conformance/local/machine.h"
#include "tests/support/acquisition.h"

namespace dlock::testing::local_test {
namespace {

using std::chrono::milliseconds;

std::string only_file(const std::string& directory) { return std::filesystem::directory_iterator(directory)->path(); }

timespec accessed(const std::string& path) {
  struct stat st {};
  REQUIRE(stat(path.c_str(), &st) == 0);
  return st.st_atim;
}

/// Makes it a file that nobody has touched for a while.
void age(const std::string& path) {
  const timespec times[] = {{accessed(path).tv_sec - 3600, 1}, {0, UTIME_OMIT}};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

void free_by_force(Machine& m, const std::string& by) {
  const auto shown = m.b->inspect(name("k"));
  REQUIRE(shown);
  REQUIRE(m.b->force_release(name("k"), *shown, by));
}

/// What becomes of a hold that is given back right after `befallen`, in a file that was `aged` or not.
template <typename Befallen>
void check_lost_at_once(bool aged, Befallen befallen) {
  CAPTURE(aged);
  Machine m;
  {
    Acquisition first(*m.a, exclusive("k"));
    first.held();
    first.release();
  }
  if (aged) age(only_file(m.locks.path()));
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  befallen(m);
  holder.session().release(SystemClock().now() + std::chrono::seconds(5));
  CHECK(holder.wait_for<Lost>());
}

std::size_t file_size(const std::string& directory) {
  std::size_t largest = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_regular_file()) largest = std::max<std::size_t>(largest, entry.file_size());
  }
  return largest;
}

}  // namespace

TEST_CASE("the file of a key stays within 4 KiB when it is idle, and garbage collection cuts a busy one back") {
  Machine m;
  for (int i = 0; i < 50; ++i) {
    Acquisition holder(*m.a, exclusive("k"));
    holder.held();
    holder.release();
  }
  CHECK(file_size(m.locks.path()) <= 4096);
  {
    std::vector<std::unique_ptr<Acquisition>> readers;
    for (int i = 0; i < 40; ++i) readers.push_back(std::make_unique<Acquisition>(*m.a, shared("k")));
    for (auto& reader : readers) reader->held();
    CHECK(m.b->inspect(name("k"))->holders.size() == 40);
  }
  CHECK(file_size(m.locks.path()) > 4096);
  const auto would = m.a->collect_garbage(true);
  REQUIRE(would);
  CHECK(would->size() == 1);
  CHECK(file_size(m.locks.path()) > 4096);
  REQUIRE(m.a->collect_garbage(false));
  CHECK(file_size(m.locks.path()) < 1024);
  CHECK(m.a->collect_garbage(false)->empty());
}

TEST_CASE("tokens grow and the lock excludes when the wall clock is set back") {
  struct LateClock final : Clock {
    SystemClock system;
    Duration back{0};
    TimePoint now() const override { return system.now(); }
    WallTime wall() const override { return system.wall() - std::chrono::duration_cast<WallTime::duration>(back); }
    void wait(std::vector<pollfd>& fds, std::optional<TimePoint> until) override { system.wait(fds, until); }
  };
  TemporaryDirectory directory;
  LateClock clock;
  const Log log;
  BackendUrl url;
  url.scheme = "local";
  url.path = directory.path();
  const Runtime runtime{clock, log};
  Client client(std::move(*make_local_admin(url, runtime)), open_local_sessions(url, runtime));
  FencingToken last;
  for (const int hours : {0, 5, 5, 0, 9}) {
    clock.back = std::chrono::hours(hours);
    Acquisition holder(client, exclusive("k"));
    const FencingToken token = holder.held().token;
    CHECK(token > last);
    last = token;
    clock.back += std::chrono::hours(1);
    Acquisition early(client, once(exclusive("k")));
    CHECK(early.wait_for<Refused>());
    Acquisition next(client, exclusive("k"));
    CHECK(next.stays_quiet(milliseconds(20)));
    holder.release();
    const FencingToken later = next.held().token;
    CHECK(later > last);
    last = later;
    next.release();
  }
}

TEST_CASE("who gives a lock back at once is told that it was taken away before") {
  for (const bool aged : {false, true}) {
    check_lost_at_once(aged, [](Machine& m) { free_by_force(m, "ops@ci-4: it hangs"); });
    check_lost_at_once(aged, [](Machine& m) { std::filesystem::remove(only_file(m.locks.path())); });
  }
}

TEST_CASE("a force-release touches the file before it changes it: it may be killed behind the change") {
  Machine m;
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  const UniqueFd watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  REQUIRE(inotify_add_watch(watch.get(), only_file(m.locks.path()).c_str(), IN_MODIFY | IN_ATTRIB) >= 0);
  free_by_force(m, "");
  inotify_event seen[3] = {};
  REQUIRE(read(watch.get(), seen, sizeof seen) == sizeof seen);
  CHECK(seen[0].mask == IN_ATTRIB);
  CHECK(seen[1].mask == IN_MODIFY);
  CHECK(seen[2].mask == IN_ATTRIB);
  CHECK(holder.wait_for<Lost>());
}

TEST_CASE("taking a lock and looking at it touches its file no more than it has to: the time of access stays") {
  Machine m;
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  const std::string path = only_file(m.locks.path());
  age(path);
  const timespec before = accessed(path);
  holder.release();
  Acquisition next(*m.a, exclusive("k"));
  next.held();
  REQUIRE(m.b->inspect(name("k")));
  next.release();
  const timespec after = accessed(path);
  CHECK(after.tv_sec == before.tv_sec);
  CHECK(after.tv_nsec == before.tv_nsec);
}

}  // namespace dlock::testing::local_test
