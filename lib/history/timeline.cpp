// SPDX-License-Identifier: Apache-2.0
#include "lib/history/timeline.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "lib/base/human_text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr microseconds kDay = 24h;

/// The least round step that is not shorter than `least`.
microseconds round_step(microseconds least) {
  constexpr microseconds kSteps[] = {
      1ms, 2ms, 5ms,  10ms,     20ms,     50ms,     100ms,     200ms,     500ms,     1s,        2s, 5s,
      10s, 15s, 30s,  1min,     2min,     5min,     10min,     15min,     30min,     1h,        2h, 3h,
      6h,  12h, kDay, 2 * kDay, 4 * kDay, 7 * kDay, 14 * kDay, 28 * kDay, 91 * kDay, 365 * kDay};
  const auto* step = std::find_if(std::begin(kSteps), std::end(kSteps), [&](microseconds one) { return one >= least; });
  return step == std::end(kSteps) ? least : *step;
}

// In pixels.
constexpr double kWidth = 960;
constexpr double kEdge = 16;
constexpr double kLaneHeight = 24;
constexpr double kBarHeight = 16;
constexpr double kHeadingHeight = 28;
constexpr double kCharacter = 6.3;  ///< of a text of 11 px, on average
constexpr double kBold = 1.3;       ///< how much wider that is
constexpr double kLeastBar = 2;
constexpr std::size_t kMostLabelColumns = 40;

constexpr const char* kInk = "#1a1a1a";
constexpr const char* kGrey = "#6b6b6b";
constexpr const char* kRed = "#c62828";
constexpr const char* kDarkRed = "#7f0000";  ///< to be seen on red

/// The same picture on a dark page.
constexpr const char* kDarkStyle =
    "<style>@media (prefers-color-scheme: dark) {\n"
    "rect[fill=\"#ffffff\"] { fill: #14181d }\n"
    "text[fill=\"#1a1a1a\"] { fill: #e8eaed }\n"
    "text[fill=\"#6b6b6b\"] { fill: #a9b0b8 }\n"
    "text[fill=\"#c62828\"] { fill: #ff8a80 }\n"
    "path[stroke=\"#1a1a1a\"] { stroke: #e8eaed }\n"
    "path[stroke=\"#e2e2e2\"] { stroke: #2c333b }\n"
    "path[stroke=\"#7f0000\"] { stroke: #ffb4ab }\n"
    "rect[fill=\"#1f4e79\"] { fill: #3d7ab5 }\n"
    "}</style>\n";

double width_of(std::string_view text) { return kCharacter * static_cast<double>(display_width(text)); }

std::string px(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.1f", value);
  return digits;
}

/// UTF-8 without the two characters that XML 1.0 forbids besides control characters: U+FFFE and U+FFFF.
std::string fit_for_xml(std::string text) {
  for (const char* forbidden : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (std::size_t at = 0; (at = text.find(forbidden, at)) != std::string::npos;) text.replace(at, 3, "\xef\xbf\xbd");
  }
  return text;
}

/// For the inside of an element or of an attribute in double quotes.
std::string escaped_text(std::string_view text) {
  std::string out;
  for (const char c : fit_for_xml(printable(text))) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

struct Style {
  const char* fill;
  const char* line;
  const char* text;
};

Style style_of(Span::Kind kind) {
  constexpr Style kStyles[] = {{"#dbe7f3", "#9bb8d3", "#2b4a66"},
                               {"#1f4e79", "#1f4e79", "#ffffff"},
                               {kRed, kRed, "#ffffff"},
                               {"#9db9d4", "#1f4e79", "#1b3a57"}};
  return kStyles[static_cast<std::size_t>(kind)];
}

class Drawing {
 public:
  explicit Drawing(const Timeline& timeline) : timeline_(timeline), axis_(axis_of(timeline)) {
    double widest = 0;
    for (const LaneGroup& group : timeline.groups) {
      for (const Lane& lane : group.lanes) widest = std::max(widest, width_of(shown(lane.label)));
    }
    left_ = kEdge + widest + 12;
    right_ = kWidth - kEdge - 8;
  }

  std::string draw() {
    y_ = kEdge;
    if (!timeline_.title.empty()) {
      y_ += 16;
      text(kEdge, y_, timeline_.title, "font-size=\"16\" font-weight=\"bold\"", kInk);
      y_ += 6;
    }
    if (!timeline_.subtitle.empty()) {
      y_ += 13;
      text(kEdge, y_, timeline_.subtitle, "", kGrey);
      y_ += 6;
    }
    y_ += 22;  // the words of the axis
    top_ = y_;
    for (const LaneGroup& group : timeline_.groups) draw_group(group);
    bottom_ = y_ + 4;
    y_ = bottom_ + 8;
    draw_legend();
    return head() + backdrop() + out_ + "</g>\n</svg>\n";
  }

 private:
  static TimeAxis axis_of(const Timeline& timeline) {
    std::optional<WallTime> first;
    std::optional<WallTime> last;
    const auto include = [&](WallTime at) {
      first = first ? std::min(*first, at) : at;
      last = last ? std::max(*last, at) : at;
    };
    for (const LaneGroup& group : timeline.groups) {
      for (const Lane& lane : group.lanes) {
        for (const Span& span : lane.spans) {
          include(span.from);
          include(span.to);
        }
        for (const Mark& mark : lane.marks) include(mark.at);
      }
    }
    const WallTime from = timeline.from.value_or(first.value_or(WallTime{}));
    const WallTime to = timeline.to.value_or(last.value_or(from));
    return {from, to, timeline.zone_offset};
  }

  static std::string shown(const std::string& label) { return elided(printable(label), kMostLabelColumns); }

  double x(WallTime at) const { return left_ + (right_ - left_) * axis_.place(at); }

  void text(double at_x, double at_y, const std::string& what, const std::string& attributes, const char* colour) {
    out_ += "<text x=\"" + px(at_x) + "\" y=\"" + px(at_y) + "\" fill=\"" + colour + "\"" +
            (attributes.empty() ? "" : " " + attributes) + ">" + escaped_text(what) + "</text>\n";
  }

  void draw_legend() {
    double at = left_;
    for (const auto& [kind, word] : {std::pair{Span::Kind::kWait, "waits"}, std::pair{Span::Kind::kHold, "holds"},
                                     std::pair{Span::Kind::kLost, "goes on without the lock"}}) {
      const Style style = style_of(kind);
      out_ += "<rect x=\"" + px(at) + "\" y=\"" + px(y_) + "\" width=\"16.0\" height=\"10.0\" fill=\"" + style.fill +
              "\" stroke=\"" + style.line + "\"/>";
      text(at + 21, y_ + 9, word, "", kGrey);
      at += 21 + width_of(word) + 20;
    }
    y_ += 10;
  }

  void draw_group(const LaneGroup& group) {
    if (!group.heading.empty()) {
      text(kEdge, y_ + kHeadingHeight - 9, group.heading, "font-size=\"13\" font-weight=\"bold\"", kInk);
      y_ += kHeadingHeight;
    }
    for (const Lane& lane : group.lanes) {
      draw_lane(lane);
      y_ += kLaneHeight;
    }
  }

  void draw_lane(const Lane& lane) {
    const double middle = y_ + kLaneHeight / 2;
    text(left_ - 12, middle + 4, shown(lane.label), "text-anchor=\"end\"", kInk);
    for (std::size_t i = 0; i < lane.spans.size(); ++i) draw_span(lane, i);
    for (const Mark& mark : lane.marks) draw_mark(lane, mark);
  }

  /// Where the next thing of this lane begins after `at`.
  double free_until(const Lane& lane, double at) const {
    double until = right_;
    for (const Span& span : lane.spans) {
      if (x(span.from) >= at - 0.01) until = std::min(until, x(span.from));
    }
    for (const Mark& mark : lane.marks) {
      if (x(mark.at) >= at - 0.01) until = std::min(until, x(mark.at));
    }
    return until;
  }

  void draw_span(const Lane& lane, std::size_t index) {
    const Span& span = lane.spans[index];
    if (!axis_.shows(span.from, span.to)) return;
    const Style style = style_of(span.kind);
    const double from = x(span.from);
    const double to = std::max(x(span.to), from + kLeastBar);
    const double top = y_ + (kLaneHeight - kBarHeight) / 2;
    out_ += "<g>";
    if (!span.detail.empty()) out_ += "<title>" + escaped_text(span.detail) + "</title>";
    out_ += "<rect x=\"" + px(from) + "\" y=\"" + px(top) + "\" width=\"" + px(to - from) + "\" height=\"" +
            px(kBarHeight) + "\" fill=\"" + style.fill + "\" stroke=\"" + style.line + "\"/>";
    if (span.open) {
      out_ += "<path d=\"M" + px(to) + " " + px(top - 3) + "V" + px(top + kBarHeight + 3) + "\" stroke=\"" + kInk +
              "\" stroke-dasharray=\"2 2\"/>";
    }
    out_ += "</g>\n";
    const double wide = width_of(span.label);
    if (span.label.empty() || is_tagged(lane, from + 4, from + 4 + wide)) return;
    const double baseline = y_ + kLaneHeight / 2 + 4;
    if (wide + 8 <= to - from) text(from + 4, baseline, span.label, "", style.text);
    else if (to + 4 + wide <= free_until(lane, to)) text(to + 4, baseline, span.label, "", colour_beside(span.kind));
  }

  static const char* colour_beside(Span::Kind kind) { return kind == Span::Kind::kLost ? kRed : kGrey; }

  /// The word stands after its line, or before it where the picture ends; on white, so that it can be read on a
  /// bar as well.
  void draw_mark(const Lane& lane, const Mark& mark) {
    if (!axis_.shows(mark.at, mark.at)) return;
    const char* colour = mark.bad ? kRed : kGrey;
    const double at = x(mark.at);
    out_ += "<path d=\"M" + px(at) + " " + px(y_ + 1) + "v" + px(kLaneHeight - 2) + "\" stroke=\"" +
            (mark.bad ? kDarkRed : kGrey) + "\" stroke-width=\"2\"/>\n";
    const double wide = kBold * width_of(mark.label);
    if (mark.label.empty()) return;
    const double start = tag_start(mark);
    // Where several are close to each other only the last one has its word: it is how it ended.
    if (start > at && crowded(lane, mark, at + 5 + wide)) return;
    out_ += "<rect x=\"" + px(start) + "\" y=\"" + px(y_ + 6) + "\" width=\"" + px(wide + 4) +
            "\" height=\"12\" fill=\"#ffffff\"/>";
    text(start + 2, y_ + kLaneHeight / 2 + 4, mark.label, "font-weight=\"bold\"", colour);
  }

  double tag_start(const Mark& mark) const {
    const double wide = kBold * width_of(mark.label);
    const double at = x(mark.at);
    return at + 5 + wide <= right_ ? at + 3 : at - 7 - wide;
  }

  /// Whether the word of a mark, or its line, would lie on what is between the two.
  bool is_tagged(const Lane& lane, double from, double to) const {
    return std::any_of(lane.marks.begin(), lane.marks.end(), [&](const Mark& mark) {
      const double start = std::min(tag_start(mark), x(mark.at));
      return axis_.shows(mark.at, mark.at) && start < to && start + kBold * width_of(mark.label) + 7 > from;
    });
  }

  bool crowded(const Lane& lane, const Mark& mark, double until) const {
    return std::any_of(lane.marks.begin(), lane.marks.end(),
                       [&](const Mark& other) { return other.at > mark.at && x(other.at) < until; });
  }

  std::string head() const {
    const std::string height = px(y_ + kEdge);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + px(kWidth) + "\" height=\"" + height +
           "\" viewBox=\"0 0 " + px(kWidth) + " " + height + "\">\n" + kDarkStyle +
           "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
           "<g font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"11\">\n";
  }

  std::string backdrop() const {
    std::string out;
    for (const TimeAxis::Tick& tick : axis_.ticks((right_ - left_) / 90)) {
      const double at = x(tick.at);
      out += "<path d=\"M" + px(at) + " " + px(top_) + "V" + px(bottom_) + "\" stroke=\"#e2e2e2\"/>\n";
      out += "<text x=\"" + px(at) + "\" y=\"" + px(top_ - 6) + "\" fill=\"" + kGrey + "\" text-anchor=\"middle\">" +
             tick.label + "</text>\n";
    }
    return out;
  }

  const Timeline& timeline_;
  const TimeAxis axis_;
  double left_ = 0;
  double right_ = 0;
  double y_ = 0;
  double top_ = 0;
  double bottom_ = 0;
  std::string out_;
};

}  // namespace

TimeAxis::TimeAxis(WallTime from, WallTime to, std::chrono::seconds zone)
    : from_(from), to_(to > from ? to : from + 1s), zone_(zone) {}

double TimeAxis::place(WallTime at) const {
  const auto part = static_cast<double>((at - from_).count()) / static_cast<double>((to_ - from_).count());
  return std::clamp(part, 0.0, 1.0);
}

std::vector<TimeAxis::Tick> TimeAxis::ticks(double most) const {
  const auto whole = static_cast<double>((to_ - from_).count());
  const auto least = static_cast<std::int64_t>(whole / std::max(most, 1.0));
  const microseconds step = round_step(microseconds(std::max<std::int64_t>(least, 1)));
  const microseconds origin = -zone_;
  const microseconds ahead = from_.time_since_epoch() - origin;
  const microseconds first = origin + (ahead + step - 1us) / step * step;
  std::vector<Tick> ticks;
  for (WallTime at(first); at <= to_; at += step) ticks.push_back({at, label(at, step)});
  return ticks;
}

std::string TimeAxis::label(WallTime at, microseconds step) const {
  const std::string text = rfc3339(at + zone_);  // 2026-02-03T04:05:06.789Z
  if (step >= kDay) return text.substr(0, 10);
  if (step >= 1min) return text.substr(11, 5);
  return text.substr(11, step >= 1s ? 8 : 12);
}

std::string timeline_svg(const Timeline& timeline) { return Drawing(timeline).draw(); }

}  // namespace dlock
