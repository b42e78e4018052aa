// SPDX-License-Identifier: Apache-2.0
#include "backends/toy/rows/rows.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "backends/toy/rows/memory_rows.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"

namespace dlock {
namespace toy {
namespace {

using testing::MemoryRows;
using testing::RowShelf;

/// A line is a row: "group key version written text", what may have blanks in hexadecimal digits.
void put_line(RowShelf& shelf, std::string_view line) {
  const auto group = LockName::parse_stored(from_hex(cut(line, ' ')).value_or(""));
  const auto key = from_hex(cut(line, ' '));
  const auto version = leading_number<Rows::Number>(cut(line, ' '));
  const auto written = leading_number<std::int64_t>(cut(line, ' '));
  if (!group || !key) return;
  shelf.groups[*group][*key] = {from_hex(line).value_or(""), version, written};
  shelf.last[*group] = std::max(shelf.last[*group], version);
}

std::string lines_of(const RowShelf& shelf) {
  std::string lines;
  for (const auto& [group, rows] : shelf.groups) {
    for (const auto& [key, row] : rows) {
      lines += hex(group.text()) + " " + hex(key) + " " + std::to_string(row.version) + " " +
               std::to_string(row.written_us) + " " + hex(row.text) + "\n";
    }
  }
  return lines;
}

class ToyRows final : public Rows {
 public:
  ToyRows(std::string file, std::string store, Clock& clock)
      : file_(std::move(file)), store_(std::move(store)), clock_(clock) {}

  const std::string& store() const override { return store_; }
  Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit& limit) override {
    return with_rows([&](Rows& rows) { return rows.read(group, keys, limit); });
  }
  Result<std::vector<std::string>> list(const LockName& group, const std::string& prefix,
                                        const CallLimit& limit) override {
    return with_rows([&](Rows& rows) { return rows.list(group, prefix, limit); });
  }
  Result<std::vector<LockName>> groups(const CallLimit& limit) override {
    return with_rows([&](Rows& rows) { return rows.groups(limit); });
  }
  std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell tell,
                                          const CallLimit& limit) override {
    auto answers = with_rows(
        [&](Rows& rows) { return Result<std::vector<Result<Number>>>(rows.commit_each(group, commits, tell, limit)); });
    return answers ? *answers : std::vector<Result<Number>>(commits.size(), answers.error());
  }

 private:
  template <typename Do>
  auto with_rows(const Do& what) -> decltype(what(std::declval<Rows&>())) {
    const UniqueFd file(open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid() || flock(file.get(), LOCK_EX) != 0) return system_error("cannot open " + file_, errno);
    std::string text = read_to_end(file.get());
    RowShelf shelf(clock_);
    shelf.tells = false;  // nobody of another process
    shelf.ahead = clock_.wall().time_since_epoch() - clock_.now().time_since_epoch();
    for (std::string_view rest = text; !rest.empty();) put_line(shelf, cut(rest, '\n'));
    MemoryRows rows(shelf);
    auto answer = what(rows);
    text = lines_of(shelf);
    if (pwrite(file.get(), text.data(), text.size(), 0) < 0 ||
        ftruncate(file.get(), static_cast<off_t>(text.size())) != 0)
      return system_error("cannot write " + file_, errno);
    return answer;
  }

  const std::string file_, store_;
  Clock& clock_;
};

}  // namespace
}  // namespace toy

Result<std::unique_ptr<Rows>> make_toy_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime) {
  return std::unique_ptr<Rows>(
      std::make_unique<toy::ToyRows>(url.path + "/" + std::string(space.name) + ".toy", url.redacted(), runtime.clock));
}

}  // namespace dlock
