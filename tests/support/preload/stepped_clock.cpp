// SPDX-License-Identifier: Apache-2.0
// A wall clock that can be stepped while a program runs: LD_PRELOAD this, and STEPPED_CLOCK=FILE holds the seconds to
// add, in decimal. The file is written in place; it is looked at on every reading. Other clocks go on as they are.
//
//   g++ -shared -fPIC -o stepped_clock.so stepped_clock.cpp
//
// No library function that allocates, and none that reads a clock: malloc itself reads one before the program begins.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

constexpr size_t kSize = 32;

long step() {
  static const char* text = nullptr;
  if (text == nullptr) {
    const char* file = getenv("STEPPED_CLOCK");
    const int fd = file == nullptr ? -1 : open(file, O_RDONLY | O_CLOEXEC);
    void* mapped = fd < 0 ? MAP_FAILED : mmap(nullptr, kSize, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) return 0;
    close(fd);
    text = static_cast<const char*>(mapped);
  }
  return strtol(text, nullptr, 10);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) {
  const long answer = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += step();
  return static_cast<int>(answer);
}

int gettimeofday(timeval* now, void* /*zone*/) {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* where) {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  if (where != nullptr) *where = exact.tv_sec;
  return exact.tv_sec;
}
}
