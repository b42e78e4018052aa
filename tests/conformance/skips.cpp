// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/skips.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "tests/support/text_parts.h"

namespace dlock::testing {
namespace {

bool is_on(const Skips::List& list, const std::string& reason, const std::string& backend) {
  const auto found = list.find(reason);
  return found != list.end() && found->second.count(backend) > 0;
}

void print_each(const char* what, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::printf("%s: %s\n", what, line.c_str());
}

}  // namespace

Skips::List Skips::parse(std::string_view text) {
  List list;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    line = take_until(line, '#');
    if (line.empty()) continue;
    const std::string reason(take_until(line, ':'));
    while (!line.empty()) list[reason].emplace(take_until(line, ';'));
  }
  return list;
}

bool Skips::note(const std::string& backend, const std::string& test_case, const std::string& reason, bool lacks) {
  auto& cases = asked_[reason][backend];
  if (lacks) cases.insert(test_case);
  return lacks;
}

std::vector<std::string> Skips::listed(const List& list) const {
  std::map<std::string, std::string> lines;
  for (const auto& [reason, backends] : asked_) {
    for (const auto& [backend, cases] : backends) {
      if (!is_on(list, reason, backend)) continue;
      for (const std::string& one : cases) {
        std::string& line = lines[one + ": " + reason + ": "];
        line.append(line.empty() ? "" : "; ").append(backend);
      }
    }
  }
  std::vector<std::string> joined;
  for (const auto& [head, line] : lines) joined.push_back(head + line);
  return joined;
}

std::vector<std::string> Skips::unlisted(const List& list) const {
  std::vector<std::string> lines;
  for (const auto& [reason, backends] : asked_) {
    for (const auto& [backend, cases] : backends) {
      if (is_on(list, reason, backend)) continue;
      for (const std::string& one : cases) lines.push_back(backend + ": " + one + ": " + reason);
    }
  }
  return lines;
}

std::vector<std::string> Skips::stale(const List& list, const Run& run) const {
  std::vector<std::string> lines;
  for (const auto& [reason, backends] : list) {
    const auto cases_of = asked_.find(reason);
    for (const std::string& backend : backends) {
      const bool runs = run.backends.count(backend) > 0;
      const bool asked = cases_of != asked_.end() && cases_of->second.count(backend) > 0;
      const bool left_out = asked && !cases_of->second.at(backend).empty();
      const bool can_tell = runs ? asked || run.every_case : run.every_backend;
      if (can_tell && !left_out) lines.push_back(backend + ": " + reason);
    }
  }
  return lines;
}

Skips& skips() {
  static Skips all;
  return all;
}

bool skips_case(const std::string& backend, bool lacks, const char* reason) {
  return skips().note(backend, doctest::getContextOptions()->currentTest->m_name, reason, lacks);
}

int report_skips(const std::string& path, const Skips::Run& run) {
  const Skips::List list = Skips::parse(text_of_file(path));
  const auto unlisted = skips().unlisted(list);
  const auto stale = skips().stale(list, run);
  // scripts/jobs.bash knows these words.
  print_each("skipped, and not on the list", unlisted);
  print_each("skipped", skips().listed(list));
  print_each("on the list, and not skipped any more", stale);
  if (unlisted.empty() && stale.empty()) return 0;
  std::printf("the list: %s\n", path.c_str());
  const char* ci = getenv("CI");
  return ci && std::string(ci) == "true" ? 1 : 0;
}

}  // namespace dlock::testing
