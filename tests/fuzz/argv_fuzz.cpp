// SPDX-License-Identifier: Apache-2.0
// The input is a command line with a newline behind each word.
#include <string>
#include <vector>

#include "cmd/options/arguments.h"
#include "cmd/options/operands.h"
#include "tests/fuzz/target.h"

using namespace dlock;

const std::string_view dlock::kPieces[] = {"run\n",
                                           "lock\n",
                                           "hold\n",
                                           "acquire\n",
                                           "fence\n",
                                           "inspect\n",
                                           "check\n",
                                           "config\n",
                                           "help\n",
                                           "completion\n",
                                           "-n\n",
                                           "-w5\n",
                                           "-w\n",
                                           "5\n",
                                           "--wait=5\n",
                                           "--wait\n",
                                           "--ttl\n",
                                           "-nq\n",
                                           "-c\n",
                                           "-cx\n",
                                           "--command=a b\n",
                                           "-E\n",
                                           "-s\n",
                                           "--permits\n",
                                           "-F\n",
                                           "-u\n",
                                           "--\n",
                                           "-\n",
                                           "\n",
                                           "k\n",
                                           "KEY\n",
                                           "cmd\n",
                                           "--x\n",
                                           "[a,b]\n",
                                           "-b\n",
                                           "local:\n",
                                           "--help\n",
                                           "-V\n",
                                           "--=\n",
                                           "-=\n",
                                           "show\n",
                                           "run\nk\n--\ncmd\n",
                                           "run\nk\nsh\n-c\nx\n"};
const std::size_t dlock::kPieceCount = std::size(kPieces);

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words{"dlock"};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string word(text.substr(0, end));
    word.resize(word.find('\0') == std::string::npos ? word.size() : word.find('\0'));
    words.push_back(std::move(word));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

/// CMD is always the end of argv, unchanged.
void check_child(const Arguments& arguments, const std::vector<char*>& argv) {
  const std::size_t count = arguments.child.size();
  for (std::size_t i = 0; i < count; ++i) {
    promise(arguments.child[i] == argv[argv.size() - 1 - count + i], "CMD is the end of argv");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words = words_of(as_text(data, size));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto arguments = split_arguments(static_cast<int>(words.size()), argv.data());
  if (!arguments) {
    promise(arguments.error().code == ErrorCode::kInvalid, "a command line is wrong by its caller's fault");
    promise(!arguments.error().next.empty(), "an error says what to do next");
    return 0;
  }
  check_child(*arguments, argv);
  std::size_t dashes = 0;
  for (const std::string& word : words) dashes += word == "--" ? 1 : 0;
  for (const std::string_view word : arguments->words) {
    promise(dashes > 0 || word.size() < 2 || word.front() != '-', "a word with a dash is a key only behind --");
  }
  Options options;
  if (!place_operands(*arguments, options) || arguments->command != Command::kRun) return 0;
  promise(!options.keys.empty(), "run has a key");
  promise(options.child.empty() == options.shell_command.has_value() || arguments->find(OptionId::kCommandText),
          "run has something to run");
  return 0;
}
