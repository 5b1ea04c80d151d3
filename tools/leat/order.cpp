#include "runtime/base/error_in_flight.hpp"

#include "tools/leat/batch_lines.hpp"
#include "tools/leat/job_options.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat::command {

namespace {

struct listing_options {
  order_options order;
  std::uint64_t steps = UINT64_MAX;
  std::vector<std::string> weights = {};
  bad_sample_policy bad_samples = bad_sample_policy::fail;
  /// Accepted for consistency with the other subcommands; has no effect.
  bool json = false;
};

void print_order(const listing_options& x) {
  auto due =
      due_batches(job_pipeline(x.order, transform::none), {.epoch = x.order.epoch,
                                                           .weights = weight_changes_of(x.weights),
                                                           .bad_samples = x.bad_samples});
  if (due.epoch().is_endless() && x.steps == UINT64_MAX)
    refuse_argument("--steps", "none, and an epoch without end", "the number of batches to print");
  for (std::uint64_t step = 0; step < x.steps; ++step) {
    auto batch = due.next();
    if (!batch)
      return;
    print_line(to_json(line_of(std::move(*batch))));
  }
}

} // namespace

void add_order(CLI::App& app) {
  auto* sub =
      app.add_subcommand("order", "Print the order of an epoch: one JSON line per global batch");
  auto x = std::make_shared<listing_options>();
  add_order_options(*sub, x->order);
  whole_number(sub->add_option("--steps", x->steps, "Print only the first N batches of the epoch"),
               1);
  add_weights_option(*sub, x->weights);
  add_bad_sample_option(*sub, x->bad_samples);
  sub->add_flag("--json", x->json, "No effect: the output is always JSON");
  sub->callback([x] { print_order(*x); });
}

} // namespace leat::command
