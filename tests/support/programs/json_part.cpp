// SPDX-License-Identifier: Apache-2.0
// json_part POINTER... < JSON: prints the value at each (RFC 6901) in a line, a string as it is; json_part --count
// POINTER...: how many elements each has. What is not there is null, and has none. For tests: what is asked for every
// few milliseconds must not take longer than that, as jq does.
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  const bool count = argc > 1 && std::strcmp(argv[1], "--count") == 0;
  const auto document = nlohmann::json::parse(std::cin, nullptr, false);
  if (document.is_discarded()) return 1;
  for (int i = count ? 2 : 1; i < argc; i++) {
    const nlohmann::json::json_pointer place(argv[i]);
    const auto value = document.contains(place) ? document.at(place) : nlohmann::json();
    if (count) {
      std::cout << value.size() << '\n';
    } else if (value.is_string()) {
      std::cout << value.get<std::string>() << '\n';
    } else {
      std::cout << value << '\n';
    }
  }
}
