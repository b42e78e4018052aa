// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/conformance/stock_fixture.h"
#include "tests/support/helper_process.h"
#include "tests/support/stores.h"

namespace {

using namespace dlock::testing;

/// No option of doctest's leaves out cases but those for people: --no-colors and its like.
bool runs_every_case(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with("--no-")) return false;
  }
  return true;
}

int skips_of_run(bool every_case) {
  Skips::Run run{{}, every_backend_runs(), every_case};
  for (const Fixture& fixture : fixtures()) run.backends.insert(fixture.name);
  for (const StockFixture& fixture : stock_fixtures()) run.backends.insert(fixture.name);
  const char* other = getenv("DLOCK_TEST_SKIPS");
  try {
    return report_skips(other ? other : DLOCK_SKIPS_LIST, run);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}

}  // namespace

#ifdef DLOCK_SANITIZED
/// libzookeeper forgets events of a session, and completions, that come while its handle is closed.
extern "C" const char* __lsan_default_suppressions() { return "leak:libzookeeper_mt\n"; }
#endif

int main(int argc, char** argv) {
  if (const auto status = helper_main(argc, argv, connect_store)) return *status;
  doctest::Context context(argc, argv);
  int failed = context.run();
  if (!context.shouldExit() && skips_of_run(runs_every_case(argc, argv)) != 0) failed = 1;
  fixtures().clear();
  return failed;
}
