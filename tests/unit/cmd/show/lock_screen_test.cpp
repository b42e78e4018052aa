// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/lock_screen.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/base/human_text.h"
#include "tests/support/fake_backend.h"

namespace lock_screen_test {

using namespace dlock;

namespace {

using Act = LockScreen::Act;
using Lines = std::vector<std::string>;

const WallTime kNow = WallTime(std::chrono::hours(500'000));

LockState held(const std::string& key, int age_s, int waiters = 0, const std::string& host = "ci-4") {
  LockState lock{.name = lock_name(key), .store = "local:/x", .holders = {}, .waiters = {}};
  lock.holders.push_back({});
  lock.holders[0].host = host;
  lock.holders[0].token = FencingToken(7);
  lock.holders[0].since = kNow - std::chrono::seconds(age_s);
  lock.waiters.resize(static_cast<std::size_t>(waiters));
  return lock;
}

/// A screen, and somebody who types: "\033[A" and the like are keys, a lone Esc is the last byte.
struct Desk {
  LockScreen screen{"local:/x", false};
  KeyReader reader;
  Lines lines;

  Act type(const std::string& bytes) {
    Act act = Act::kNone;
    const auto press = [&](const std::vector<Key>& keys) {
      for (const Key& key : keys) act = screen.press(key);
    };
    for (const char byte : bytes) press(reader.feed(byte));
    press(reader.flush());
    draw();
    return act;
  }
  void draw() {
    lines.clear();
    std::string text = screen.draw(kNow, false);
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      lines.push_back(text.substr(0, end));
  }
  bool shows(const std::string& words) const {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(words) != line.npos; });
  }
  /// The keys on the list, in order, the selected one with its mark.
  std::string keys() const {
    std::string all;
    for (std::size_t i = 2; i < lines.size() && lines[i].size() > 2 && lines[i][1] == ' '; ++i)
      all += (all.empty() ? "" : " ") + std::string(lines[i][0] == '>' ? ">" : "") +
             lines[i].substr(2, lines[i].find(' ', 2) - 2);
    return all;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Desk, "what each key does to the list") {
  screen.see({held("a", 5), held("b", 90, 1), held("c", 30, 4), held("d", 1)}, "");
  struct Step {
    const char* typed;
    const char* list;
  };
  const Step steps[] = {
      {"", ">a b c d"},
      {"\033[B", "a >b c d"},
      {"jj", "a b c >d"},
      {"j", "a b c >d"},
      {"k", "a b >c d"},
      {"\033OH", ">a b c d"},
      {"\033[6~", "a b c >d"},
      {"\033[5~", ">a b c d"},
      {"j", "a >b c d"},
      {"s", ">b c a d"},  // the oldest first; the same lock stays selected
      {"s", "c >b a d"},  // the longest queue first
      {"s", "a >b c d"},
      {"\033[4~", "a b c >d"},
      {"/C\n", "a b c >d"},  // the host has it: ci-4
      {"\033", "a b c >d"},
      {"/x", ""},
      {"\177", "a b c >d"},
      {"\n", "a b c >d"},
      {"\033[200~\033[9;5R", "a b c >d"},  // no keys of ours
  };
  for (const Step& step : steps) {
    CAPTURE(step.typed);
    CHECK(type(step.typed) == Act::kNone);
    CHECK(keys() == step.list);
  }
  CHECK(type("q") == Act::kLeave);
}

TEST_CASE_FIXTURE(Desk, "the selected lock stays so by its name while others come and go; the nearest is next") {
  screen.see({held("a", 5), held("b", 5), held("c", 5)}, "");
  type("jj");
  screen.see({held("A", 1), held("B", 1), held("a", 5), held("c", 5), held("d", 1)}, "");
  draw();
  CHECK(keys() == "A B a >c d");
  screen.see_nothing("cannot reach it");
  draw();
  CHECK(shows("cannot reach it"));
  CHECK(type("f") == Act::kNone);
  CHECK_FALSE(shows(" a "));
  screen.see({held("c", 5), held("d", 1)}, "");
  draw();
  CHECK(keys() == ">c d");
  screen.see({held("b", 1), held("d", 1)}, "");
  draw();
  CHECK(keys() == ">b d");
  screen.see({}, "");
  draw();
  CHECK(shows("no lock is held or waited for"));
}

TEST_CASE_FIXTURE(Desk, "on any screen no line is too wide or too much, and the cursor is among them") {
  std::vector<LockState> many;
  for (int i = 0; i < 100; ++i) many.push_back(held("job/" + std::to_string(i) + std::string(150, 'x'), i, i, "höst"));
  many[3].holders[0].reason = std::string(200, 'r');
  screen.see(many, "two locks cannot be read, and this is a long line that says so to whoever is on the screen of it");
  for (const LockScreen::Size size : {LockScreen::Size{80, 24}, {40, 10}, {300, 60}, {10, 3}, {1, 1}}) {
    screen.resize(size);
    for (const char* typed : {"\033[F", "\033[H", "?", "\033[6~", "/job", "\n", "?", "\033", "\n", "j", "\033"}) {
      type(typed);
      CAPTURE(size.columns);
      CAPTURE(size.lines);
      CAPTURE(typed);
      CHECK(lines.size() <= size.lines);
      for (const std::string& line : lines) CHECK(display_width(line) < std::max<std::size_t>(size.columns, 2));
      if (size.lines >= 10 && !screen.shows_one()) {
        CHECK(std::count_if(lines.begin(), lines.end(),
                            [](const std::string& line) { return line.starts_with("> "); }) == 1);
      }
    }
    type("\033");
  }
}

TEST_CASE_FIXTURE(Desk, "one lock has its queue and what happened to it, and is shown as free when it is gone") {
  screen.see({held("a", 5), held("b", 5, 40)}, "");
  type("j");
  CHECK(type("\n") == Act::kOpened);
  screen.recall({"granted to ci-4", "released by ci-3"});
  draw();
  CHECK(shows("b  held, exclusive"));
  CHECK(shows("waits 15"));
  CHECK_FALSE(shows("granted to ci-4"));
  type("\033[F");
  CHECK(shows("waits 40"));
  CHECK(shows("granted to ci-4"));
  type("k");
  CHECK_FALSE(shows("released by ci-3"));
  screen.see({held("a", 5)}, "");
  draw();
  CHECK(shows("b  free"));
  CHECK(shows("released by ci-3"));
  CHECK(type("q") == Act::kNone);
  CHECK(keys() == ">a");
}

TEST_CASE_FIXTURE(Desk, "f asks about what was looked at for it, whatever is seen meanwhile; only Enter answers") {
  screen.see({held("deploy/q", 5)}, "");
  CHECK(type("f") == Act::kAsk);
  LockState fresh = held("deploy/q", 1, 60, "ci-9");
  screen.ask(fresh, "next in line: ci-5\ntype the key: ");
  screen.see({held("deploy/q", 0, 0, "ci-1")}, "");
  CHECK(type("deploy/\xC3\xB6\177qq\177") == Act::kNone);  // q is a letter here
  CHECK(shows("ci-9"));
  CHECK(shows("next in line: ci-5"));
  CHECK(shows("type the key: deploy/q_"));
  CHECK(type("\n") == Act::kFree);
  CHECK(screen.typed() == "deploy/q");
  CHECK(screen.asked().holders[0].host == "ci-9");
  screen.tell("it is free now\n  next in line: ci-5");
  draw();
  CHECK(shows("it is free now"));
  type("k");
  CHECK_FALSE(shows("it is free now"));
  type("f");
  screen.ask(fresh, "type the key: ");
  CHECK(type("deploy/q\033") == Act::kNone);
  CHECK(shows("nothing was freed"));
  CHECK(keys() == ">deploy/q");
}

TEST_CASE_FIXTURE(Desk, "a lock of a store beside this one is only looked at") {
  LockState other = held("a", 5);
  other.store = "local:/home/u";
  screen.see({other}, "");
  CHECK(type("f") == Act::kNone);
  CHECK(shows("dlock force-release -b local:/home/u a"));
}

TEST_CASE("a single lock has no list: q leaves, Esc does not") {
  Desk desk;
  desk.screen = LockScreen("local:/x", true);
  desk.screen.see({held("a", 5)}, "");
  CHECK(desk.type("\033") == Act::kNone);
  CHECK(desk.shows("a  held, exclusive"));
  CHECK(desk.type("q") == Act::kLeave);
}

TEST_CASE("without Unicode everything keeps its width") {
  CHECK(in_ascii("k\xC3\xB6ln…") == "k?ln~");
  CHECK(in_ascii("\xE6\x9D\xB1x") == "??x");
  CHECK(in_ascii("\033[1mx\033[0m\n") == "\033[1mx\033[0m\n");
}

}  // namespace lock_screen_test
