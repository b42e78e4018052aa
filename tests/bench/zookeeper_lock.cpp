// SPDX-License-Identifier: Apache-2.0
// What a small program of one's own would be, on libzookeeper-mt, at the server 127.0.0.1:PORT.
//
//   zookeeper_lock PORT run COMMAND [ARG...]   connects, creates a sequential node under /bench-lock, looks whether it
//   is
//                                              the lowest, runs the command, closes the session
//   zookeeper_lock PORT trips ROUNDS           prints how many µs each pair of a write (of the data of a node of its
//   own)
//                                              and a read took: what a hand-over costs the two sides of it at least
#define THREADED
#include <poll.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/wait.h>
#include <zookeeper/zookeeper.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

extern char** environ;

namespace {

sem_t connected;

void watcher(zhandle_t*, int type, int state, const char*, void*) {
  if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) sem_post(&connected);
}

int failed(const char* what, int code) {
  std::fprintf(stderr, "zookeeper_lock: %s: %s\n", what, zerror(code));
  return 1;
}

int create(zhandle_t* zk, std::string& path) {
  char name[128];
  const int code =
      zoo_create(zk, path.c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, name, sizeof name);
  if (code == ZOK) path = name;
  return code;
}

bool is_lowest(const String_vector& children, const std::string& own) {
  const char* name = own.c_str() + own.rfind('/') + 1;
  for (int i = 0; i < children.count; ++i) {
    if (std::strcmp(children.data[i], name) < 0) return false;
  }
  return true;
}

int run(char** command) {
  pid_t pid = -1;
  int status = 0;
  if (posix_spawnp(&pid, command[0], nullptr, nullptr, command, environ) != 0) return 127;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int lock_and_run(zhandle_t* zk, const std::string& path, char** command) {
  String_vector children{};
  const int code = zoo_get_children(zk, "/bench-lock", 0, &children);
  if (code != ZOK) return failed("list", code);
  return is_lowest(children, path) ? run(command) : 75;
}

double now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

int trips(zhandle_t* zk, const std::string& path, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const double before = now_us();
    int code = zoo_set(zk, path.c_str(), "x", 1, -1);
    if (code == ZOK) code = zoo_exists(zk, path.c_str(), 0, nullptr);
    if (code != ZOK) return failed("trip", code);
    std::printf("%.1f\n", now_us() - before);
  }
  return 0;
}

int usage() {
  std::fputs("usage: zookeeper_lock PORT run COMMAND [ARG...] | zookeeper_lock PORT trips ROUNDS\n", stderr);
  return 64;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return usage();
  const bool runs = std::strcmp(argv[2], "run") == 0;
  if (!runs && std::strcmp(argv[2], "trips") != 0) return usage();
  zoo_set_debug_level(static_cast<ZooLogLevel>(0));
  sem_init(&connected, 0, 0);
  zhandle_t* zk = zookeeper_init(("127.0.0.1:" + std::string(argv[1])).c_str(), watcher, 30000, nullptr, nullptr, 0);
  if (!zk) return failed("init", ZSYSTEMERROR);
  while (sem_wait(&connected) != 0) {
  }
  std::string path = "/bench-lock/lock-";
  int code = create(zk, path);
  if (code == ZNONODE) {
    zoo_create(zk, "/bench-lock", nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0);
    code = create(zk, path);
  }
  if (code != ZOK) return failed("create", code);
  const int status = runs ? lock_and_run(zk, path, argv + 3) : trips(zk, path, std::atoi(argv[3]));
  zookeeper_close(zk);
  return status;
}
