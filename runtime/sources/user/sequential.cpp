#include "runtime/pipeline/pipeline_registry.hpp"
#include "runtime/sources/file_orders.hpp"
#include "runtime/sources/sequential_source.hpp"

#include <utility>

namespace leat {

sequential_reader::~sequential_reader() = default;

std::optional<std::string> sequential_reader::save() const {
  return {};
}

void sequential_reader::load(const std::string&) {
  refuse_argument("sequential", "a state to load", "a reader with save and load");
}

pipeline sequential(std::string name, std::uint64_t units,
                    std::function<std::unique_ptr<sequential_reader>(std::uint64_t)> open,
                    stream_options options) {
  check_at_least_one(name, "units", units);
  return stream_pipeline("sequential",
                         {{"name", name},
                          {"units", units},
                          {"file_order", word_of(options.order, file_orders)},
                          {"seed", options.seed}},
                         [=, open = std::move(open)] {
                           return std::make_shared<const sequential_source>(name, units, open);
                         });
}

operator_type sequential_operator() {
  return {.word = "sequential",
          .role = operator_role::source,
          .options =
              with_file_order({plain("name", option_type::text), {"units", option_type::number}}),
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                const auto& name = call.get<std::string>("name");
                return sequential(name, call.get<std::uint64_t>("units"),
                                  registered_sequential(name), stream_options_of(call));
              },
          .traits = {.more_units = [](const operator_node&) -> std::string {
            return "give it more units (units=N)";
          }},
          .forms = {.state_version = 1},
          .graph = {.state = [](const operator_node& x, const graph_facts&) {
            return sizes_of_stream(x, 24, 24);
          }}};
}

} // namespace leat
