// SPDX-License-Identifier: Apache-2.0
// Feeds a fuzz target without libFuzzer: every piece alone, then as many random inputs as argv[1] says (20000), made by
// joining pieces and damaging them. The seed is argv[2] (1): the same inputs every time.
#include <cstdlib>
#include <random>
#include <string>

#include "tests/fuzz/target.h"

namespace {

using dlock::kPieceCount;
using dlock::kPieces;

class Inputs {
 public:
  explicit Inputs(unsigned seed) : random_(seed) {}

  std::string next() {
    std::string text;
    for (std::size_t parts = below(6); parts > 0; --parts) text += kPieces[below(kPieceCount)];
    for (std::size_t hits = below(4); hits > 0; --hits) damage(text);
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  void damage(std::string& text) {
    const char byte = static_cast<char>(below(3) == 0 ? below(256) : 32 + below(95));
    if (text.empty()) return text.push_back(byte);
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1 + below(4));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(20)));
        break;
      default:
        text.resize(at);
        break;
    }
  }

  std::mt19937 random_;
};

void feed(std::string_view text) {
  // A copy of its exact size on the heap, so that AddressSanitizer sees a read beyond the end.
  auto* copy = static_cast<std::uint8_t*>(std::malloc(text.size() + (text.empty() ? 1 : 0)));
  for (std::size_t i = 0; i < text.size(); ++i) copy[i] = static_cast<std::uint8_t>(text[i]);
  LLVMFuzzerTestOneInput(copy, text.size());
  std::free(copy);
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 20000;
  Inputs inputs(argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 1);
  for (std::size_t i = 0; i < kPieceCount; ++i) feed(kPieces[i]);
  for (long i = 0; i < count; ++i) feed(inputs.next());
  return 0;
}
