// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/show/screen.h"
#include "lib/base/time.h"
#include "lib/lock/holder.h"

namespace dlock {

/// The screen of `inspect --watch` for a user with a keyboard, and what each key does to it: a list of locks, one of
/// them with its queue and events, and the question before it is freed. Asks no store, reads no terminal, frees
/// nothing.
class LockScreen {
 public:
  /// The caller's task after a key was pressed.
  enum class Act {
    kNone,
    kLeave,
    kOpened,  ///< lock() is shown alone now: recall() what happened to it
    kAsk,     ///< lock() is to be freed: look at it again, and ask() or tell()
    kFree,    ///< the question was answered with typed(): free asked() if that is the right answer, and tell()
  };
  struct Size {
    std::size_t columns = 80;
    std::size_t lines = 24;
  };

  /// `store`: the one in which locks can be freed from here. `single`: one lock is looked at, there is no list.
  LockScreen(std::string store, bool single) : store_(std::move(store)), single_(single) {}

  void resize(Size size);
  /// Takes the present locks; `trouble` is said in red, unless it is empty. The lock that is selected, or shown, stays
  /// so by its name; one that is gone is shown as free.
  void see(std::vector<LockState> locks, std::string trouble);
  /// The locks could not be read, and why.
  void see_nothing(std::string trouble);
  void recall(std::vector<std::string> events) { events_ = std::move(events); }  ///< of lock(), the newest first
  void ask(LockState state, std::string question);  ///< its last line is completed by what is typed
  void tell(const std::string& text);               ///< below, until the next key
  Act press(const Key& key);

  bool shows_one() const { return page_ == Page::kLock; }
  /// The lock that is selected, or shown; nullptr: there is none, or nothing is known of it.
  const LockState* lock() const;
  const LockState& asked() const { return *asked_; }  ///< REQUIRES: ask() came before
  const std::string& typed() const { return typed_; }

  /// All of the screen: never more lines than it has, and none that reaches its last column.
  std::string draw(WallTime now, bool colour);

 private:
  enum class Page { kList, kLock, kQuestion };
  enum class Order { kKey, kOldest, kQueue };

  Act answer(const Key& key);
  Act edit_filter(const Key& key);
  Act command(char letter);
  Act want_freed();
  void open_selected();
  void move(const Key& key);
  bool go_back();
  void refresh_shown();
  void settle();
  void remember_selection();

  std::vector<const LockState*> listed() const;
  std::size_t list_lines() const;
  std::size_t width() const { return size_.columns > 1 ? size_.columns - 1 : 1; }
  std::vector<std::string> footer() const;
  std::string title(WallTime now) const;
  std::vector<std::string> list_body(WallTime now, bool colour) const;
  std::vector<std::string> lock_body(WallTime now);
  std::vector<std::string> question_body(WallTime now) const;

  std::string store_;
  bool single_;
  Size size_;
  Page page_ = Page::kList;
  Page page_before_ = Page::kList;  ///< the question
  Order order_ = Order::kKey;
  bool editing_ = false;  ///< the filter
  bool help_ = false;
  std::string filter_;
  std::string trouble_;
  bool unknown_ = true;  ///< nothing was seen, or the last look failed
  std::vector<std::string> notice_;

  std::vector<LockState> locks_;
  std::optional<LockName> selected_;
  std::string selected_store_;
  std::size_t cursor_ = 0;  ///< the place of the selected one in the list
  std::size_t top_ = 0;     ///< the first one that is on the screen

  std::optional<LockState> shown_;  ///< on the page of one lock
  std::vector<std::string> events_;
  std::size_t scroll_ = 0;

  std::optional<LockState> asked_;  ///< in the question
  std::string question_;
  std::string typed_;
};

/// `text` for a terminal that has no Unicode: of the same width, '~' where something was cut, '?' for what it lacks.
std::string in_ascii(std::string_view text);

}  // namespace dlock
