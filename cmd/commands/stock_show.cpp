// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cmd/commands/commands.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/screen.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWidestBar = 40;
constexpr std::size_t kOnePerLine = 4;  ///< segments: more of them share lines
constexpr std::size_t kBarBeside = 10;  ///< of a segment that shares its line
constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kLongestId = 40;
constexpr Duration kListBudget = 60s;  ///< for requests, of which there may be many

std::string right(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

/// `quantity` as full blocks, what is set aside as light ones, the rest of `most` as blanks.
std::string bar(const StockSegment& segment, Quantity most, std::size_t width, bool unicode) {
  const auto blocks = [&](Quantity quantity) {
    return most > 0 ? static_cast<std::size_t>((static_cast<double>(quantity) / static_cast<double>(most)) *
                                               static_cast<double>(width))
                    : 0;
  };
  const std::size_t full = blocks(segment.quantity);
  const std::size_t both = std::max(full, blocks(segment.quantity + segment.reserved));
  std::string text;
  const char* const there = unicode ? "█" : "#";
  const char* const reserved = unicode ? "░" : "-";
  for (std::size_t i = 0; i < both; ++i) text += i < full ? there : reserved;
  return text + std::string(width - both, ' ');
}

std::string heading(const StockState& state, const Look& look) {
  std::string text = painted(state.name.text(), Paint::kBold, look.colour) + "  " + std::to_string(state.total()) +
                     " left, " + std::to_string(state.reserved()) + " set aside";
  text += state.open == 1 ? " by 1 open take" : " by " + std::to_string(state.open) + " open takes";
  return text + "; created " + std::to_string(state.created) + ", added " + std::to_string(state.added) + ", taken " +
         std::to_string(state.taken) + ", refunded " + std::to_string(state.refunded) + "\n";
}

/// The cells line by line, `columns` on each.
std::string in_columns(const std::vector<std::string>& cells, std::size_t columns, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += cells[i];
    const bool last = (i + 1) % columns == 0 || i + 1 == cells.size();
    if (!last) text += std::string(width - display_width(cells[i]), ' ');
    while (last && text.back() == ' ') text.pop_back();
    if (last) text += "\n";
  }
  return text;
}

struct ShownStocks {
  std::vector<StockState> states;
  std::vector<Error> unreadable;  ///< of stocks that were not asked for by name: damaged, or another program's
};

Result<ShownStocks> look_at(const Options& options, Stock& stock, const Runtime& runtime) {
  const auto soon = [&] { return CallLimit{runtime.clock.now() + options.connect_timeout}; };
  std::vector<LockName> names = options.keys;
  if (names.empty()) {
    TRY_ASSIGN(auto all, stock.names(soon()));
    names = std::move(all);
  }
  ShownStocks shown;
  for (const LockName& name : names) {
    auto state = stock.show(name, soon());
    const bool dropped = !state && options.keys.empty() && is_no_such_stock(state.error(), name, stock.store());
    if (dropped) continue;  // since it was listed
    if (state) {
      shown.states.push_back(std::move(*state));
      continue;
    }
    const ErrorCode code = state.error().code;
    const bool others_may_be_fine = code == ErrorCode::kMisconfigured || code == ErrorCode::kDenied;
    if (!options.keys.empty() || !others_may_be_fine) return with_nearest_stock(state.error(), stock, name, soon());
    shown.unreadable.push_back(std::move(state).error());
  }
  return shown;
}

std::string text_of(const ShownStocks& shown, const Options& options, const Stock& stock, const Look& look) {
  std::string text;
  for (const StockState& state : shown.states)
    text += options.json ? stock_json(state) + "\n" : stock_text(state, look);
  const bool none = shown.states.empty() && shown.unreadable.empty() && !options.json;
  return none ? "there is no stock in " + stock.store() + "\n" : text;
}

WallTime wall_time(std::int64_t us) { return WallTime(std::chrono::microseconds(us)); }

std::string request_line(const KnownRequest& one) {
  std::string line = rfc3339(wall_time(one.changed_us)) + "  " + one.kind;
  line += std::string(8 - std::string_view(one.kind).size(), ' ') + one.state;
  line += std::string(10 - std::string_view(one.state).size(), ' ') + right(std::to_string(one.quantity), 5);
  if (one.refunded > 0) line += ", " + std::to_string(one.refunded) + " back";
  return line + "  " + printable(one.id.text()) + (one.parts.empty() ? "" : "  " + parts_text(one.parts)) + "\n";
}

std::string request_json(const LockName& name, const KnownRequest& one) {
  JsonWriter json("dlock.stock.request/1");
  json.field("name", name.text()).field("id", one.id.text()).field("kind", one.kind).field("state", one.state);
  json.field("when", rfc3339(wall_time(one.changed_us)));
  put_parts(json.field("qty", one.quantity).field("refunded", one.refunded), one.parts);
  return json.end_object().line();
}

int show_requests(const Options& options, Stock& stock, const Runtime& runtime, Output& out) {
  const LockName& name = options.keys.front();
  const CallLimit limit{runtime.clock.now() + std::max<Duration>(options.connect_timeout, kListBudget)};
  const auto known = stock.requests(name, static_cast<std::size_t>(options.stock->limit), limit);
  if (!known) return fail(runtime.log, with_nearest_stock(known.error(), stock, name, limit));
  std::string text;
  for (const KnownRequest& one : *known) text += options.json ? request_json(name, one) : request_line(one);
  return print(out, runtime.log, text);
}

}  // namespace

std::string stock_text(const StockState& state, const Look& look) {
  std::string text = heading(state, look);
  Quantity most = 1;
  for (const StockSegment& segment : state.segments) most = std::max(most, segment.quantity + segment.reserved);
  const std::size_t number_width = std::to_string(state.segments.size()).size();
  const std::size_t quantity_width = std::to_string(most).size();
  const std::size_t taken = number_width + 2 * quantity_width + 20;
  const std::size_t room = look.width == 0 ? kWidestBar : look.width > taken ? look.width - taken : 0;
  const bool shared = state.segments.size() > kOnePerLine;
  const std::size_t widest_bar = std::min(room, shared ? kBarBeside : kWidestBar);
  std::vector<std::string> cells;
  std::size_t widest = 1;
  for (std::size_t i = 0; i < state.segments.size(); ++i) {
    const StockSegment& segment = state.segments[i];
    std::string cell =
        "  " + right(std::to_string(i), number_width) + "  " + right(std::to_string(segment.quantity), quantity_width);
    if (look.terminal) cell += "  " + bar(segment, most, widest_bar, look.unicode);
    if (segment.reserved > 0) cell += "  " + std::to_string(segment.reserved) + " set aside";
    if (segment.locked_by) cell += ", locked by " + printable(segment.locked_by->text(), kLongestId);
    widest = std::max(widest, display_width(cell));
    cells.push_back(std::move(cell));
  }
  const std::size_t fit = (look.width == 0 ? kUsualWidth : look.width) / widest;
  return text + in_columns(cells, shared ? std::max<std::size_t>(fit, 1) : 1, widest);
}

std::string stock_json(const StockState& state) {
  JsonWriter json("dlock.stock/1");
  json.field("name", state.name.text()).field("total", state.total()).field("reserved", state.reserved());
  json.field("open", state.open).field("created", state.created).field("added", state.added);
  json.field("taken", state.taken).field("refunded", state.refunded).key("segments").begin_array();
  for (std::size_t i = 0; i < state.segments.size(); ++i) {
    json.begin_object().field("segment", i).field("quantity", state.segments[i].quantity);
    json.field("reserved", state.segments[i].reserved);
    if (state.segments[i].locked_by) json.field("locked_by", state.segments[i].locked_by->text());
    json.end_object();
  }
  return json.end_array().end_object().str();
}

int stock_show(const Options& options, Stock& stock, const Runtime& runtime, Output& out) {
  if (options.stock->requests) return show_requests(options, stock, runtime, out);
  const Duration interval = options.interval.value_or(1s);
  if (options.watch && out.look().terminal && !options.json) {
    const auto frame = [&] {
      const auto shown = look_at(options, stock, runtime);
      std::string text = watch_title(stock.store(), runtime, out.look());
      text += shown ? text_of(*shown, options, stock, out.look()) : shown.error().message + "\n";
      if (!shown) return text;
      for (const Error& error : shown->unreadable) text += error.message + "\n";
      return text;
    };
    return watch_screen(interval, frame, runtime, out, 0);
  }
  if (options.watch) {
    std::string before;
    const auto news = [&]() -> Result<std::string> {
      TRY_ASSIGN(const auto shown, look_at(options, stock, runtime));
      std::string text = text_of(shown, options, stock, out.look());
      if (text.empty() && !shown.unreadable.empty()) return shown.unreadable.front();
      if (text == before) return std::string();
      return before = std::move(text);
    };
    return watch_news(interval, news, runtime, out);
  }
  const auto shown = look_at(options, stock, runtime);
  if (!shown) return fail(runtime.log, shown.error());
  int status = print(out, runtime.log, text_of(*shown, options, stock, out.look()));
  for (const Error& error : shown->unreadable) {
    const int why = fail(runtime.log, error);
    if (status == 0) status = why;
  }
  return status;
}

}  // namespace dlock
