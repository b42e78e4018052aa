// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/row_drafts.h"

#include <algorithm>

namespace dlock::zookeeper {
namespace {

using RowKind = Rows::Change::Kind;

bool fits(const RowDraft& row, const Rows::Change& one, const std::string& text) {
  if (one.kind == RowKind::kAdd) return !text.empty();
  if (one.kind == RowKind::kFill) return !row.exists || row.text.empty();
  return row.exists ? row.number == one.version : one.version == 0;
}

void change(RowDraft& row, const Rows::Change& one, std::string text) {
  row.checked = true;
  if (one.kind == RowKind::kCheck) return;
  row.changed = true;
  row.exists = one.kind != RowKind::kRemove;
  row.text = std::move(text);
  row.number = ~Rows::Number(0);  // no commit behind it knows that
}

}  // namespace

bool is_of_row(const Rows::Change& change) { return change.kind != RowKind::kClear && change.kind != RowKind::kTell; }

bool apply(RowDrafts& drafts, const Rows::Commit& commit) {
  std::vector<std::string> texts;
  for (const Rows::Change& one : commit) {
    texts.push_back(one.text);
    if (!is_of_row(one)) continue;
    const RowDraft& row = drafts.at(one.key);
    if (one.kind == RowKind::kAdd) texts.back() = row.exists ? added_numbers(row.text, one.add) : std::string();
    if (!fits(row, one, texts.back())) return false;
  }
  for (std::size_t i = 0; i < commit.size(); ++i) {
    if (is_of_row(commit[i])) change(drafts.at(commit[i].key), commit[i], std::move(texts[i]));
  }
  return true;
}

/// That there is no node is checked by making it, and deleting it again.
std::vector<Change> changes_of(const RowDrafts& drafts, const std::function<std::string(const std::string&)>& path_of) {
  std::vector<Change> all;
  for (const auto& [key, row] : drafts) {
    const std::string path = path_of(key);
    if (!row.checked) continue;
    if (!row.changed && row.was_there) all.push_back(check_node(path, row.stat.version));
    else if (row.exists && row.was_there) all.push_back(set_node(path, row.text, row.stat.version));
    else if (row.was_there) all.push_back(delete_node(path, row.stat.version));
    else all.push_back(create_node(path, row.text));
    if (!row.exists && !row.was_there) all.push_back(delete_node(path));
  }
  return all;
}

}  // namespace dlock::zookeeper
