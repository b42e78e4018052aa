// SPDX-License-Identifier: Apache-2.0
// What only the local backend promises: descriptors that keep a lock, and files shared with flock(1).
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "backends/local/backend.h"
#include "backends/local/files/byte_locks.h"
#include "tests/conformance/fixture.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"
#include "tests/support/local_store.h"

namespace dlock::testing::local_test {
namespace {

using std::chrono::milliseconds;

/// A directory for locks and one for other files, with two clients.
struct Machine {
  TemporaryDirectory locks;
  TemporaryDirectory files;
  std::unique_ptr<Client> a = local_store(locks.path());
  std::unique_ptr<Client> b = local_store(locks.path());
  std::string file(const std::string& leaf) const { return files.path() + "/" + leaf; }
};

/// flock(1) of Debian: holds `path` until it is told to end.
class ForeignFlock {
 public:
  explicit ForeignFlock(const std::string& path, const char* mode = "-x") : pid_(fork()) {
    if (pid_ == 0) {
      execlp("flock", "flock", mode, "-F", path.c_str(), "sleep", "600", static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  ForeignFlock(const ForeignFlock&) = delete;
  ForeignFlock& operator=(const ForeignFlock&) = delete;
  ~ForeignFlock() { end(); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// What `flock -n` says about a file: 0 it could be locked, 1 it is locked.
int flock_status(const std::string& path, const char* mode = "-x") {
  const pid_t pid = fork();
  if (pid == 0) {
    execlp("flock", "flock", "-n", mode, path.c_str(), "true", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

bool locked_by_foreigner(const std::string& path) {
  return eventually([&] { return flock_status(path) == 1; });
}

pid_t heir_of(HelperProcess& holder) {
  holder.say("spawn");
  const std::string said = holder.line().value_or("");
  REQUIRE(said.starts_with("heir "));
  return static_cast<pid_t>(std::atol(said.c_str() + 5));
}

std::size_t file_size(const std::string& directory) {
  std::size_t largest = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_regular_file()) largest = std::max<std::size_t>(largest, entry.file_size());
  }
  return largest;
}

}  // namespace

TEST_CASE("a command that inherited the descriptor keeps the lock after dlock was killed") {
  Machine m;
  HelperProcess holder(m.locks.path(), exclusive("k"));
  holder.granted();
  const pid_t heir = heir_of(holder);
  holder.kill();
  Acquisition next(*m.a, exclusive("k"));
  CHECK(next.stays_quiet());
  const auto state = m.b->inspect(name("k"));
  REQUIRE(state);
  REQUIRE(state->holders.size() == 1);
  CHECK(state->holders.front().note == "dlock is gone, what it started still runs");
  kill(heir, SIGKILL);
  next.held();
  next.release();
}

TEST_CASE("a release in order frees the lock, whatever still has the descriptor") {
  Machine m;
  for (const LockSpec& spec : {exclusive("k"), shared("k"), permits("k", 1)}) {
    HelperProcess holder(m.locks.path(), spec);
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

TEST_CASE("a path key excludes flock(1) and is excluded by it") {
  Machine m;
  const std::string path = m.file("app.lock");
  Acquisition holder(*m.a, exclusive(path));
  holder.held();
  CHECK(flock_status(path) == 1);
  CHECK(flock_status(path, "-s") == 1);
  holder.release();
  CHECK(flock_status(path) == 0);
  ForeignFlock foreigner(path);
  REQUIRE(locked_by_foreigner(path));
  Acquisition impatient(*m.a, once(exclusive(path)));
  const auto refused = impatient.wait_for<Refused>();
  REQUIRE(refused);
  CHECK(refused->error.code == ErrorCode::kBusy);
  REQUIRE(refused->state);
  REQUIRE(refused->state->holders.size() == 1);
  CHECK(refused->state->holders.front().pid == foreigner.pid());
  CHECK(refused->state->holders.front().note.starts_with("flock(2) by another program"));
  Acquisition waiter(*m.b, exclusive(path));
  CHECK(waiter.stays_quiet());
  foreigner.end();
  waiter.held();
  CHECK(flock_status(path) == 1);
  waiter.release();
  CHECK(std::filesystem::file_size(path) == 0);
}

TEST_CASE("readers of a path key share it with flock -s") {
  Machine m;
  const std::string path = m.file("app.lock");
  ForeignFlock foreigner(path, "-s");
  REQUIRE(locked_by_foreigner(path));
  Acquisition one(*m.a, shared(path));
  Acquisition two(*m.b, once(shared(path)));
  one.held();
  two.held();
  CHECK(flock_status(path, "-s") == 0);
  Acquisition writer(*m.a, once(exclusive(path)));
  CHECK(writer.wait_for<Refused>());
  one.release();
  two.release();
}

TEST_CASE("dlocks of one path key queue first come first served behind a foreign holder") {
  Machine m;
  const std::string path = m.file("app.lock");
  ForeignFlock foreigner(path);
  REQUIRE(locked_by_foreigner(path));
  Acquisition first(*m.a, exclusive(path));
  CHECK(first.stays_quiet());
  Acquisition second(*m.b, exclusive(path));
  CHECK(second.stays_quiet());
  const auto state = m.a->inspect(name(path));
  REQUIRE(state);
  CHECK(state->holders.size() == 1);
  CHECK(state->waiters.size() == 2);
  foreigner.end();
  const FencingToken token = first.held().token;
  CHECK(second.stays_quiet());
  first.release();
  CHECK(second.held().token > token);
  second.release();
}

TEST_CASE("a directory can be a path key, and a path key has no permits") {
  Machine m;
  Acquisition holder(*m.a, exclusive(m.files.path()));
  holder.held();
  CHECK(flock_status(m.files.path()) == 1);
  holder.release();
  const auto refused = m.a->open(permits(m.file("app.lock"), 2));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("a foreign holder of a path key is not freed by force") {
  Machine m;
  const std::string path = m.file("app.lock");
  ForeignFlock foreigner(path);
  REQUIRE(locked_by_foreigner(path));
  REQUIRE(m.a->inspect(name(path)));
  const auto shown = m.a->inspect(name(path));
  REQUIRE(shown);
  REQUIRE(shown->holders.size() == 1);
  const auto freed = m.a->force_release(name(path), *shown, "");
  REQUIRE_FALSE(freed);
  CHECK(freed.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("after a force-release of a path key the next one waits until the file itself is free") {
  Machine m;
  const std::string path = m.file("app.lock");
  HelperProcess stuck(m.locks.path(), exclusive(path));
  stuck.granted();
  stuck.signal(SIGSTOP);
  Acquisition next(*m.a, exclusive(path));
  CHECK(next.stays_quiet());
  const auto shown = m.b->inspect(name(path));
  REQUIRE(shown);
  REQUIRE(m.b->force_release(name(path), *shown, ""));
  CHECK(next.stays_quiet(milliseconds(1200)));
  stuck.kill();
  next.held();
  next.release();
}

TEST_CASE("a detached lease of a path key keeps flock(1) out, too") {
  Machine m;
  const std::string path = m.file("app.lock");
  const LockSpec spec = exclusive(path);
  HelperProcess taker(m.locks.path(), spec);
  taker.granted();
  taker.say("detach-ttl 60000");
  CHECK(taker.line() == "detached");
  taker.kill();
  CHECK(flock_status(path) == 1);
  REQUIRE(m.a->release(name(path), spec.owner));
  CHECK(flock_status(path) == 0);
}

TEST_CASE("what stays behind for a lease has its own session, no terminal, and nothing of its taker's open") {
  Machine m;
  const LockSpec spec = exclusive("k");
  HelperProcess taker(m.locks.path(), spec);
  taker.granted();
  taker.say("detach-ttl 60000");
  CHECK(taker.line() == "detached");
  CHECK_FALSE(taker.line());  // the end of its output: nobody else has it open
  const auto state = m.a->inspect(name("k"));
  REQUIRE(state);
  REQUIRE(state->holders.size() == 1);
  const auto pid = static_cast<pid_t>(state->holders.front().pid);
  CHECK(pid != taker.pid());
  CHECK(getsid(pid) == pid);
  const std::string proc = "/proc/" + std::to_string(pid);
  CHECK(std::filesystem::read_symlink(proc + "/cwd") == "/");
  for (const char* fd : {"0", "1", "2"}) CHECK(std::filesystem::read_symlink(proc + "/fd/" + fd) == "/dev/null");
  kill(pid, SIGTERM);  // it ends in order
  Acquisition next(*m.b, exclusive("k"));
  next.held();
  next.release();
}

TEST_CASE("a re-entry of a path key keeps flock(1) out until the last one ends") {
  Machine m;
  const std::string path = m.file("app.lock");
  Acquisition outer(*m.a, exclusive(path));
  const HeldLock held = outer.held();
  const UniqueFd inherited(dup(outer.session().inherited_fd()));  // as the inner process has it
  LockSpec spec = exclusive(path);
  spec.ancestor = HeldClaim{held.owner, held.token};
  Acquisition inner(*m.b, spec);
  CHECK(inner.held().reentered);
  outer.release();
  CHECK(flock_status(path) == 1);
  Acquisition stranger(*m.a, once(exclusive(path)));
  CHECK(stranger.wait_for<Refused>());
  inner.release();
}

TEST_CASE("a lock file that is removed under its holder is a lost lock, and waiters meet again on the new file") {
  Machine m;
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  CHECK(holder.stays_quiet(Duration::zero()));
  Acquisition waiter(*m.b, exclusive("k"));
  CHECK(waiter.stays_quiet());
  for (const auto& entry : std::filesystem::directory_iterator(m.locks.path())) std::filesystem::remove(entry.path());
  CHECK(holder.wait_for<Lost>());
  waiter.held();
  Acquisition other(*m.a, once(exclusive("k")));
  CHECK(other.wait_for<Refused>());
  waiter.release();
}

TEST_CASE("a waiter whose helper process is killed goes on waiting") {
  Machine m;
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  HelperProcess waiter(m.locks.path(), exclusive("k"));
  CHECK(eventually([&] { return m.a->inspect(name("k"))->waiters.size() == 1; }));
  const std::string children =
      "/proc/" + std::to_string(waiter.pid()) + "/task/" + std::to_string(waiter.pid()) + "/children";
  const auto first_child = [&] {
    char text[32] = {};
    const UniqueFd file(open(children.c_str(), O_RDONLY | O_CLOEXEC));
    if (read(file.get(), text, sizeof text - 1) <= 0) return 0L;
    return std::atol(text);
  };
  CHECK(eventually([&] { return first_child() > 0; }));
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

TEST_CASE("a damaged lock file is an error that names it, never a crash and never a lock") {
  Machine m;
  {
    Acquisition holder(*m.a, exclusive("k"));
    holder.held();
    holder.release();
  }
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(m.locks.path())) path = entry.path();
  // A flipped byte anywhere in prologue and header, a file cut anywhere in them.
  for (int at = 0; at < 384; at += 7) {
    const UniqueFd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    unsigned char byte = 0;
    REQUIRE(pread(file.get(), &byte, 1, at) == 1);
    byte ^= 0x55;
    REQUIRE(pwrite(file.get(), &byte, 1, at) == 1);
    const auto client = local_store(m.locks.path());
    Acquisition attempt(*client, once(exclusive("k")));
    const auto refused = attempt.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kMisconfigured);
    CHECK(refused->error.message.find(path) != std::string::npos);
    CHECK_FALSE(m.a->inspect(name("k")));
    byte ^= 0x55;
    REQUIRE(pwrite(file.get(), &byte, 1, at) == 1);
  }
  CHECK(truncate(path.c_str(), 100) == 0);
  Acquisition attempt(*m.a, once(exclusive("k")));
  CHECK(attempt.wait_for<Refused>());
  // Nothing but zeros is what a power loss leaves of a new file: it starts anew.
  CHECK(truncate(path.c_str(), 0) == 0);
  Acquisition fresh(*m.a, once(exclusive("k")));
  fresh.held();
  fresh.release();
}

TEST_CASE("a file that lost its content beside living holders still excludes") {
  Machine m;
  Acquisition holder(*m.a, exclusive("k"));
  const FencingToken token = holder.held().token;
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(m.locks.path())) path = entry.path();
  REQUIRE(truncate(path.c_str(), 0) == 0);
  Acquisition impatient(*m.b, once(exclusive("k")));
  CHECK(impatient.wait_for<Refused>());
  Acquisition next(*m.b, exclusive("k"));
  CHECK(next.stays_quiet());
  holder.release();
  CHECK(next.held().token > token);
  next.release();
}

TEST_CASE("files that dlock did not make are refused: links, other kinds, and directories that others may write") {
  Machine m;
  {
    Acquisition holder(*m.a, exclusive("k"));
    holder.held();
    holder.release();
  }
  std::filesystem::path path;
  for (const auto& entry : std::filesystem::directory_iterator(m.locks.path())) path = entry.path();
  const auto refusal = [&] {
    const auto client = local_store(m.locks.path());  // one that has nothing open
    Acquisition attempt(*client, once(exclusive("k")));
    const auto refused = attempt.wait_for<Refused>();
    return refused ? refused->error.code : ErrorCode::kInternal;
  };
  const std::string other = m.file("other");
  std::filesystem::create_hard_link(path, other);
  CHECK(refusal() == ErrorCode::kMisconfigured);
  std::filesystem::remove(path);
  std::filesystem::create_symlink(other, path);
  CHECK(refusal() == ErrorCode::kMisconfigured);
  std::filesystem::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(refusal() == ErrorCode::kMisconfigured);
  std::filesystem::remove(path);
  for (const mode_t mode : {0777u, 01777u, 0770u}) {
    REQUIRE(chmod(m.locks.path().c_str(), mode) == 0);
    const auto client = local_store(m.locks.path());
    const auto state = client->inspect(name("k"));
    REQUIRE_FALSE(state);
    CHECK(state.error().code == ErrorCode::kMisconfigured);
    CHECK(client->diagnose().front().verdict == Finding::Verdict::kFail);
  }
  REQUIRE(chmod(m.locks.path().c_str(), 0700) == 0);
  std::filesystem::create_directory_symlink(m.locks.path(), m.file("link"));
  CHECK_FALSE(local_store(m.file("link"))->inspect(name("k")));
}

TEST_CASE("in a directory that a group shares, files are made for the group despite the umask") {
  Machine m;
  REQUIRE(chmod(m.locks.path().c_str(), 02770) == 0);
  const mode_t before = umask(077);
  Acquisition holder(*m.a, exclusive("k"));
  holder.held();
  umask(before);
  for (const auto& entry : std::filesystem::directory_iterator(m.locks.path())) {
    struct stat st {};
    REQUIRE(stat(entry.path().c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0660);
  }
  holder.release();
}

TEST_CASE("a missing directory is made for nobody else, but a missing parent is a mistake") {
  TemporaryDirectory parent;
  const auto client = local_store(parent.path() + "/dlock");
  Acquisition holder(*client, exclusive("k"));
  holder.held();
  struct stat st {};
  REQUIRE(stat((parent.path() + "/dlock").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0700);
  holder.release();
  const auto mistyped = local_store(parent.path() + "/a/dlock");
  Acquisition never(*mistyped, exclusive("k"));
  const auto refused = never.wait_for<Refused>();
  REQUIRE(refused);
  CHECK(refused->error.code == ErrorCode::kMisconfigured);
  CHECK(stat((parent.path() + "/a").c_str(), &st) != 0);
}

}  // namespace dlock::testing::local_test
