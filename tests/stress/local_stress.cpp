// SPDX-License-Identifier: Apache-2.0
// Many processes take, hold and wait for two keys of the local backend, and are killed in the middle of it. Tokens must
// only grow, nobody may overlap, and nothing may be left behind. Prints one summary line; the exit status says it, too.
//
//   local_stress [KILLS [SECONDS]]
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/support/acquisition.h"
#include "tests/support/local_store.h"

namespace dlock::testing {
namespace {

constexpr int kWorkers = 12;
constexpr int kPermits = 2;

/// What all processes see. Only statistics and witnesses: the locks under test must work without it.
struct Board {
  std::atomic<std::uint64_t> last_token{0};
  std::atomic<std::uint64_t> grants{0};
  std::atomic<std::uint64_t> overlaps{0};
  std::atomic<std::uint64_t> steps_back{0};
  std::atomic<std::uint64_t> failures{0};
  std::atomic<int> writer{0};               ///< pid of the last one inside
  std::atomic<int> readers[kWorkers] = {};  ///< pids of those inside, by worker number
  std::atomic<int> doomed_pids[1 << 16];

  /// A SIGKILL is on its way to this process.
  std::atomic<int>& doomed(pid_t pid) { return doomed_pids[pid & 0xffff]; }
};

/// flock(2) as an independent witness: freed by the kernel with its process, like the lock under test, but not in the
/// same instant; so a witness that a doomed process has not let go of yet proves nothing.
class Witness {
 public:
  explicit Witness(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}
  bool try_enter(int operation) const { return flock(fd_.get(), operation | LOCK_NB) == 0; }
  void wait(int operation) const { flock(fd_.get(), operation); }
  void leave() const { flock(fd_.get(), LOCK_UN); }

 private:
  UniqueFd fd_;
};

class Worker {
 public:
  Worker(Board& board, int number, const std::string& locks, const std::string& witnesses)
      : board_(board),
        reader_(board.readers[number]),
        backend_(local_store(locks)),
        writer_(witnesses + "/writer"),
        permits_{Witness(witnesses + "/p0"), Witness(witnesses + "/p1")},
        random_(std::random_device()()) {
    reader_ = 0;
  }

  [[noreturn]] void run() {
    for (;;) {
      const auto dice = random_() % 10;
      if (dice < 7) hold_exclusively();
      else if (dice < 8) hold_shared();
      else hold_permit();
    }
  }

 private:
  void linger() { usleep(static_cast<useconds_t>(random_() % 300)); }

  void enter_as_witness(int operation) {
    if (writer_.try_enter(operation)) return;
    bool excused = board_.doomed(board_.writer) != 0;
    for (const auto& reader : board_.readers) excused = excused || (reader != 0 && board_.doomed(reader) != 0);
    if (!excused) board_.overlaps++;
    writer_.wait(operation);
  }

  void hold_exclusively() {
    Acquisition lock(*backend_, exclusive("key"));
    const FencingToken token = lock.held().token;
    enter_as_witness(LOCK_EX);
    board_.writer = getpid();
    if (token.value() <= board_.last_token.exchange(token.value())) board_.steps_back++;
    board_.grants++;
    linger();
    writer_.leave();
    lock.release();
  }

  void hold_shared() {
    Acquisition lock(*backend_, shared("key"));
    lock.held();
    reader_ = getpid();
    enter_as_witness(LOCK_SH);
    board_.grants++;
    linger();
    writer_.leave();
    reader_ = 0;
    lock.release();
  }

  void hold_permit() {
    Acquisition lock(*backend_, permits("permits", kPermits));
    lock.held();
    const Witness* mine = nullptr;
    // A killed holder's witness outlives its permit by a moment; a real overlap lasts.
    for (int tried = 0; tried < 1000 && !mine; ++tried) {
      for (const Witness& witness : permits_) {
        if (!mine && witness.try_enter(LOCK_EX)) mine = &witness;
      }
      if (!mine) usleep(100);
    }
    if (!mine) board_.overlaps++;
    board_.grants++;
    linger();
    if (mine) mine->leave();
    lock.release();
  }

  Board& board_;
  std::atomic<int>& reader_;
  std::unique_ptr<Client> backend_;
  Witness writer_;
  Witness permits_[kPermits];
  std::mt19937 random_;
};

class Controller {
 public:
  Controller(Board& board, int kills, int seconds) : board_(board), kills_(kills), seconds_(seconds) {}

  int run() {
    const TimePoint start = clock_.now();
    for (int i = 0; i < kWorkers; ++i) workers_.push_back(spawn(i));
    std::mt19937 random(4711);
    int killed = 0;
    std::uint64_t seen = 0;
    TimePoint progress = start;
    bool stuck = false;
    while (killed < kills_ && clock_.now() - start < std::chrono::seconds(seconds_) && !stuck) {
      usleep(static_cast<useconds_t>(random() % 12000));
      kill_one(static_cast<int>(random() % kWorkers));
      ++killed;
      if (killed % 50 == 0) look_and_sweep();
      if (board_.grants != seen) {
        seen = board_.grants;
        progress = clock_.now();
      }
      stuck = clock_.now() - progress > std::chrono::seconds(5);
    }
    for (const pid_t worker : workers_) end(worker);
    const bool alone = eventually([&] { return kill(-group_, 0) != 0 && errno == ESRCH; }, std::chrono::seconds(3));
    const bool free = is_free();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - start).count();
    std::printf(
        "local_stress: %d killed, %llu grants, %llu overlaps, %llu tokens not higher, %llu failures, %s, %s%s; "
        "%lld.%lld s\n",
        killed, count(board_.grants), count(board_.overlaps), count(board_.steps_back), count(board_.failures),
        alone ? "no process left" : "PROCESSES LEFT", free ? "locks free" : "LOCKS NOT FREE", stuck ? ", STUCK" : "",
        static_cast<long long>(ms / 1000), static_cast<long long>(ms % 1000 / 100));
    const bool good = killed >= kills_ && board_.overlaps == 0 && board_.steps_back == 0 && board_.failures == 0 &&
                      alone && free && !stuck && board_.grants > 0;
    return good ? 0 : 1;
  }

 private:
  static unsigned long long count(const std::atomic<std::uint64_t>& value) { return value.load(); }

  pid_t spawn(int number) {
    const pid_t pid = fork();
    if (pid == 0) {
      setpgid(0, group_);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      try {
        Worker(board_, number, locks_.path(), witnesses_.path()).run();
      } catch (const std::exception& failure) {
        std::fprintf(stderr, "worker: %s\n", failure.what());
        board_.failures++;
      }
      _exit(1);
    }
    if (group_ == 0) group_ = pid;
    setpgid(pid, group_);
    return pid;
  }

  void end(pid_t worker) {
    board_.doomed(worker) = 1;
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
  }

  void kill_one(int number) {
    end(workers_[number]);
    workers_[number] = spawn(number);
    board_.doomed(workers_[number]) = 0;  // a reused pid
  }

  void look_and_sweep() {
    const auto states = backend_->inspect_all();
    const auto swept = backend_->collect_garbage(false);
    if (states && swept) return;
    std::fprintf(stderr, "controller: %s\n", (states ? swept.error() : states.error()).message.c_str());
    board_.failures++;
  }

  bool is_free() {
    for (const LockSpec& spec : {exclusive("key"), exclusive("permits")}) {
      Acquisition last(*backend_, for_at_most(spec, std::chrono::seconds(2)));
      const auto granted = last.wait_for<Granted>();
      if (!granted) return false;
      const bool key = spec.name.text() == "key";
      if (key && granted->locks.front().token.value() <= board_.last_token) board_.steps_back++;
    }
    return true;
  }

  Board& board_;
  const int kills_;
  const int seconds_;
  SystemClock clock_;
  TemporaryDirectory locks_;
  TemporaryDirectory witnesses_;
  std::unique_ptr<Client> backend_ = local_store(locks_.path());
  std::vector<pid_t> workers_;
  pid_t group_ = 0;
};

}  // namespace
}  // namespace dlock::testing

int main(int argc, char** argv) {
  using namespace dlock::testing;
  void* shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 71;
  Board& board = *new (shared) Board;
  const int kills = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 60;
  return Controller(board, kills, seconds).run();
}
