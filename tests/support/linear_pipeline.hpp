#pragma once

#include "runtime/order/lane_limit.hpp"
#include "runtime/order/order.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_option.hpp"

#include <leat/pipeline.hpp>
#include <leat/source.hpp>

#include <cstdint>
#include <memory>

namespace leat::test {

/// The source of a pipeline that has one.
inline const operator_node& source_stage(const pipeline& x) {
  const auto* at = &x.root();
  while (!at->is_source())
    at = at->inputs.at(0).get();
  return *at;
}

/// The source of a pipeline that has one, opened.
inline const source& source_of(const pipeline& x) {
  return *source_stage(x).data->get();
}

/// The order of records in an epoch, for a pipeline of one source and at most one shuffle.
inline epoch_order order_of(const pipeline& x, std::uint64_t epoch) {
  order_config config;
  config.shuffle.kind = shuffle_kind::none;
  config.records_per_file = source_of(x).records_per_file();
  config.data_digest = data_digest(x.root());
  for_each_operator(x.root(), [&](const operator_node& s) {
    if (s.op == "shuffle") {
      config.shuffle.seed = s.get<std::uint64_t>("seed");
      config.shuffle.kind = value_of(s, "kind", shuffle_kinds);
      config.shuffle.window = s.get<std::uint64_t>("window");
    }
    if (s.op == "batch")
      config.lanes = lanes_of(s);
  });
  return {std::make_shared<const order_config>(config), epoch};
}

} // namespace leat::test
