// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backends/zookeeper/session/request.h"

namespace dlock::zookeeper {

/// Of nodes that were read in one order, all of them first and then again, their answers as of one moment of the first
/// reading. Fewer: one of them came or went, or changed more than once, or it is not known when. Pure.
std::vector<const Answer*> at_one_moment(std::span<const Answer> first, std::span<const Answer> again);

}  // namespace dlock::zookeeper
