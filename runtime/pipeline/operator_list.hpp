#pragma once

// The registration of operators: one line each, in the order of docs/pipelines.md. X is an
// operator's name; `operator_type X_operator()`, in the operator's own file, describes it.

// clang-format off
#define LEAT_OPERATORS(each) \
  each(tar_shards) \
  each(image_folder) \
  each(count) \
  each(raw_records) \
  each(tokens) \
  each(npy) \
  each(megatron) \
  each(parquet) \
  each(arrow) \
  each(indexed) \
  each(tar_stream) \
  each(lines) \
  each(json_lines) \
  each(sequential) \
  each(standard_input) \
  each(once) \
  each(feed) \
  each(shuffle) \
  each(map) \
  each(take) \
  each(skip) \
  each(repeat) \
  each(enumerate) \
  each(filter) \
  each(sample) \
  each(flat_map) \
  each(read_files) \
  each(shuffle_buffer) \
  each(deduplicate) \
  each(scan) \
  each(length_bucket) \
  each(token_budget) \
  each(pack) \
  each(zip) \
  each(concat) \
  each(mix) \
  each(batch)
// clang-format on
