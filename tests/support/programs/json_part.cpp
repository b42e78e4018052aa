// SPDX-License-Identifier: Apache-2.0
// json_part POINTER < JSON: prints the value there (RFC 6901), a string as it is; json_part --count POINTER: how many
// elements it has. What is not there is null, and has none. For tests: what is asked for every few milliseconds must
// not take longer than that, as jq does.
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  const bool count = argc > 2 && std::strcmp(argv[1], "--count") == 0;
  const auto document = nlohmann::json::parse(std::cin, nullptr, false);
  if (argc < 2 || document.is_discarded()) return 1;
  const nlohmann::json::json_pointer place(argv[argc - 1]);
  const auto value = document.contains(place) ? document.at(place) : nlohmann::json();
  if (count) {
    std::cout << value.size() << '\n';
  } else if (value.is_string()) {
    std::cout << value.get<std::string>() << '\n';
  } else {
    std::cout << value << '\n';
  }
}
