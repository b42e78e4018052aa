// SPDX-License-Identifier: Apache-2.0
// The judge of `dlock verify` for tests, whose sections are `dlock __section` and foreign clients that write the same
// lines:
//   history_judge check FILE [--sections N] [--unfenced]  0 if the history is right; else says each thing that is wrong
//   history_judge check FILE --sections N --ours          the same where only sections with a token, dlock's, run alone
//   history_judge gap FILE [--after N]                    prints the ms between the last act of the Nth section (1) and
//                                                         the next one's BEGIN
// Right is: no act of one section after the next one's BEGIN; tokens strictly grow; N sections in all (--sections). A
// foreign client's TOKEN is "-". A section that was killed is judged by its last line.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/verify/checks.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

struct Question {
  std::string file;
  std::optional<std::size_t> sections = {};
  bool unfenced = false;
  bool ours = false;
  std::size_t after = 1;
};

/// What dlock's sections exclude is told in front of each: all of them one lock, which, with `ours`, foreign ones
/// share.
VerifyHistory read(const Question& question) {
  VerifyHistory history;
  std::ifstream file(question.file);
  for (std::string line; std::getline(file, line);) {
    const auto act = parse_act(line);
    if (act && act->what == Act::What::kBegin) {
      const bool foreign = question.ours && act->words.starts_with('-');
      std::string ask = act_line({act->at, act->who, Act::What::kAsk, foreign ? "k shared" : "k exclusive"});
      ask.pop_back();
      history.add_line(ask);
    }
    history.add_line(line);
  }
  return history;
}

std::vector<std::string> wrongs(const Question& question) {
  const VerifyHistory history = read(question);
  std::vector<Judgement> judgements{check_exclusion(history, {}), check_sharing(history, {})};
  if (!question.unfenced) judgements.push_back(check_tokens(history));
  std::vector<std::string> wrong;
  for (const Judgement& judgement : judgements) {
    for (const Breach& breach : judgement.breaches) wrong.push_back(breach.what);
  }
  const auto& sections = history.sections();
  const std::size_t want = question.sections.value_or(std::max<std::size_t>(1, sections.size()));
  if (sections.size() != want) {
    wrong.push_back(std::to_string(sections.size()) + " sections instead of " + std::to_string(want));
  }
  if (history.torn() > 0) wrong.push_back(std::to_string(history.torn()) + " lines are of no history");
  const bool some_ours = std::any_of(sections.begin(), sections.end(), [](const Section& one) { return one.token; });
  if (question.ours && !some_ours) wrong.emplace_back("none of them is ours");
  return wrong;
}

int check(const Question& question) {
  const auto wrong = wrongs(question);
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 20); ++i) std::printf("%s\n", wrong[i].c_str());
  return wrong.empty() ? 0 : 1;
}

int gap(const Question& question) {
  const VerifyHistory history = read(question);
  const auto& sections = history.sections();
  if (sections.size() <= question.after || question.after == 0) {
    std::printf("there are no %zu sections\n", question.after + 1);
    return 1;
  }
  const Duration length = *sections[question.after].begun - sections[question.after - 1].last;
  std::printf("%lld\n", static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(length).count()));
  return 0;
}

}  // namespace
}  // namespace dlock

int main(int argc, char** argv) {
  using namespace dlock;
  if (argc < 3) return 64;
  Question question{.file = argv[2]};
  for (int i = 3; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_number = i + 1 < argc;
    if (word == "--unfenced") question.unfenced = true;
    else if (word == "--ours") question.ours = true;
    else if (word == "--sections" && has_number) question.sections = leading_number<std::size_t>(argv[++i]);
    else if (word == "--after" && has_number) question.after = leading_number<std::size_t>(argv[++i]);
    else return 64;
  }
  if (argv[1] == std::string_view("check")) return check(question);
  return argv[1] == std::string_view("gap") ? gap(question) : 64;
}
