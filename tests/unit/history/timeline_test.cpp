// SPDX-License-Identifier: Apache-2.0
#include "lib/history/timeline.h"

#include <doctest/doctest.h>

namespace timeline_test {

using namespace dlock;
using namespace std::chrono_literals;

constexpr WallTime kThree = WallTime{} + 1770087600s;  // 2026-02-03T03:00:00Z

std::string labels(const TimeAxis& axis, double most) {
  std::string text;
  for (const TimeAxis::Tick& tick : axis.ticks(most)) text += (text.empty() ? "" : " ") + tick.label;
  return text;
}

bool has(const std::string& svg, const std::string& part) { return svg.find(part) != std::string::npos; }

std::size_t count(const std::string& svg, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++found;
  return found;
}

Timeline one_lane(Lane lane) {
  Timeline timeline;
  timeline.groups.push_back({"deploy", {std::move(lane)}});
  return timeline;
}

TEST_CASE("the axis has round times, of the zone that is asked for, and never more than there is room for") {
  CHECK(labels({kThree, kThree + 10min, 0s}, 5) == "03:00 03:02 03:04 03:06 03:08 03:10");
  CHECK(labels({kThree + 50s, kThree + 10min, 0s}, 5) == "03:02 03:04 03:06 03:08 03:10");
  CHECK(labels({kThree, kThree + 48h, 3600s}, 4) == "12:00 00:00 12:00 00:00");
  CHECK(labels({kThree, kThree + 200h, 0s}, 4) == "2026-02-04 2026-02-08");
  CHECK(labels({kThree, kThree + 90ms, 0s}, 3) == "03:00:00.000 03:00:00.050");
}

TEST_CASE("an axis without length, or with a clock that went back, is a second long") {
  const TimeAxis axis(kThree, kThree - 5s, 0s);
  CHECK(labels(axis, 2) == "03:00:00.000 03:00:00.500 03:00:01.000");
  CHECK(axis.place(kThree - 1h) == 0);
  CHECK(axis.place(kThree + 1h) == 1);
}

TEST_CASE("waits are light, holds dark, losses red, and a kill has its word") {
  Lane lane{"ci-4 (deploy)",
            {{Span::Kind::kWait, kThree, kThree + 100s, false, "waits 1 min 40 s"},
             {Span::Kind::kHold, kThree + 100s, kThree + 300s, false, "holds 3 min 20 s"},
             {Span::Kind::kLost, kThree + 300s, kThree + 400s, false, "LOST", "the lease ended"}},
            {{kThree + 380s, "KILL"}}};
  const std::string svg = timeline_svg(one_lane(lane));
  CHECK(has(svg, "fill=\"#dbe7f3\""));
  CHECK(has(svg, "fill=\"#1f4e79\""));
  CHECK(has(svg, "fill=\"#c62828\""));
  for (const char* word : {">ci-4 (deploy)<", ">waits 1 min 40 s<", ">holds 3 min 20 s<", ">LOST<", ">KILL<",
                           "<title>the lease ended</title>", ">deploy<"})
    CHECK_MESSAGE(has(svg, word), word);
}

TEST_CASE("a word that would run into what comes next is left out, the last one has room") {
  Lane lane{"db-1"};
  for (int i = 0; i < 200; ++i) {
    lane.spans.push_back({Span::Kind::kHold, kThree + i * 60s, kThree + i * 60s + 20s, false, "held for 20 s"});
  }
  lane.spans.push_back({Span::Kind::kHold, kThree + 3h + 20min, kThree + 4h, true, "still held"});
  const std::string svg = timeline_svg(one_lane(lane));
  CHECK(count(svg, "held for 20 s") == 0);
  CHECK(has(svg, ">still held<"));
  CHECK(count(svg, "stroke-dasharray") == 1);
}

TEST_CASE("what is outside of the picture is not drawn, and what reaches beyond is cut") {
  Lane lane{"db-1",
            {{Span::Kind::kHold, kThree - 2h, kThree - 1h, false, "before"},
             {Span::Kind::kHold, kThree - 1min, kThree + 1h, false, "across"}},
            {{kThree + 2h, "after"}}};
  Timeline timeline = one_lane(lane);
  timeline.from = kThree;
  timeline.to = kThree + 10min;
  const std::string svg = timeline_svg(timeline);
  CHECK_FALSE(has(svg, "before"));
  CHECK(has(svg, "across"));
  CHECK_FALSE(has(svg, "after"));
}

TEST_CASE("nothing that somebody wrote becomes markup") {
  Lane lane{"<script>", {{Span::Kind::kHold, kThree, kThree + 1s, false, "\"a\"&b", "</title><x>\x1b[31m"}}};
  const std::string svg = timeline_svg(one_lane(lane));
  CHECK_FALSE(has(svg, "<script>"));
  CHECK_FALSE(has(svg, "<x>"));
  CHECK_FALSE(has(svg, "\x1b"));
  CHECK(has(svg, "&quot;a&quot;&amp;b"));
}

TEST_CASE("no text has a character that XML 1.0 forbids") {
  Lane lane{"a\xef\xbf\xbe",
            {{Span::Kind::kHold, kThree, kThree + 1s, false,
              "b\xef\xbf\xbf\xef\xbf\xbe"
              "c"}}};
  const std::string svg = timeline_svg(one_lane(lane));
  CHECK_FALSE(has(svg, "\xef\xbf\xbe"));
  CHECK_FALSE(has(svg, "\xef\xbf\xbf"));
  CHECK(has(svg, "a\xef\xbf\xbd"));
}

TEST_CASE("an empty picture is still one") { CHECK(timeline_svg({}).ends_with("</svg>\n")); }

}  // namespace timeline_test
