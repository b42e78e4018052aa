// SPDX-License-Identifier: Apache-2.0
// What somebody writes who has MySQL Connector/C++ and wants a lock: the other side in scripts/bench. The server is at
// 127.0.0.1, the user is "app" without a password, the database "locks".
//
//   mysql_named_lock PORT run COMMAND...       connects, takes the named lock "k", runs COMMAND, frees the lock
//   mysql_named_lock PORT round-trips ROUNDS   prints how long each SELECT 1 took, in µs
//   mysql_named_lock PORT rate CLIENTS STATEMENT...   prints how often a second so many clients together have run the
//                                              statements, one after the other; a # in them is a number of their own
#include <cppconn/driver.h>
#include <cppconn/exception.h>
#include <cppconn/resultset.h>
#include <cppconn/statement.h>
#include <mysql_connection.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

extern char** environ;

namespace {

double now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

/// The first column of the only row.
int ask(sql::Connection& connection, const char* query) {
  const std::unique_ptr<sql::Statement> statement(connection.createStatement());
  const std::unique_ptr<sql::ResultSet> rows(statement->executeQuery(query));
  return rows->next() ? rows->getInt(1) : -1;
}

int run(sql::Connection& connection, char** command) {
  if (ask(connection, "SELECT GET_LOCK('k', 10)") != 1) return 75;
  pid_t pid = -1;
  int status = 0;
  if (posix_spawnp(&pid, command[0], nullptr, nullptr, command, environ) != 0) return 127;
  waitpid(pid, &status, 0);
  if (ask(connection, "SELECT RELEASE_LOCK('k')") != 1) return 79;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int round_trips(sql::Connection& connection, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const double before = now_us();
    if (ask(connection, "SELECT 1") != 1) return 1;
    std::printf("%.1f\n", now_us() - before);
  }
  return 0;
}

long run_for_a_second(sql::Connection& connection, char** statements, const std::string& prefix) {
  const std::unique_ptr<sql::Statement> statement(connection.createStatement());
  long rounds = 0;
  for (const double end = now_us() + 1e6; now_us() < end; ++rounds) {
    for (char** one = statements; *one; ++one) {
      std::string text = *one;
      for (std::size_t at = 0; (at = text.find('#', at)) != std::string::npos;) {
        text.replace(at, 1, prefix + std::to_string(rounds));
      }
      if (statement->execute(text)) delete statement->getResultSet();
    }
  }
  return rounds;
}

int rate(const std::string& host, int clients, char** statements) {
  int channel[2];
  if (pipe(channel) != 0) return 71;
  for (int i = 0; i < clients; ++i) {
    if (fork() != 0) continue;
    const std::unique_ptr<sql::Connection> connection(get_driver_instance()->connect(host, "app", ""));
    connection->setSchema("locks");
    const long rounds = run_for_a_second(*connection, statements, std::to_string(getpid()));
    _exit(write(channel[1], &rounds, sizeof rounds) == sizeof rounds ? 0 : 71);
  }
  close(channel[1]);
  long all = 0;
  for (long rounds = 0; read(channel[0], &rounds, sizeof rounds) == sizeof rounds;) all += rounds;
  while (wait(nullptr) > 0) {
  }
  std::printf("%ld\n", all);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  try {
    const std::string host = std::string("tcp://127.0.0.1:") + argv[1];
    if (std::strcmp(argv[2], "rate") == 0) return rate(host, std::atoi(argv[3]), argv + 4);
    const std::unique_ptr<sql::Connection> connection(get_driver_instance()->connect(host, "app", ""));
    if (std::strcmp(argv[2], "run") == 0) return run(*connection, argv + 3);
    return round_trips(*connection, std::atoi(argv[3]));
  } catch (const sql::SQLException& e) {
    std::fprintf(stderr, "mysql_named_lock: %s (%d)\n", e.what(), e.getErrorCode());
    return 69;
  }
}
