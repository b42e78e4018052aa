// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/framing.h"

#include <cstdint>

#include "lib/base/text.h"
#include "lib/config/url_schemes.h"

namespace dlock {
namespace {

std::optional<std::size_t> resp_size(std::string_view data) {
  std::size_t at = 0;
  for (std::int64_t missing = 1; missing > 0; --missing) {
    const std::size_t line = data.find("\r\n", at);
    if (line == std::string_view::npos) return std::nullopt;
    const char kind = data[at];
    const auto count = leading_number<std::int64_t>(data.substr(at + 1));
    at = line + 2;
    if (kind == '$' && count >= 0) at += static_cast<std::size_t>(count) + 2;
    if (kind == '*' || kind == '>' || kind == '~') missing += count > 0 ? count : 0;
    if (kind == '%') missing += 2 * count;
    if (at > data.size()) return std::nullopt;
  }
  return at;
}

std::optional<std::size_t> with_head(std::string_view data, std::size_t length_bytes, bool highest_first) {
  constexpr std::size_t kHead = 4;
  if (data.size() < kHead) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    const std::size_t from = highest_first ? i : length_bytes - 1 - i;
    length = length << 8 | static_cast<unsigned char>(data[from]);
  }
  return kHead + length <= data.size() ? std::optional(kHead + length) : std::nullopt;
}

}  // namespace

std::optional<std::size_t> message_size(Framing framing, std::string_view data) {
  if (framing == Framing::kRedis) return resp_size(data);
  if (framing == Framing::kFrames) return with_head(data, 4, true);
  return framing == Framing::kPackets ? with_head(data, 3, false) : data.size();
}

Framing framing_of(const BackendUrl& url) {
  const UrlScheme& scheme = *find_url_scheme(url.scheme);
  const std::string_view family = table_of(scheme).family;
  if ((scheme.topics & kTlsUrl) != 0) return Framing::kBytes;
  return family == "redis" ? Framing::kRedis : family == "zookeeper" ? Framing::kFrames : Framing::kBytes;
}

}  // namespace dlock
