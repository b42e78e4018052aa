// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/history_reader.h"

#include <fcntl.h>
#include <unistd.h>

namespace dlock {

HistoryReader::HistoryReader(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

void HistoryReader::read_into(Chronicle& chronicle) {
  char block[65536];
  ssize_t size = 0;
  while ((size = read(file_.get(), block, sizeof block)) > 0) {
    rest_.append(block, static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      chronicle.add_line(std::string_view(rest_).substr(begin, end - begin));
    }
    rest_.erase(0, begin);
  }
}

}  // namespace dlock
