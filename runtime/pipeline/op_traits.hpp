#pragma once

#include "runtime/pipeline/stage.hpp"

#include <leat/pipeline.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace leat {

// What operators are like, told from their words alone.

/// True where the order of the pipeline is a formula: indexed sources, and operators without state.
bool is_closed(const stage& root);
/// True for operators that look at the content of their inputs: a round ends behind each input.
bool looks_at_content(const stage& x);
/// True where records of the pipeline exist once.
bool is_once(const stage& root);
/// The operator, with its function: "filter field_hash@1", "pack".
std::string name_of(const stage& x);
/// Of a shuffle.
shuffle_kind kind_of(const stage& shuffle);
/// The end rule of a batch; where it is automatic, the one that fits what is below.
epoch_end end_of(const stage& batch);
/// "drop", "mask", "cycle", "auto".
std::string_view name_of(epoch_end x);

template <class Predicate>
bool any_source(const stage& root, Predicate is_meant) {
  bool found = false;
  for_each_stage(root, [&](const stage& x) { found = found || (x.is_source() && is_meant(x)); });
  return found;
}

} // namespace leat
