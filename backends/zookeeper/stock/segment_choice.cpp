// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/segment_choice.h"

#include "backends/zookeeper/lock/store.h"
#include "backends/zookeeper/stock/stock_deduction.h"
#include "lib/stock/request_record.h"
#include "lib/stock/segment_locks.h"

namespace dlock::zookeeper {
namespace {

/// Nobody has the lock, and nobody waits for it.
bool is_empty(const Answer& place) { return place.code == Code::kNoNode || place.stat.children == 0; }

}  // namespace

Result<Stage> SegmentChoice::stage_of(int segment) const {
  const auto key = segment_key(wish_.request.stock, segment);
  if (!key) return key.error();
  const auto directory = directory_of(session_.root(), *key);
  if (!directory) return directory.error();
  auto stages = stages_of(Recipe::kBridge, *directory, Mode::kExclusive, 0);
  if (!stages) return stages.error();
  return std::move(stages->back());
}

Result<Step> SegmentChoice::decide(StockCall& call) {
  segment_.reset();
  answer_.reset();
  free_ = false;
  unsure_ = call.is_unsure();
  if (unsure_) return Step::kAsSeen;
  const int first = wish_.start % call.segments();
  const auto stage = stage_of(first);
  if (!stage) return stage.error();
  errand_.reads = {{.kind = Request::Kind::kRead, .path = stage->directory}};
  bool given = false;
  const auto seen = call.request_now(wish_.request.id, &given, first);
  if (!seen) return seen.error();
  if (given) return Step::kWriteThenRead;
  if (wish_.owner) {
    auto again = answer_again(*seen ? &(*seen)->note.record : nullptr, wish_.request, wish_.owner);
    if (!again) return again.error();
    answer_ = std::move(*again);
    if (answer_) return Step::kConclude;
  }
  const Answer place = errand_.seen.front();
  return fits(call, first) && is_empty(place) ? take(call, first, place) : choose_among_all(call);
}

/// The queue that is joined if none is free is the shortest of them.
Result<Step> SegmentChoice::choose_among_all(StockCall& call) {
  std::vector<Request> reads;
  for (int i = 0; i < call.segments(); ++i) {
    const auto stage = stage_of(i);
    if (!stage) return stage.error();
    reads.push_back({.kind = Request::Kind::kRead, .path = stage->directory});
  }
  const auto places = call.load_with(reads);
  if (!places) return places.error();
  int shortest = 0;
  for (int i = 0; i < call.segments(); ++i) {
    const int segment = (wish_.start % call.segments() + i) % call.segments();
    const Answer& place = (*places)[static_cast<std::size_t>(segment)];
    if (!fits(call, segment)) continue;
    if (is_empty(place)) return take(call, segment, place);
    if (!segment_ || place.stat.children < shortest) segment_ = segment, shortest = place.stat.children;
  }
  return Step::kAsSeen;
}

Result<Step> SegmentChoice::take(StockCall& call, int segment, const Answer& place) {
  auto stage = stage_of(segment);
  if (!stage) return stage.error();
  stage_ = std::move(*stage);
  const auto calls = session_.share(limit_.until, limit_.control);
  if (!calls) return calls.error();
  if (place.code == Code::kNoNode) {
    const auto made = make_directory(**calls, stage_.directory, false, kDirectoryData, limit_.until, limit_.control);
    return made ? Result<Step>(Step::kReadAgain) : made.error();
  }
  errand_.changes = ContenderStore(**calls, stage_, wish_.label(segment)).creation().changes;
  errand_.changes.push_back(
      {Change::Kind::kSet, stage_.directory, place.data, NodeKind::kPersistent, place.stat.version});
  errand_.then_list = stage_.directory;
  segment_ = segment;
  free_ = true;
  if (!wish_.owner) return Step::kWrite;
  Deduction deduction(wish_.request, wish_.owner, wish_.ttl_ms, segment);
  auto decided = deduction.deduct(call, {{segment, wish_.request.quantity}});
  answer_ = deduction.answer();
  return decided;
}

}  // namespace dlock::zookeeper
