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

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/support/acquisition.h"
#include "tests/support/stores.h"

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
  std::atomic<int> inside[kWorkers] = {};  ///< who is between a grant and its release, or was killed there; by number
  std::atomic<int> killed{0};              ///< the last one that SIGKILL was sent to
  std::atomic<std::uint64_t> kills{0};

  bool is_killed_inside() const {
    return std::any_of(std::begin(inside), std::end(inside),
                       [&](const auto& pid) { return pid != 0 && pid == killed; });
  }
};

/// flock(2) as an independent witness: freed by the kernel with its process, like the lock under test, but not in the
/// same instant; so a witness that a killed process has not let go of yet proves nothing.
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
        inside_(board.inside[number]),
        backend_(connect_store("local:" + locks)),
        writer_(witnesses + "/writer"),
        permits_{Witness(witnesses + "/p0"), Witness(witnesses + "/p1")},
        random_(std::random_device()()) {}

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

  /// Says that we are inside, and has `try_enter` succeed at once unless somebody else is, or is being killed there.
  template <typename TryEnter, typename Wait>
  void enter(TryEnter try_enter, Wait wait) {
    const std::uint64_t kills = board_.kills;
    inside_ = getpid();
    if (try_enter()) return;
    if (!board_.is_killed_inside() && board_.kills == kills) board_.overlaps++;
    wait();
  }
  void enter_as_witness(int operation) {
    enter([&] { return writer_.try_enter(operation); }, [&] { writer_.wait(operation); });
  }
  void leave(const Witness& witness) {
    witness.leave();
    inside_ = 0;
  }

  void hold_exclusively() {
    Acquisition lock(*backend_, exclusive("key"));
    const FencingToken token = lock.held().token;
    enter_as_witness(LOCK_EX);
    if (token.value() <= board_.last_token.exchange(token.value())) board_.steps_back++;
    board_.grants++;
    linger();
    leave(writer_);
    lock.release();
  }

  void hold_shared() {
    Acquisition lock(*backend_, shared("key"));
    lock.held();
    enter_as_witness(LOCK_SH);
    board_.grants++;
    linger();
    leave(writer_);
    lock.release();
  }

  void hold_permit() {
    Acquisition lock(*backend_, permits("permits", kPermits));
    lock.held();
    const Witness* mine = nullptr;
    const auto enter_one = [&] {
      for (const Witness& witness : permits_) {
        if (!mine && witness.try_enter(LOCK_EX)) mine = &witness;
      }
      return mine != nullptr;
    };
    enter(enter_one, [&] {
      while (!enter_one()) usleep(100);
    });
    board_.grants++;
    linger();
    leave(*mine);
    lock.release();
  }

  Board& board_;
  std::atomic<int>& inside_;
  std::unique_ptr<Client> backend_;
  Witness writer_;
  Witness permits_[kPermits];
  std::mt19937 random_;
};

class Controller {
 public:
  Controller(Board& board, int kills, int seconds)
      : board_(board), kills_(kills), most_(scaled(std::chrono::seconds(seconds))) {}

  int run() {
    const TimePoint start = clock_.now();
    for (int i = 0; i < kWorkers; ++i) workers_.push_back(spawn(i));
    std::mt19937 random(4711);
    int killed = 0;
    std::uint64_t seen = 0;
    TimePoint progress = start;
    bool stuck = false;
    while (killed < kills_ && clock_.now() - start < most_ && !stuck) {
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
    board_.killed = worker;
    board_.kills++;
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
  }

  void kill_one(int number) {
    end(workers_[number]);
    workers_[number] = spawn(number);
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
  const Duration most_;
  SystemClock clock_;
  TemporaryDirectory locks_;
  TemporaryDirectory witnesses_;
  std::unique_ptr<Client> backend_ = connect_store("local:" + locks_.path());
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
