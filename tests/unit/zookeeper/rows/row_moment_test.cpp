// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/row_moment.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dlock::zookeeper {
namespace {

/// A node that the transaction `made` has made, and `changed` has changed for the `version`-th time; 0: none is there.
Answer node(std::int64_t made, std::int64_t changed, std::int32_t version) {
  Answer answer;
  answer.code = made == 0 ? Code::kNoNode : Code::kOk;
  answer.stat.czxid = made;
  answer.stat.mzxid = changed;
  answer.stat.version = version;
  return answer;
}

}  // namespace

TEST_CASE("zookeeper rows: two readings show one moment, or that there is none") {
  struct Case {
    const char* what;
    std::vector<Answer> first, again;
    std::string shown;  ///< of each node the reading that shows it; '-': none does
  };
  const Case cases[] = {
      {"nothing has changed", {node(1, 5, 2), node(0, 0, 0)}, {node(1, 5, 2), node(0, 0, 0)}, "11"},
      {"one changed before the newest was seen", {node(1, 5, 2), node(2, 9, 1)}, {node(1, 7, 3), node(2, 9, 1)}, "21"},
      {"one changed after it, once", {node(1, 5, 2), node(2, 9, 1)}, {node(1, 12, 3), node(2, 9, 1)}, "11"},
      {"one changed after it, twice", {node(1, 5, 2), node(2, 9, 1)}, {node(1, 12, 4), node(2, 9, 1)}, "-1"},
      {"one was made again", {node(1, 5, 2), node(2, 9, 1)}, {node(11, 11, 0), node(2, 9, 1)}, "-1"},
      {"one has come after it", {node(0, 0, 0), node(2, 9, 1)}, {node(11, 11, 0), node(2, 9, 1)}, "-1"},
      {"one has come before it", {node(0, 0, 0), node(2, 9, 1)}, {node(8, 8, 0), node(2, 9, 1)}, "21"},
      {"one has gone", {node(1, 5, 2), node(2, 9, 1)}, {node(0, 0, 0), node(2, 9, 1)}, "-1"},
      {"both changed, one before, one after", {node(1, 5, 2), node(2, 9, 1)}, {node(1, 6, 3), node(2, 10, 2)}, "21"},
      {"one changed, and one after it went before it was looked at",
       {node(1, 5, 2), node(0, 0, 0)},
       {node(1, 12, 3), node(0, 0, 0)},
       "-1"},
      {"one changed after one that is not there was looked at",
       {node(0, 0, 0), node(1, 5, 2)},
       {node(0, 0, 0), node(1, 12, 3)},
       "11"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.what);
    std::vector<const Answer*> wanted;
    for (std::size_t i = 0; i < one.shown.size(); ++i) {
      if (one.shown[i] == '1') wanted.push_back(&one.first[i]);
      if (one.shown[i] == '2') wanted.push_back(&one.again[i]);
    }
    CHECK(at_one_moment(one.first, one.again) == wanted);
  }
}

}  // namespace dlock::zookeeper
