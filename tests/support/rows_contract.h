// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/rows/rows.h"

namespace dlock::testing {

/// Two clients of one store in a space whose rows "many/..." are many, and a group that nobody else uses.
struct RowsWorld {
  Rows& a;
  Rows& b;
  LockName group;
  Clock& clock;

  CallLimit limit() const;
  Rows::Number commit(Rows& rows, const Rows::Commit& commit) const;
  Rows::Look look(Rows& rows, const std::vector<std::string>& keys) const;
  Rows::Row row(const std::string& key) const;
};

Rows::Change put(std::string key, std::string text, Rows::Number version = 0);
Rows::Change remove_row(std::string key, Rows::Number version);
Rows::Change check_row(std::string key, Rows::Number version);
Rows::Change add_to(std::string key, std::vector<std::int64_t> add);
Rows::Change fill_row(std::string key, std::string text);
Rows::Change before(std::int64_t us);
Rows::Change tell(std::string key);
inline Rows::Change clear_group() { return {.kind = Rows::Change::Kind::kClear}; }

/// One sentence of lib/rows/rows.h each: what every store is held to.
struct RowsCase {
  const char* name;
  void (*run)(const RowsWorld&);
};
std::span<const RowsCase> rows_contract();

namespace rows_cases {

using Commits = std::vector<Rows::Commit>;

inline void a_row_is_put_and_read(const RowsWorld& w) {
  CHECK(w.row("x").version == 0);
  const auto first = w.commit(w.a, {put("x", "one"), put("many/y z", "two\n words")});
  CHECK(first > 0);
  const auto look = w.look(w.b, {"x", "nothing", "many/y z"});
  REQUIRE(look.rows.size() == 3);
  CHECK(look.rows[0].text == "one");
  CHECK(look.rows[1].version == 0);
  CHECK(look.rows[2].text == "two\n words");
  CHECK(look.rows[0].version == first);
  CHECK(look.rows[2].version == first);
}

inline void put_where_none_may_be_is_done_once(const RowsWorld& w) {
  for (const char* key : {"x", "many/x"}) {
    CHECK(w.commit(w.a, {put(key, "one")}) > 0);
    CHECK(w.commit(w.a, {put(key, "two")}) == 0);
    CHECK(w.commit(w.b, {put(key, "two")}) == 0);
    CHECK(w.row(key).text == "one");
  }
}

inline void a_text_that_is_a_number_is_a_text(const RowsWorld& w) {
  for (const char* text : {"-5", "5", "0", "-0", "007", "5 -5", "9999999999999999999"}) {
    const std::string key = "x/" + std::to_string(std::string_view(text).size()) + text;
    CHECK(w.commit(w.a, {fill_row(key, text)}) > 0);
    CHECK(w.row(key).text == text);
    CHECK(w.commit(w.a, {put("many/" + key, text)}) > 0);
    CHECK(w.row("many/" + key).text == text);
  }
}

inline void a_write_compares_the_version(const RowsWorld& w) {
  for (const char* key : {"x", "many/x"}) {
    const auto first = w.commit(w.a, {put(key, "one")});
    const auto second = w.commit(w.b, {put(key, "two", first)});
    CHECK(second > first);
    CHECK(w.commit(w.a, {put(key, "late", first)}) == 0);
    CHECK(w.commit(w.a, {remove_row(key, first)}) == 0);
    CHECK(w.commit(w.a, {put(std::string(key) + "2", "beside"), check_row(key, first)}) == 0);
    CHECK(w.row(key).text == "two");
    CHECK(w.row(std::string(key) + "2").version == 0);
    CHECK(w.commit(w.a, {remove_row(key, second)}) > 0);
    CHECK(w.commit(w.b, {check_row(key, 0), put(std::string(key) + "2", "beside")}) > 0);
    CHECK(w.commit(w.a, {put(key, "again", second)}) == 0);
    CHECK(w.commit(w.a, {put(key, "again")}) > second);
  }
}

inline void all_of_a_commit_or_nothing(const RowsWorld& w) {
  const auto first = w.commit(w.a, {put("x", "one"), put("n", "5 5")});
  CHECK(w.commit(w.b, {put("y", "new"), put("many/y", "new"), add_to("n", {-1, 1}), put("x", "two", first + 1)}) == 0);
  CHECK(w.commit(w.b, {put("many/y", "new"), put("x", "two", first), add_to("n", {-6, 6})}) == 0);
  CHECK(w.commit(w.b, {remove_row("x", first), check_row("many/y", 7)}) == 0);
  const auto look = w.look(w.a, {"x", "y", "many/y", "n"});
  CHECK(look.rows[0].text == "one");
  CHECK(look.rows[1].version == 0);
  CHECK(look.rows[2].version == 0);
  CHECK(look.rows[3].text == "5 5");
}

inline void numbers_are_added_at_any_version(const RowsWorld& w) {
  const auto first = w.commit(w.a, {put("n/1", "10 0 0 0")});
  const auto second = w.commit(w.b, {add_to("n/1", {-3, 3, 0, 0})});
  CHECK(second > first);
  CHECK(w.commit(w.a, {add_to("n/1", {-7, 0, 7, 0})}) > second);
  CHECK(w.row("n/1").text == "0 3 7 0");
  CHECK(w.commit(w.a, {put("n/1", "1 1 1 1", second)}) == 0);
}

inline void no_number_becomes_negative(const RowsWorld& w) {
  w.commit(w.a, {put("n/1", "2 0"), put("n/2", "2 0")});
  CHECK(w.commit(w.b, {add_to("n/1", {-1, 1}), add_to("n/2", {-3, 3})}) == 0);
  CHECK(w.commit(w.b, {add_to("n/1", {1, -1})}) == 0);
  CHECK(w.row("n/1").text == "2 0");
  CHECK(w.commit(w.b, {add_to("n/1", {-2, 2}), add_to("n/2", {-2, 2})}) > 0);
  CHECK(w.row("n/2").text == "0 2");
}

inline void numbers_are_exact_as_far_as_they_go(const RowsWorld& w) {
  const std::int64_t most = Rows::kMostNumber;
  w.commit(w.a, {put("n/1", std::to_string(most - 1) + " " + std::to_string(most))});
  CHECK(w.commit(w.a, {add_to("n/1", {1, 0})}) > 0);
  CHECK(w.commit(w.a, {add_to("n/1", {1, 0})}) == 0);
  CHECK(w.commit(w.a, {add_to("n/1", {0, 1})}) == 0);
  CHECK(w.row("n/1").text == std::to_string(most) + " " + std::to_string(most));
  CHECK(w.commit(w.a, {add_to("n/1", {-most, 1 - most})}) > 0);
  CHECK(w.row("n/1").text == "0 1");
}

inline void nothing_is_added_where_no_row_is(const RowsWorld& w) {
  CHECK(w.commit(w.a, {add_to("n/1", {1})}) == 0);
  CHECK(w.row("n/1").version == 0);
  const auto groups = w.a.groups(w.limit());
  REQUIRE(groups);
  CHECK(std::count(groups->begin(), groups->end(), w.group) == 0);
}

inline void a_number_only_grows(const RowsWorld& w) {
  Rows::Number last = 0, text = 0;
  w.commit(w.a, {put("n/1", "100"), put("x", "0")});
  for (int i = 0; i < 20; ++i) {
    Rows& rows = i % 2 ? w.a : w.b;
    const auto number = w.commit(rows, {put("many/" + std::to_string(i), ""), add_to("n/1", {-1})});
    CHECK(number > last);
    last = number;
    const auto look = w.look(rows, {"many/" + std::to_string(i), "n/1"});
    text = look.rows[0].version;
    CHECK(text == number);
    CHECK(look.rows[1].version >= number);
    CHECK(look.now_us >= look.rows[0].written_us);
  }
}

inline void a_group_that_was_cleared_has_nothing(const RowsWorld& w) {
  const auto first = w.commit(w.a, {put("x", "one"), put("n/1", "1"), put("many/x", "one")});
  CHECK(w.commit(w.b, {check_row("x", first + 1), clear_group()}) == 0);
  CHECK(w.commit(w.b, {check_row("x", first), clear_group()}) > 0);
  for (const Rows::Row& row : w.look(w.a, {"x", "n/1", "many/x"}).rows) CHECK(row.version == 0);
  CHECK(w.a.list(w.group, "many/", w.limit())->empty());
  CHECK(w.commit(w.a, {put("many/x", "again"), put("x", "again")}) > first);
  CHECK(w.row("many/x").text == "again");
}

inline void keys_are_listed_by_their_beginning(const RowsWorld& w) {
  w.commit(w.a, {put("open/a", ""), put("open/b/c", ""), put("opens", ""), put("many/d", ""), put("n/0", "1")});
  const auto has = [&](const std::string& prefix, std::vector<std::string> wanted) {
    auto found = w.b.list(w.group, prefix, w.limit());
    REQUIRE(found);
    std::sort(found->begin(), found->end());
    CHECK(*found == wanted);
  };
  has("open/", {"open/a", "open/b/c"});
  has("many/", {"many/d"});
  has("none/", {});
}

inline void groups_are_apart(const RowsWorld& w) {
  const std::vector<std::string> odd{" {a}:x {b} ü", "%41", "/a/b", "*"};
  std::vector<LockName> names{w.group};
  for (const std::string& one : odd) names.push_back(*LockName::parse(w.group.text() + one));
  names.push_back(*LockName::parse("x:" + w.group.text()));
  for (const LockName& name : names) {
    const auto made = w.a.commit(name, {put("x", name.text()), put("many/x", name.text())}, w.limit());
    REQUIRE(made);
    CHECK(*made > 0);
  }
  const auto groups = w.b.groups(w.limit());
  REQUIRE(groups);
  CHECK(std::is_sorted(groups->begin(), groups->end()));
  for (const LockName& name : names) {
    CHECK(std::count(groups->begin(), groups->end(), name) == 1);
    const auto look = w.b.read(name, std::vector<std::string>{"x", "many/x"}, w.limit());
    REQUIRE(look);
    for (const Rows::Row& row : look->rows) CHECK(row.text == name.text());
    CHECK(w.a.commit(name, {clear_group()}, w.limit()));
  }
}

inline void keys_of_any_form_are_told_apart(const RowsWorld& w) {
  std::vector<std::string> keys;
  for (const char* odd : {"a", "a ", "A", "{a}", "%41", "a:b", "ä", "'; DROP TABLE x; --", "a/b", "*", "\\", "a\"b"}) {
    for (const char* room : {"many/", "open/"}) keys.push_back(std::string(room) + odd);
  }
  for (const std::string& key : keys) CHECK(w.commit(w.a, {put(key, "of " + key)}) > 0);
  const auto look = w.look(w.b, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) CHECK(look.rows[i].text == "of " + keys[i]);
  CHECK(w.a.list(w.group, "many/", w.limit())->size() == keys.size() / 2);
}

inline void many_commits_are_each_by_itself(const RowsWorld& w) {
  w.commit(w.a, {put("n/1", "2 0")});
  const auto one = [](const char* id) {
    return Rows::Commit{put(std::string("many/") + id, "taken"), check_row(std::string("open/") + id, 0),
                        add_to("n/1", {-1, 1})};
  };
  const Commits commits{one("a"), one("a"), one("b"), one("c"), {put("x", "after")}};
  const auto answers = w.b.commit_each(w.group, commits, Rows::Tell::kNumber, w.limit());
  REQUIRE(answers.size() == 5);
  std::vector<bool> done;
  for (const auto& answer : answers) {
    REQUIRE(answer);
    done.push_back(*answer > 0);
  }
  CHECK(done == std::vector<bool>{true, false, true, false, true});
  const auto look = w.look(w.a, {"n/1", "many/b", "many/c", "x"});
  CHECK(look.rows[0].text == "0 2");
  CHECK(look.rows[1].text == "taken");
  CHECK(look.rows[2].version == 0);
  CHECK(look.rows[3].text == "after");
  CHECK(*answers[0] <= *answers[2]);
}

inline void a_thousand_commits_in_one_go(const RowsWorld& w) {
  w.commit(w.a, {put("n/1", "1000 0")});
  Commits commits;
  for (int i = 0; i < 1000; ++i) commits.push_back({put("many/" + std::to_string(i), ""), add_to("n/1", {-1, 1})});
  const auto answers = w.a.commit_each(w.group, commits, Rows::Tell::kNumber, w.limit());
  CHECK(std::all_of(answers.begin(), answers.end(), [](const auto& one) { return one && *one > 0; }));
  CHECK(w.row("n/1").text == "0 1000");
}

inline void a_thousand_rows_in_one_commit(const RowsWorld& w) {
  Rows::Commit all;
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) {
    keys.push_back("n/" + std::to_string(i));
    all.push_back(put(keys.back(), std::to_string(i)));
  }
  const auto number = w.commit(w.a, all);
  CHECK(number > 0);
  const auto look = w.look(w.b, keys);
  for (int i = 0; i < 1000; ++i) CHECK(look.rows[static_cast<std::size_t>(i)].text == std::to_string(i));
  Rows::Commit next;
  for (const std::string& key : keys) next.push_back(add_to(key, {1}));
  CHECK(w.commit(w.b, next) > number);
  CHECK(w.row("n/999").text == "1000");
}

inline void what_has_no_text_is_filled_once(const RowsWorld& w) {
  for (const char* key : {"x", "many/x"}) {
    const auto first = w.commit(w.a, {fill_row(key, "one")});
    CHECK(first > 0);
    CHECK(w.commit(w.b, {fill_row(key, "two")}) == 0);
    CHECK(w.commit(w.b, {fill_row(key, "two"), put("beside", "new")}) == 0);
    const auto freed = w.commit(w.a, {put(key, "", first)});
    CHECK(freed > first);
    const auto second = w.commit(w.b, {fill_row(key, "two"), tell("who")});
    CHECK(second > freed);
    const auto row = w.row(key);
    CHECK(row.text == "two");
    CHECK(row.version == second);
  }
  CHECK(w.row("beside").version == 0);
  CHECK(w.commit(w.a, {put("n/1", "1")}) > 0);
  CHECK(w.commit(w.a, {fill_row("n/1", "full")}) == 0);
}

inline void a_commit_is_made_before_its_time_is_over(const RowsWorld& w) {
  const auto first = w.commit(w.a, {put("x", "one")});
  const std::int64_t now = w.look(w.a, {"x"}).now_us;
  const auto made = w.a.commit(w.group, {before(now + 60'000'000), put("x", "two", first)}, w.limit());
  if (!made) {
    CHECK(made.error().code == ErrorCode::kUnsupported);
    return;
  }
  CHECK(*made > first);
  CHECK(w.commit(w.b, {before(now), put("x", "late", *made)}) == 0);
  CHECK(w.commit(w.b, {before(now), fill_row("y", "late")}) == 0);
  const auto look = w.look(w.a, {"x", "y"});
  CHECK(look.rows[0].text == "two");
  CHECK(look.rows[1].version == 0);
}

inline void rows_are_surveyed_in_all_groups(const RowsWorld& w) {
  const auto free = *LockName::parse(w.group.text() + "/free");
  CHECK(w.a.commit(w.group, {put("x", "held")}, w.limit()));
  CHECK(w.a.commit(free, {put("x", ""), put("y", "other")}, w.limit()));
  const auto finds = [&](Rows::Which which, const LockName& group, const char* text) {
    const auto found = w.b.survey("x", which, w.limit());
    REQUIRE(found);
    CHECK(found->now_us > 0);
    return std::count_if(found->rows.begin(), found->rows.end(),
                         [&](const auto& one) { return one.first == group && one.second.text == text; });
  };
  CHECK(finds(Rows::Which::kFilled, w.group, "held") == 1);
  CHECK(finds(Rows::Which::kFilled, free, "") == 0);
  CHECK(finds(Rows::Which::kEmpty, free, "") == 1);
  CHECK(finds(Rows::Which::kEmpty, w.group, "held") == 0);
  CHECK(w.a.commit(free, {clear_group()}, w.limit()));
}

inline void who_listens_is_told(const RowsWorld& w) {
  const auto listens = w.a.listen(w.group, "who", w.limit());
  REQUIRE(listens);
  CHECK_FALSE(w.a.heard());
  const auto first = w.commit(w.b, {put("x", "one"), tell("else")});
  CHECK(first > 0);
  CHECK_FALSE(w.a.heard());
  CHECK(w.commit(w.b, {put("x", "two"), tell("who")}) == 0);
  CHECK_FALSE(w.a.heard());
  CHECK(w.commit(w.b, {put("x", "two", first), tell("who"), tell("x")}) > first);
  if (!*listens) return;
  std::vector<pollfd> fds;
  w.a.add_interest(fds);
  w.clock.wait(fds, w.clock.now() + std::chrono::seconds(5));
  CHECK(w.a.heard());
  CHECK_FALSE(w.a.heard());
}

inline void each_row_has_its_turns(const RowsWorld& w) {
  const std::vector<std::string> keys{"open/1", "open/2"}, one{"open/1"};
  const auto turn = [&](Rows& rows, std::span<const std::string> some, Duration wait) {
    const auto got = rows.take_turn(w.group, some, wait, w.limit());
    REQUIRE(got);
    return *got;
  };
  const auto filled = w.commit(w.a, {put("x", "1"), fill_row("open/1", "a")});
  REQUIRE(filled > 0);
  const auto second = turn(w.b, keys, Duration(0));
  if (!second.queues) {
    CHECK_FALSE(second.key);
    return;
  }
  CHECK(second.key == 1);                        // who fills a row has its turn
  CHECK_FALSE(turn(w.b, one, Duration(0)).key);  // and keeps it
  CHECK(turn(w.a, keys, Duration(0)).key == 0);  // who asks leaves all that it has
  CHECK_FALSE(turn(w.b, one, std::chrono::seconds(1)).key);
  CHECK(w.commit(w.a, {put("open/1", "", filled), tell("open/1")}) > filled);
  CHECK(turn(w.b, one, Duration(0)).key == 0);
  CHECK_FALSE(turn(w.a, one, Duration(0)).key);
  CHECK(w.commit(w.b, {put("x", "2"), fill_row("open/1", "b")}) == 0);  // a commit that is refused leaves it
  CHECK(turn(w.a, one, Duration(0)).key == 0);
  w.a.close();
  CHECK(turn(w.b, one, std::chrono::seconds(5)).key == 0);
}

inline constexpr RowsCase kCases[] = {
    {"a row is put and read", a_row_is_put_and_read},
    {"what is put where none may be is put once", put_where_none_may_be_is_done_once},
    {"a text that is a number is a text", a_text_that_is_a_number_is_a_text},
    {"a write compares the version", a_write_compares_the_version},
    {"all of a commit is done, or nothing", all_of_a_commit_or_nothing},
    {"numbers are added at any version", numbers_are_added_at_any_version},
    {"no number becomes negative", no_number_becomes_negative},
    {"numbers are exact up to 2^53, and stay there", numbers_are_exact_as_far_as_they_go},
    {"nothing is added where no row is", nothing_is_added_where_no_row_is},
    {"the number of a commit only grows", a_number_only_grows},
    {"a group that was cleared has nothing", a_group_that_was_cleared_has_nothing},
    {"keys are listed by their beginning", keys_are_listed_by_their_beginning},
    {"groups are apart, whatever they are called", groups_are_apart},
    {"keys of any form are told apart", keys_of_any_form_are_told_apart},
    {"many commits are each by itself", many_commits_are_each_by_itself},
    {"what has no text is filled once", what_has_no_text_is_filled_once},
    {"a commit is made before its time is over", a_commit_is_made_before_its_time_is_over},
    {"rows are surveyed in all groups", rows_are_surveyed_in_all_groups},
    {"who listens is told", who_listens_is_told},
    {"each row has its turns, where there are any", each_row_has_its_turns},
    {"a thousand commits in one go", a_thousand_commits_in_one_go},
    {"a thousand rows in one commit", a_thousand_rows_in_one_commit},
};

}  // namespace rows_cases

inline CallLimit RowsWorld::limit() const { return {clock.now() + std::chrono::seconds(10)}; }

inline Rows::Number RowsWorld::commit(Rows& rows, const Rows::Commit& commit) const {
  const auto number = rows.commit(group, commit, limit());
  INFO((number ? std::string() : number.error().message));
  REQUIRE(number);
  return *number;
}

inline Rows::Look RowsWorld::look(Rows& rows, const std::vector<std::string>& keys) const {
  auto look = rows.read(group, keys, limit());
  INFO((look ? std::string() : look.error().message));
  REQUIRE(look);
  REQUIRE(look->rows.size() == keys.size());
  return std::move(*look);
}

inline Rows::Row RowsWorld::row(const std::string& key) const { return look(b, {key}).rows.front(); }

inline Rows::Change put(std::string key, std::string text, Rows::Number version) {
  return {Rows::Change::Kind::kPut, std::move(key), version, std::move(text)};
}
inline Rows::Change remove_row(std::string key, Rows::Number version) {
  return {Rows::Change::Kind::kRemove, std::move(key), version};
}
inline Rows::Change check_row(std::string key, Rows::Number version) {
  return {Rows::Change::Kind::kCheck, std::move(key), version};
}
inline Rows::Change fill_row(std::string key, std::string text) {
  return {Rows::Change::Kind::kFill, std::move(key), 0, std::move(text)};
}
inline Rows::Change before(std::int64_t us) {
  return {.kind = Rows::Change::Kind::kBefore, .version = static_cast<Rows::Number>(us)};
}
inline Rows::Change tell(std::string key) { return {.kind = Rows::Change::Kind::kTell, .key = std::move(key)}; }
inline Rows::Change add_to(std::string key, std::vector<std::int64_t> add) {
  return {Rows::Change::Kind::kAdd, std::move(key), 0, {}, std::move(add)};
}

inline std::span<const RowsCase> rows_contract() { return rows_cases::kCases; }

}  // namespace dlock::testing
