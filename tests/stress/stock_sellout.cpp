// SPDX-License-Identifier: Apache-2.0
// Forty processes buy until nothing is left, as often as one likes: exactly what was there is sold, to the last item.
// Prints one line; the exit status says it, too.
//
//   stock_sellout [RUNS [URL]]        without URL: the server that DLOCK_TEST_MYSQL names, deducting in each of its
//   ways
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/stock_clients.h"

namespace dlock::testing {
namespace {

constexpr int kTakers = 40;
constexpr Quantity kItems = 1000;
constexpr int kSegments = 20;

CallLimit soon() { return {test_clock().now() + std::chrono::seconds(30)}; }

/// How many it got, to `channel`; -1: something went wrong.
[[noreturn]] void buy(const std::string& url, const LockName& name, int channel) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto stock = connect_stock(url);
  Quantity sold = 0;
  while (true) {
    const auto id = LockName::parse(std::to_string(getpid()) + "-" + std::to_string(sold));
    const auto answer = stock->take({name, *id, 1}, getpid() + static_cast<int>(sold) * 7, soon());
    if (!answer) std::fprintf(stderr, "%s\n", answer.error().message.c_str());
    if (!answer || !std::holds_alternative<StockTaken>(*answer)) {
      if (!answer) sold = -1;
      break;
    }
    ++sold;
  }
  _exit(write(channel, &sold, sizeof sold) == sizeof sold ? 0 : 1);
}

bool sell_out(const std::string& url, int run) {
  const LockName name = *LockName::parse("sellout-" + std::to_string(getpid()) + "-" + std::to_string(run));
  if (!connect_stock(url)->create(name, kItems, kSegments, Owner::random(), soon())) return false;
  int channel[2];
  if (pipe(channel) != 0) return false;
  for (int i = 0; i < kTakers; ++i) {
    if (fork() == 0) buy(url, name, channel[1]);
  }
  close(channel[1]);
  Quantity sold = 0;
  bool sound = true;
  for (Quantity one = 0; read(channel[0], &one, sizeof one) == sizeof one; sold += one) sound = sound && one >= 0;
  close(channel[0]);
  while (wait(nullptr) > 0) {
  }
  const auto stock = connect_stock(url);
  const auto state = stock->show(name, soon());
  const bool right = sound && state && sold == kItems && state->total() == 0 && state->taken == kItems;
  if (!right)
    std::fprintf(stderr, "run %d: %lld sold of %lld\n", run, static_cast<long long>(sold),
                 static_cast<long long>(kItems));
  (void)stock->drop(name, soon());
  return right;
}

}  // namespace
}  // namespace dlock::testing

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 2;
  const char* mysql = std::getenv("DLOCK_TEST_MYSQL");
  std::vector<std::string> urls;
  for (const char* way : {"guarded", "pessimistic", "optimistic"}) {
    if (mysql && *mysql) urls.push_back(mysql + std::string("?stock=") + way);
  }
  if (argc > 2) urls = {argv[2]};
  int status = 0;
  for (const std::string& url : urls) {
    int right = 0;
    for (int run = 0; run < runs; ++run) right += dlock::testing::sell_out(url, run);
    std::printf("%s: sold out exactly in %d of %d runs\n", url.c_str(), right, runs);
    status |= right == runs ? 0 : 1;
  }
  return status;
}
