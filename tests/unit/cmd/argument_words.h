// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace dlock {

/// Words as main() gets them: an argv that may be written to, with the closing null. "dlock" stands in front.
class ArgumentWords {
 public:
  ArgumentWords(std::initializer_list<std::string> words) : ArgumentWords(std::vector<std::string>(words)) {}
  explicit ArgumentWords(std::vector<std::string> words) : words_(std::move(words)) {
    words_.insert(words_.begin(), "dlock");
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  ArgumentWords(const ArgumentWords&) = delete;

  int count() const { return static_cast<int>(words_.size()); }
  char** argv() { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

/// Variables as environ has them.
class Variables {
 public:
  Variables(std::initializer_list<std::string> entries) : entries_(entries) {
    for (std::string& entry : entries_) pointers_.push_back(entry.data());
    pointers_.push_back(nullptr);
  }
  Variables(const Variables&) = delete;
  char** environment() { return pointers_.data(); }

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

}  // namespace dlock
