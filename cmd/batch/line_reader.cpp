// SPDX-License-Identifier: Apache-2.0
#include "cmd/batch/line_reader.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dlock {
namespace {

constexpr std::size_t kChunk = 65'536;

/// Lines of Windows end in two characters.
std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::optional<LineReader::Line> LineReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const std::size_t end = rest.find('\n');
  if (end != std::string_view::npos) {
    begin_ += end + 1;
    const bool too_long = std::exchange(too_long_, false) || end > kLongest;
    return Line{too_long ? Line::Kind::kTooLong : Line::Kind::kWhole, ++number_,
                too_long ? std::string_view() : without_return(rest.substr(0, end))};
  }
  if (ended_ && (too_long_ || !rest.empty())) {
    begin_ = buffer_.size();
    const bool too_long = std::exchange(too_long_, false) || rest.size() > kLongest;
    return Line{too_long ? Line::Kind::kTooLong : Line::Kind::kWhole, ++number_,
                too_long ? std::string_view() : without_return(rest)};
  }
  if (rest.size() > kLongest) {
    too_long_ = true;
    begin_ = buffer_.size();
  }
  return std::nullopt;
}

bool LineReader::fill() {
  buffer_.erase(0, std::exchange(begin_, 0));
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kChunk);
  const ssize_t n = read(fd_, buffer_.data() + before, kChunk);
  buffer_.resize(before + (n > 0 ? static_cast<std::size_t>(n) : 0));
  if (n == 0) ended_ = true;
  return n >= 0 || errno == EINTR || errno == EAGAIN;
}

}  // namespace dlock
