// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/lock_screen.h"

#include <algorithm>
#include <cstring>

#include "cmd/show/output.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kShortHelp = "Enter one lock  / filter  s order  f free  ? keys  q quit";
constexpr const char* kShortHelpOfOne = "f free  ? keys  q back";
constexpr const char* kAllKeys =
    "up down j k PgUp PgDn Home End: move     Enter: one lock, its queue and events\n"
    "/: only keys with these letters, Esc: all again    s: by key, age, or queue\n"
    "f: free it by force, once its key is typed         q: back, quit    ?: keys";

Lines split_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) lines.emplace_back(cut(text, '\n'));
  return lines;
}

std::size_t waiters_of(const LockState& lock) { return lock.waiters.size() + lock.more_waiters; }

std::optional<WallTime> held_since(const LockState& lock) {
  std::optional<WallTime> oldest;
  for (const Participant& holder : lock.holders) {
    if (holder.since && (!oldest || *holder.since < *oldest)) oldest = holder.since;
  }
  return oldest;
}

std::string holders_text(const LockState& lock) {
  if (lock.holders.empty()) return "free";
  const std::string first = short_participant_text(lock.holders.front());
  const std::string count = std::to_string(lock.holders.size() + lock.more_holders);
  if (lock.mode == Mode::kPermits && lock.permits > 0) return count + "/" + std::to_string(lock.permits) + " " + first;
  return lock.mode == Mode::kExclusive ? first : count + " " + mode_name(lock.mode) + ": " + first;
}

bool has_letters(const LockState& lock, const std::string& letters) {
  const auto is_in = [&](const std::string& text) { return strcasestr(text.c_str(), letters.c_str()) != nullptr; };
  const auto tells = [&](const Participant& participant) {
    return is_in(participant_text(participant)) || is_in(participant.reason);
  };
  return is_in(lock.name.text()) || std::any_of(lock.holders.begin(), lock.holders.end(), tells) ||
         std::any_of(lock.waiters.begin(), lock.waiters.end(), tells);
}

/// The last character goes, with all of its bytes.
void rub_out(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

std::string in_columns(const std::string& text, std::size_t columns) {
  std::string cell = elided(text, columns);
  return cell.append(columns - std::min(columns, display_width(cell)), ' ');
}

/// One line of the list, of the columns that its heading has.
struct Listed {
  std::string key, holders, age, queue, reason;
};

Listed listed_lock(const LockState& lock, WallTime now) {
  const auto since = held_since(lock);
  const std::size_t waiters = waiters_of(lock);
  return {printable(lock.name.text()), holders_text(lock), since ? human_duration(age(*since, now)) : "",
          !lock.waiters_known ? "?"
          : waiters > 0       ? std::to_string(waiters)
                              : "",
          lock.holders.empty() ? "" : reason_text(lock.holders.front())};
}

struct ListWidths {
  std::size_t key = 0, holders = 0;
};

/// Keys and holders have three eighths of a line each at the most; the reason has what is left.
std::string list_line(const Listed& lock, const ListWidths& widths) {
  return in_columns(lock.key, widths.key) + "  " + in_columns(lock.holders, widths.holders) + "  " +
         in_columns(lock.age, 9) + "  " + in_columns(lock.queue, 5) + "  " + lock.reason;
}

}  // namespace

void LockScreen::resize(Size size) {
  size_ = size;
  settle();
}

void LockScreen::see(std::vector<LockState> locks, std::string trouble) {
  trouble_ = std::move(trouble);
  unknown_ = false;
  locks_ = std::move(locks);
  if (single_ && !locks_.empty() && page_ == Page::kList) {
    shown_ = locks_.front();
    page_ = Page::kLock;
  }
  if (shown_) refresh_shown();
  settle();
}

void LockScreen::see_nothing(std::string trouble) {
  trouble_ = std::move(trouble);
  unknown_ = true;
  locks_.clear();
}

void LockScreen::refresh_shown() {
  const auto same = [&](const LockState& lock) { return lock.name == shown_->name && lock.store == shown_->store; };
  const auto now = std::find_if(locks_.begin(), locks_.end(), same);
  if (now != locks_.end()) shown_ = *now;
  else shown_ = LockState{.name = shown_->name, .store = shown_->store, .holders = {}, .waiters = {}};
}

void LockScreen::ask(LockState state, std::string question) {
  asked_ = std::move(state);
  question_ = std::move(question);
  typed_.clear();
  page_before_ = page_;
  page_ = Page::kQuestion;
}

void LockScreen::tell(const std::string& text) {
  notice_ = split_lines(text);
  settle();
}

const LockState* LockScreen::lock() const {
  if (unknown_) return nullptr;
  if (page_ == Page::kLock) return &*shown_;
  const auto locks = listed();
  return cursor_ < locks.size() ? locks[cursor_] : nullptr;
}

LockScreen::Act LockScreen::press(const Key& key) {
  notice_.clear();
  Act act = Act::kNone;
  if (page_ == Page::kQuestion) act = answer(key);
  else if (editing_) act = edit_filter(key);
  else if (key.kind == Key::Kind::kText) act = command(key.text);
  else if (key.kind == Key::Kind::kEscape) go_back();
  else if (key.kind == Key::Kind::kEnter && page_ == Page::kList && lock()) {
    open_selected();
    act = Act::kOpened;
  } else move(key);
  settle();
  return act;
}

LockScreen::Act LockScreen::answer(const Key& key) {
  if (key.kind == Key::Kind::kText) typed_ += key.text;
  if (key.kind == Key::Kind::kBackspace) rub_out(typed_);
  if (key.kind != Key::Kind::kEnter && key.kind != Key::Kind::kEscape) return Act::kNone;
  page_ = page_before_;
  if (key.kind == Key::Kind::kEnter) return Act::kFree;
  tell("nothing was freed");
  return Act::kNone;
}

LockScreen::Act LockScreen::edit_filter(const Key& key) {
  if (key.kind == Key::Kind::kText) filter_ += key.text;
  else if (key.kind == Key::Kind::kBackspace && !filter_.empty()) rub_out(filter_);
  else if (key.kind == Key::Kind::kEnter || key.kind == Key::Kind::kBackspace) editing_ = false;
  else if (key.kind == Key::Kind::kEscape) {
    filter_.clear();
    editing_ = false;
  } else move(key);
  return Act::kNone;
}

LockScreen::Act LockScreen::command(char letter) {
  if (letter == 'q' || letter == 'Q') return page_ == Page::kLock && go_back() ? Act::kNone : Act::kLeave;
  if (letter == '?') help_ = !help_;
  if (letter == 'j') move({Key::Kind::kDown});
  if (letter == 'k') move({Key::Kind::kUp});
  if (letter == 'f') return want_freed();
  if (page_ != Page::kList) return Act::kNone;
  if (letter == '/') editing_ = true;
  if (letter == 's')
    order_ = order_ == Order::kKey ? Order::kOldest : order_ == Order::kOldest ? Order::kQueue : Order::kKey;
  return Act::kNone;
}

LockScreen::Act LockScreen::want_freed() {
  const LockState* wanted = lock();
  if (!wanted) return Act::kNone;
  if (wanted->store == store_) return Act::kAsk;
  tell(printable(wanted->name.text()) + " is in " + printable(wanted->store) + ", which is only shown here\n" +
       "to free it: dlock force-release -b " + shell_word(wanted->store) + " " + wanted->name.typed());
  return Act::kNone;
}

void LockScreen::open_selected() {
  shown_ = *lock();
  events_.clear();
  scroll_ = 0;
  page_ = Page::kLock;
}

/// False: there is nothing behind this.
bool LockScreen::go_back() {
  if (page_ == Page::kList) {
    filter_.clear();
    return true;
  }
  if (single_) return false;
  page_ = Page::kList;
  return true;
}

void LockScreen::move(const Key& key) {
  std::size_t& at = page_ == Page::kLock ? scroll_ : cursor_;
  const std::size_t page = std::max<std::size_t>(list_lines(), 1);
  constexpr std::size_t kFar = 1 << 30;
  switch (key.kind) {
    case Key::Kind::kUp:
      at -= std::min<std::size_t>(at, 1);
      break;
    case Key::Kind::kDown:
      ++at;
      break;
    case Key::Kind::kPageUp:
      at -= std::min(at, page);
      break;
    case Key::Kind::kPageDown:
      at += page;
      break;
    case Key::Kind::kHome:
      at = 0;
      break;
    case Key::Kind::kEnd:
      at = kFar;
      break;
    case Key::Kind::kText:
    case Key::Kind::kEnter:
    case Key::Kind::kBackspace:
    case Key::Kind::kEscape:
      return;
  }
  if (page_ == Page::kList) remember_selection();
}

/// The cursor has been moved: what is under it is selected.
void LockScreen::remember_selection() {
  const auto locks = listed();
  if (locks.empty()) return;
  cursor_ = std::min(cursor_, locks.size() - 1);
  selected_ = locks[cursor_]->name;
  selected_store_ = locks[cursor_]->store;
}

/// Puts the cursor back on the lock that was selected, or to the nearest place, and the cursor on the screen.
void LockScreen::settle() {
  const auto locks = listed();
  if (locks.empty()) return;
  const auto is_selected = [&](const LockState* one) {
    return one->name == selected_ && one->store == selected_store_;
  };
  const auto at = std::find_if(locks.begin(), locks.end(), is_selected);
  if (at != locks.end()) cursor_ = static_cast<std::size_t>(at - locks.begin());
  else remember_selection();
  const std::size_t fit = std::max<std::size_t>(list_lines(), 1);
  top_ = std::min(top_, locks.size() - std::min(locks.size(), fit));
  top_ = std::min(std::max(top_, cursor_ + 1 - std::min(cursor_ + 1, fit)), cursor_);
}

std::vector<const LockState*> LockScreen::listed() const {
  std::vector<const LockState*> locks;
  for (const LockState& lock : locks_)
    if (filter_.empty() || has_letters(lock, filter_)) locks.push_back(&lock);
  std::stable_sort(locks.begin(), locks.end(), [&](const LockState* a, const LockState* b) {
    if (order_ == Order::kQueue && waiters_of(*a) != waiters_of(*b)) return waiters_of(*a) > waiters_of(*b);
    const WallTime never = WallTime::max();
    const WallTime since_a = held_since(*a).value_or(never), since_b = held_since(*b).value_or(never);
    if (order_ == Order::kOldest && since_a != since_b) return since_a < since_b;
    return a->name < b->name;
  });
  return locks;
}

Lines LockScreen::footer() const {
  Lines lines = notice_;
  if (help_) {
    for (std::string& line : split_lines(kAllKeys)) lines.push_back(std::move(line));
  } else if (!editing_) {
    lines.emplace_back(page_ == Page::kLock ? kShortHelpOfOne : kShortHelp);
  }
  if (editing_) lines.push_back("/" + printable(filter_) + "_   Enter keeps it, Esc shows all");
  const std::size_t most = size_.lines > 3 ? size_.lines - 3 : 0;
  if (lines.size() > most) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(most), lines.end());
  return lines;
}

/// Lines left for locks between title, trouble, heading and footer.
std::size_t LockScreen::list_lines() const {
  const std::size_t used = 2 + (trouble_.empty() ? 0 : 1) + footer().size();
  return size_.lines > used ? size_.lines - used : 0;
}

std::string LockScreen::title(WallTime now) const {
  std::string text = rfc3339(now).substr(11, 8) + " UTC  ";
  if (page_ != Page::kList) return text + printable(store_);
  const std::size_t count = listed().size();
  text += std::to_string(count) + (count == 1 ? " lock" : " locks");
  if (!filter_.empty()) text += " of " + std::to_string(locks_.size()) + " with '" + printable(filter_) + "'";
  if (count > list_lines()) text += ", from " + std::to_string(top_ + 1);
  if (order_ != Order::kKey) text += order_ == Order::kOldest ? ", the oldest first" : ", the longest queue first";
  return text + "  " + printable(store_);
}

Lines LockScreen::list_body(WallTime now, bool colour) const {
  const auto locks = listed();
  if (unknown_) return {};
  if (locks.empty()) return {filter_.empty() ? "no lock is held or waited for" : "no lock has these letters"};
  std::vector<Listed> lines = {{"KEY", "HELD BY", "FOR", "QUEUE", "REASON"}};
  const std::size_t end = std::min(locks.size(), top_ + list_lines());
  for (std::size_t i = top_; i < end; ++i) lines.push_back(listed_lock(*locks[i], now));
  ListWidths widths;
  for (const Listed& line : lines) {
    widths.key = std::min(std::max(widths.key, display_width(line.key)), width() * 3 / 8);
    widths.holders = std::min(std::max(widths.holders, display_width(line.holders)), width() * 3 / 8);
  }
  Lines body;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool selected = i > 0 && top_ + i - 1 == cursor_;
    const std::string text = elided((selected ? "> " : "  ") + list_line(lines[i], widths), width());
    body.push_back(painted(text, i == 0 ? Paint::kDim : Paint::kBold, colour && (i == 0 || selected)));
  }
  return body;
}

Lines LockScreen::lock_body(WallTime now) {
  if (unknown_) return {};
  Lines body = split_lines(inspect_text({*shown_}, now, {.width = width()}));
  if (!events_.empty()) body.insert(body.end(), {"", "What happened to it, the newest first:"});
  for (const std::string& event : events_) body.push_back("  " + event);
  const std::size_t fit = list_lines() + 1;  // this page has no heading
  scroll_ = std::min(scroll_, body.size() - std::min(body.size(), fit));
  body.erase(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(scroll_));
  if (body.size() > fit) body.resize(fit);
  for (std::string& line : body) line = elided(line, width());
  return body;
}

Lines LockScreen::question_body(WallTime now) const {
  Lines question = split_lines(question_ + printable(typed_) + "_");
  question.emplace_back("Enter frees it, Esc does not");
  const std::size_t room = size_.lines > question.size() + 1 ? size_.lines - question.size() - 1 : 0;
  Lines body = split_lines(inspect_text({*asked_}, now, {.width = width(), .height = std::max<std::size_t>(room, 1)}));
  if (body.size() > room) body.resize(room);
  body.insert(body.end(), question.begin(), question.end());
  for (std::string& line : body) line = elided(line, width());
  return body;
}

std::string LockScreen::draw(WallTime now, bool colour) {
  Lines lines = {painted(elided(title(now), width()), Paint::kDim, colour)};
  Lines body = page_ == Page::kQuestion ? question_body(now)
               : page_ == Page::kLock   ? lock_body(now)
                                        : list_body(now, colour);
  if (!trouble_.empty() && page_ != Page::kQuestion) {
    lines.push_back(painted(elided(trouble_, width()), Paint::kRed, colour));
  }
  lines.insert(lines.end(), body.begin(), body.end());
  if (page_ != Page::kQuestion) {
    const Lines below = footer();
    if (lines.size() + below.size() < size_.lines) lines.resize(size_.lines - below.size());
    for (const std::string& line : below) lines.push_back(painted(elided(line, width()), Paint::kDim, colour));
  }
  if (lines.size() > size_.lines) lines.resize(size_.lines);
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::string in_ascii(std::string_view text) {
  std::string ascii;
  while (!text.empty()) {
    const Utf8Character character = front_character(text);
    const std::string_view bytes = text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
    if (bytes.size() == 1 && character.valid) ascii += bytes;
    else ascii.append(display_width(bytes), bytes == "…" ? '~' : '?');
  }
  return ascii;
}

}  // namespace dlock
