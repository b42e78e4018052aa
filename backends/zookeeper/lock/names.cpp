// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/names.h"

#include <algorithm>

#include "lib/base/random.h"
#include "lib/base/text.h"

namespace dlock::zookeeper {
namespace {

/// Every byte of it, in lower-case digits: these are names of nodes.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) out.append("%").append(hex(text.substr(i, 1)));
  return out;
}

/// A server refuses control characters, U+E000 to U+F8FF, U+FFF0 to U+FFFF, and what Java writes as surrogates: all
/// beyond U+FFFF. In UTF-8 those begin with EE or more.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c != '%' && byte >= 0x20 && byte != 0x7f && byte < 0xee;
}

std::string part_of(std::string_view text, bool first) {
  if (text.empty()) return "%";
  if (text == "." || text == ".." || (first && text == "zookeeper")) return escaped(text);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte >= 0xf0 ? 4 : 3;
    if (is_plain(text[i])) {
      out += text[i];
    } else if (byte >= 0xee) {
      out += escaped(text.substr(i, length));
      i += length - 1;
    } else {
      out += escaped(text.substr(i, 1));
    }
  }
  return out;
}

/// In the directory of the key above it would stand in that one's queue: its last digit is escaped.
std::string no_contender(std::string part) {
  if (!parse_node_name(part)) return part;
  const std::string last = escaped(part.substr(part.size() - 1));
  part.pop_back();
  return part + last;
}

/// A name that is not escaped as ours are, in lower-case digits, is foreign.
std::optional<std::string> plain_part(std::string_view part) {
  if (part == "%") return std::string();
  for (std::size_t at = part.find('%'); at != std::string_view::npos; at = part.find('%', at + 1)) {
    if (part.substr(at, 3).find_first_of("ABCDEF") != std::string_view::npos) return std::nullopt;
  }
  return percent_unescaped(part);
}

struct FamilyRow {
  Family family;
  std::string_view mark;  ///< before the number of a node; after Curator's UUID it begins with a dash
  const char* text;
  bool word_alone = false;  ///< Curator looks for the mark without its dash
};
constexpr FamilyRow kFamilies[] = {
    {Family::kCuratorMutex, "-lock-", "Curator mutex", true},
    {Family::kCuratorRead, "-__READ__", "Curator read lock", true},
    {Family::kCuratorWrite, "-__WRIT__", "Curator write lock", true},
    {Family::kKazooLock, "__lock__", "kazoo lock"},
    {Family::kKazooRead, "__rlock__", "kazoo read lock"},
    {Family::kLease, "-lease-", "Curator semaphore"},
};
constexpr const FamilyRow& row_of(Family family) { return kFamilies[static_cast<std::size_t>(family)]; }
static_assert(std::all_of(std::begin(kFamilies), std::end(kFamilies),
                          [](const FamilyRow& row) { return &row == &row_of(row.family); }));
/// Where a UUID has its version, which is 4 in those that Curator and kazoo make.
constexpr std::string_view kMark = "d10c";
constexpr std::size_t kMarkAt = 12;
/// Behind it, of a lease.
constexpr std::string_view kLeaseMark = "1ea5";
constexpr std::size_t kLeaseMarkAt = kMarkAt + kMark.size();
constexpr char kNoLease = '8';  ///< the first of these digits in the names of others

std::string as_lease(std::string guid) {
  if (!guid.empty()) guid.replace(kLeaseMarkAt, kLeaseMark.size(), kLeaseMark);
  return guid;
}

}  // namespace

Result<std::string> directory_of(const std::string& root, const LockName& name) {
  std::string_view rest = name.text();
  if (rest.front() == '/') {
    return Error{ErrorCode::kUnsupported, "a key on ZooKeeper does not begin with '/', as " + name.text() + " does",
                 "write it without the first '/': it is the node of that name below the URL's path"};
  }
  std::string path = root;
  bool first = true;
  while (true) {
    const std::size_t end = rest.find('/');
    path += '/' + no_contender(part_of(rest.substr(0, end), first && root.empty()));
    first = false;
    if (end == std::string_view::npos) return path;
    rest.remove_prefix(end + 1);
  }
}

std::optional<LockName> name_of_directory(const std::string& root, const std::string& directory) {
  if (!directory.starts_with(root + "/")) return std::nullopt;
  std::string_view rest = std::string_view(directory).substr(root.size() + 1);
  std::string text;
  while (true) {
    const std::size_t end = rest.find('/');
    const auto part = plain_part(rest.substr(0, end));
    if (!part) return std::nullopt;
    text += *part;
    if (end == std::string_view::npos) break;
    text += '/';
    rest.remove_prefix(end + 1);
  }
  auto name = LockName::parse_stored(text);
  if (!name) return std::nullopt;
  const auto back = directory_of(root, *name);
  if (!back || *back != directory) return std::nullopt;
  return std::move(*name);
}

std::string own_directory(const std::string& root, std::string_view purpose) {
  return root + "/%" + std::string(purpose);
}

std::string one_part(const LockName& name) {
  std::string part = part_of(name.text(), true);
  for (std::size_t at = part.find('/'); at != std::string::npos; at = part.find('/', at)) part.replace(at, 1, "%2f");
  return part;
}

std::optional<LockName> name_of_part(const std::string& part) {
  const auto text = plain_part(part);
  auto name = text ? LockName::parse(*text) : Result<LockName>(Error{});
  if (!name || one_part(*name) != part) return std::nullopt;
  return std::move(*name);
}

const char* family_text(Family family) { return row_of(family).text; }

std::optional<NodeName> parse_node_name(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (name.size() - digits < 10) return std::nullopt;
  const auto number_from = [&](std::size_t at) { return leading_number<std::int64_t>(name.substr(at)); };
  std::string_view prefix = name.substr(0, digits);
  for (const auto& [family, mark, text, word_alone] : kFamilies) {
    // Servers before 3.6 wrap to negative numbers.
    const bool negative = prefix.ends_with('-') && prefix.substr(0, prefix.size() - 1).ends_with(mark);
    if (negative || prefix.ends_with(mark)) {
      const std::string guid = guid_in(name);
      const bool is_ours = guid.substr(0, kLeaseMarkAt).ends_with(kMark);
      return NodeName{family, number_from(digits - (negative ? 1 : 0)), is_ours, is_ours && guid == as_lease(guid)};
    }
    if (word_alone && prefix.ends_with(mark.substr(1))) return NodeName{family, number_from(digits)};
  }
  return std::nullopt;
}

std::string guid_in(std::string_view name) {
  if (name.starts_with("_c_")) name.remove_prefix(3);
  std::string digits;
  for (const char c : name.substr(0, 36)) {
    if (c == '-') continue;
    const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (!is_digit || digits.size() == 32) break;
    digits += c;
  }
  return digits.size() == 32 ? digits : std::string();
}

Guid Guid::random() {
  std::string hex = random_hex(16);
  hex[0] = static_cast<char>('a' + random_below(6));
  hex.replace(kMarkAt, kMark.size(), kMark);
  hex[kLeaseMarkAt] = kNoLease;
  return Guid(std::move(hex));
}

std::string Guid::dashed() const {
  std::string text = hex_;
  for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, 1, '-');
  return text;
}

std::string Guid::node(Family family) const {
  const std::string_view mark = row_of(family).mark;
  return std::string(mark.starts_with('-') ? "_c_" + dashed() : hex_).append(mark);
}

bool Guid::is_in(std::string_view name) const { return as_lease(guid_in(name)) == as_lease(hex_); }

std::string lease_name(const std::string& contender) {
  constexpr std::size_t kDigits = 10;
  const auto parsed = parse_node_name(contender);
  if (!parsed) return contender;
  return Guid(as_lease(guid_in(contender))).node(parsed->family) + contender.substr(contender.size() - kDigits);
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace dlock::zookeeper
