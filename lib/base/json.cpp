// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace dlock {
std::string json_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Character front = front_character(text);
    const char c = text.front();
    if (!front.valid) out += "\\ufffd";
    else if (c == '"' || c == '\\') out += {'\\', c};
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else out += text.substr(0, front.bytes);
    text.remove_prefix(front.bytes);
  }
  return out + '"';
}

}  // namespace dlock
