// SPDX-License-Identifier: Apache-2.0
// What somebody writes who has libpq and wants a lock: the other side in scripts/bench. The server is at 127.0.0.1, the
// user is "app" without a password, the database "locks".
//
//   postgres_advisory_lock PORT run COMMAND...       connects, takes the advisory lock 1, runs COMMAND, frees the lock
//   postgres_advisory_lock PORT round-trips ROUNDS   prints how long each SELECT 1 took, in µs
#include <postgresql/libpq-fe.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

extern char** environ;

namespace {

double now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

/// The first column of the only row.
std::string ask(PGconn* connection, const char* query) {
  PGresult* rows = PQexec(connection, query);
  std::string text = PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : PQerrorMessage(connection);
  PQclear(rows);
  return text;
}

int run(PGconn* connection, char** command) {
  if (ask(connection, "SELECT pg_try_advisory_lock(1)") != "t") return 75;
  pid_t pid = -1;
  int status = 0;
  if (posix_spawnp(&pid, command[0], nullptr, nullptr, command, environ) != 0) return 127;
  waitpid(pid, &status, 0);
  if (ask(connection, "SELECT pg_advisory_unlock(1)") != "t") return 79;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int round_trips(PGconn* connection, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const double before = now_us();
    if (ask(connection, "SELECT 1") != "1") return 1;
    std::printf("%.1f\n", now_us() - before);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  const std::string where = "host=127.0.0.1 user=app dbname=locks sslmode=disable port=" + std::string(argv[1]);
  PGconn* connection = PQconnectdb(where.c_str());
  if (PQstatus(connection) != CONNECTION_OK) {
    std::fprintf(stderr, "postgres_advisory_lock: %s", PQerrorMessage(connection));
    return 69;
  }
  const int status =
      std::strcmp(argv[2], "run") == 0 ? run(connection, argv + 3) : round_trips(connection, std::atoi(argv[3]));
  PQfinish(connection);
  return status;
}
