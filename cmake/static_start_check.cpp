// SPDX-License-Identifier: Apache-2.0
// Whether a program that cmake/static_start.cpp starts has all that ours need of the C library: 0 if so, or the line of
// what it lacks is printed. Called with the words "a" and "", and with START_CHECK=set in its environment.
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define EXPECT(what) \
  if (!(what)) fail(__LINE__, #what)

namespace {

[[noreturn]] void fail(int line, const char* what) {
  std::printf("static_start_check: line %d: %s\n", line, what);
  std::fflush(stdout);
  _exit(1);
}

bool constructed = false;
int tell_end = -1;  ///< where a process says what it does at its end

void tell(const char* what) {
  if (tell_end >= 0 && write(tell_end, what, 1) != 1) _exit(1);
}

struct Constructed {
  Constructed() { constructed = true; }
  ~Constructed() { tell("d"); }
} object;

[[gnu::destructor]] void finish() { tell("f"); }

thread_local int of_this_thread = 7;
const char* const relocated[] = {"a table that is relocated", "and read-only from then on"};

void words_and_environment(int count, char** words) {
  EXPECT(count == 3 && std::strcmp(words[1], "a") == 0 && words[2][0] == '\0' && !words[3]);
  EXPECT(std::getenv("START_CHECK") && std::strcmp(std::getenv("START_CHECK"), "set") == 0);
  EXPECT(std::strcmp(program_invocation_name, words[0]) == 0);
  EXPECT(constructed);
}

void what_the_kernel_says() {
  EXPECT(sysconf(_SC_PAGESIZE) == static_cast<long>(getauxval(AT_PAGESZ)));
  EXPECT(sysconf(_SC_MINSIGSTKSZ) > 0 && sysconf(_SC_NPROCESSORS_ONLN) > 0);
  timespec now{};
  EXPECT(clock_gettime(CLOCK_BOOTTIME, &now) == 0 && (now.tv_sec > 0 || now.tv_nsec > 0));
}

std::uint64_t word_of_thread(unsigned offset) {
  std::uint64_t word = 0;
  asm volatile("mov %%fs:(%1), %0" : "=r"(word) : "r"(std::uint64_t{offset}));
  return word;
}

/// Stacks and pointers are guarded by what the kernel drew, and what is relocated can no longer be written.
void guards() {
  const auto* random = reinterpret_cast<const std::uint64_t*>(getauxval(AT_RANDOM));
  EXPECT(word_of_thread(0x28) == (random[0] & ~std::uint64_t{0xff}) && word_of_thread(0x30) == random[1]);
  auto* table = const_cast<char*>(reinterpret_cast<const char*>(relocated));
  EXPECT(getrandom(table, 1, 0) == -1 && errno == EFAULT);
  std::jmp_buf here;
  volatile int jumps = 0;
  if (setjmp(here) == 0) {
    jumps = 1;
    std::longjmp(here, 1);
  }
  EXPECT(jumps == 1);
}

void exceptions_and_threads() {
  int caught = 0;
  try {
    (void)std::string("short").at(100);
  } catch (const std::exception&) {
    caught = 1;
  }
  EXPECT(caught == 1);
  of_this_thread = 1;
  int others = 0;
  std::thread([&] {
    others = of_this_thread;
    try {
      throw 5;
    } catch (int thrown) {
      others += thrown;
    }
  }).join();
  EXPECT(others == 12 && of_this_thread == 1);
}

/// The library's functions against loops that the compiler cannot take for these.
void strings(std::size_t size, std::size_t shift) {
  std::vector<char> from(size + shift + 1), to(size + shift + 1);
  auto* const begin = from.data() + shift;
  for (std::size_t at = 0; at < size; ++at) {
    begin[at] = static_cast<char>(at % 251 + 1);
    asm volatile("");
  }
  begin[size] = '\0';
  std::memcpy(to.data(), begin, size);
  for (std::size_t at = 0; at < size; ++at) {
    EXPECT(to[at] == static_cast<char>(at % 251 + 1));
    asm volatile("");
  }
  EXPECT(std::strlen(begin) == size && std::memcmp(begin, to.data(), size) == 0);
  EXPECT(std::memchr(begin, '\0', size + 1) == begin + size);
  std::memmove(begin + 1, begin, size);  // over itself
  EXPECT(std::memcmp(begin + 1, to.data(), size) == 0);
  std::memset(begin, 3, size);
  for (std::size_t at = 0; at < size; ++at) {
    EXPECT(begin[at] == 3);
    asm volatile("");
  }
}

void strings_of_all_sizes() {
  for (std::size_t size = 0; size < 600; ++size) strings(size, size % 17);
  for (std::size_t size = 1 << 10; size <= std::size_t{16} << 20; size *= 2) {
    for (const std::size_t more : {std::size_t{0}, std::size_t{1}, size / 2 + 13}) strings(size + more, more % 64);
  }
}

/// A process ends with what it asked for, then the destructors, then its last function, and the status that it says.
void ends() {
  int pipe_ends[2];
  EXPECT(pipe(pipe_ends) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    tell_end = pipe_ends[1];
    std::atexit([] { tell("a"); });
    std::exit(5);
  }
  int status = 0;
  char told[4] = {};
  EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  EXPECT(read(pipe_ends[0], told, 3) == 3 && std::strcmp(told, "adf") == 0);
}

}  // namespace

int main(int count, char** words) {
  words_and_environment(count, words);
  what_the_kernel_says();
  guards();
  exceptions_and_threads();
  strings_of_all_sizes();
  ends();
}
