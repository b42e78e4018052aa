// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

namespace dlock {

/// `Struct`, or a const one. The members of a struct that is written and read in several ways are named once, in
///
///     template <MaybeConst<Struct> Any, typename Visitor>
///     void visit_fields(Any& object, Visitor& visit);
///
/// Each goes to visit(NAME, MEMBER); to visit.rare() where only some objects have it, so that it is left out where it
/// is as in a new one; and to visit.unshown() where people read it in words, or never.
template <typename Any, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<Any>, Struct>;

}  // namespace dlock
