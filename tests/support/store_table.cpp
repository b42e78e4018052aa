// SPDX-License-Identifier: Apache-2.0
#include "tests/support/store_table.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "tests/support/text_parts.h"

namespace dlock::testing {
namespace {

bool one_is_left_out = !DLOCK_EVERY_BACKEND_IS_BUILT;

StoreRow parse_row(std::string_view line) {
  const std::string whole(line);
  if (std::count(line.begin(), line.end(), '|') != 4) throw std::runtime_error("not five parts: " + whole);
  StoreRow row;
  row.port = take_until(line, '|');
  row.name = take_until(line, '|');
  row.variable = take_until(line, '|');
  row.rest = take_until(line, '|');
  std::istringstream words{std::string(line)};
  row.lacks = {std::istream_iterator<std::string>(words), {}};
  return row;
}

bool is_ci() {
  const char* ci = getenv("CI");
  return ci && std::string_view(ci) == "true";
}

/// Empty: it cannot run here.
std::string url_of(const StoreRow& row, const std::string& directory) {
  if (row.variable == kOwnDirectory) return directory + row.rest;
  const char* server = getenv(row.variable.c_str());
  if (!server && is_ci()) throw std::runtime_error(row.variable + " is not set: there is no server to test against");
  if (server && *server != 0) return server + row.rest;
  one_is_left_out = true;
  return {};
}

}  // namespace

std::vector<StoreRow> parse_store_table(std::string_view text) {
  std::vector<StoreRow> rows;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    line = take_until(line, '#');
    if (!line.empty()) rows.push_back(parse_row(line));
  }
  return rows;
}

std::vector<FoundStore> stores_of(std::string_view port, const std::string& directory,
                                  const std::set<std::string>& known) {
  std::vector<FoundStore> found;
  std::string_view tables = DLOCK_STORE_TABLES;  // paths, ':' between them
  while (!tables.empty()) {
    const std::string path(take_until(tables, ':'));
    for (const StoreRow& row : parse_store_table(text_of_file(path))) {
      if (row.port != port) continue;
      for (const std::string& word : row.lacks) {
        if (known.count(word) == 0) throw std::runtime_error(path + ": a store cannot lack '" + word + "'");
      }
      if (const std::string url = url_of(row, directory); !url.empty()) found.push_back({row, url});
    }
  }
  return found;
}

bool every_store_was_found() { return !one_is_left_out; }

}  // namespace dlock::testing
