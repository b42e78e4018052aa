// SPDX-License-Identifier: Apache-2.0
#include "lib/config/suggest.h"

#include <doctest/doctest.h>

#include <string>

namespace suggest_test {

using namespace dlock;

TEST_CASE("an edit is an insertion, a deletion, a change or a swap of neighbours") {
  CHECK(edit_distance("run", "run") == 0);
  CHECK(edit_distance("rnu", "run") == 1);
  CHECK(edit_distance("ru", "run") == 1);
  CHECK(edit_distance("runn", "run") == 1);
  CHECK(edit_distance("rum", "run") == 1);
  CHECK(edit_distance("RUN", "run") == 0);
  CHECK(edit_distance("", "run") == 3);
  CHECK(edit_distance("inpsetc", "inspect") == 2);
  CHECK(edit_distance(std::string(1000, 'a'), std::string(1000, 'b')) == 64);
}

TEST_CASE("the nearest name is found, and nothing that is far away") {
  struct Row {
    const char* word;
    const char* best;
  };
  const Row rows[] = {
      {"tll", "ttl"},
      {"ttll", "ttl"},
      {"wiat", "wait"},
      {"nonblok", "nonblock"},
      {"retry", "retry-interval"},  // the beginning of one name only
      {"re", ""},                   // of two
      {"confict-exit-kode", "conflict-exit-code"},
      {"xyzzy", ""},
      {"", ""},
      {"a", ""},
      {"zzz", ""},
      {"nowait", ""},  // two edits are too many for six letters
      {"nblock", ""},
      {"nonblckk", "nonblock"},
  };
  for (const Row& row : rows) {
    Nearest nearest(row.word);
    for (const char* name : {"ttl", "wait", "nonblock", "reason", "retry-interval", "conflict-exit-code"}) {
      nearest.offer(name);
    }
    CAPTURE(row.word);
    CHECK(nearest.best() == row.best);
  }
}

TEST_CASE("a suggestion is a question, or what stands in for it") {
  CHECK(did_you_mean("ttl") == "did you mean 'ttl'?");
  CHECK(did_you_mean("", "see the manual") == "see the manual");
}

}  // namespace suggest_test
