#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <algorithm>
#include <utility>

// The root of a pipeline. Its rows are dealt by runtime/rows.

namespace leat {

namespace {

void check_once_each(const std::string& option, const std::vector<std::string>& names) {
  for (auto x = names.begin(); x != names.end(); ++x)
    if (std::find(names.begin(), x, *x) != x)
      refuse_argument(option, "\"" + *x + "\" twice", "each name once");
}

} // namespace

pipeline pipeline::batch(std::uint64_t rows, batch_options options) const {
  if (rows == 0)
    refuse_argument("batch", "0 rows", "at least 1");
  check_range("batch.rows", rows, 1, max_batch_rows);
  if (options.lanes != 0 && rows % options.lanes != 0)
    refuse_argument("batch.lanes", std::to_string(options.lanes),
                    "a divisor of the global batch of " + std::to_string(rows) + " rows");
  check_once_each("batch.fields", options.fields);
  const auto* end = find_end(root());
  if (end && end->get<std::uint64_t>("rows") != rows)
    refuse_argument("batch",
                    counted(rows, "row") + " after a " + end->op + " of "
                        + counted(end->get<std::uint64_t>("rows"), "row"),
                    "the same number of rows in both");
  return then({.op = "batch",
               .options = {{"rows", rows},
                           {"lanes", options.lanes},
                           {"end", word_of(options.end, epoch_ends)},
                           {"fields", std::move(options.fields)}}});
}

operator_type batch_operator() {
  return {.word = "batch",
          .role = operator_role::step,
          .options = {plain("rows", option_type::number),
                      {"lanes", option_type::number, std::uint64_t{0}},
                      one_of("end", epoch_ends, epoch_end::automatic),
                      {"fields", option_type::texts, std::vector<std::string>{}}},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].batch(call.get<std::uint64_t>("rows"),
                                   {.lanes = call.get<std::uint64_t>("lanes"),
                                    .end = value_of(call, "end", epoch_ends),
                                    .fields = call.get<std::vector<std::string>>("fields")});
              },
          .traits = {.is_batch = true}};
}

} // namespace leat
