#pragma once

#include "runtime/pipeline/operator_node.hpp"

#include <leat/pipeline.hpp>

#include <string>

namespace leat {

// Properties of a pipeline's nodes, known from their words alone: see operator_traits. All throw
// `errc::invalid_argument` for operators that leat does not know, unless they say otherwise.

/// True for the root of a pipeline. False for an operator that leat does not know.
bool is_batch(const operator_node& x);
/// The operator at or below `root`, with only maps above it, that gives rows of batches; null if
/// there is none. Throws nothing.
const operator_node* find_end(const operator_node& root);
/// Throws `errc::invalid_argument` if this is not the root of a pipeline with a batch.
void check_has_batch(const operator_node& root);
/// True for an operator that only changes samples.
bool is_map(const operator_node& x);
/// True if the order of the pipeline is indexed: it consists of indexed sources, and operators
/// without state.
bool is_indexed(const operator_node& root);
/// True for operators that look at the content of their inputs: a round ends beneath each input.
bool probes_content(const operator_node& x);
/// True if making a sample of the pipeline again costs more than keeping it.
bool is_expensive(const operator_node& root);
/// True if records of the pipeline exist once.
bool is_once(const operator_node& root);
/// The operator, with its function: "filter field_hash@1", "pack".
std::string name_of(const operator_node& x);
/// The end rule of a batch; if it is automatic, the one that suits the operators below.
epoch_end end_of(const operator_node& batch);

template <class Predicate>
bool any_source(const operator_node& root, Predicate is_meant) {
  bool found = false;
  for_each_operator(
      root, [&](const operator_node& x) { found = found || (x.is_source() && is_meant(x)); });
  return found;
}

} // namespace leat
