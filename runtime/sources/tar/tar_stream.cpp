#include "runtime/sources/file_orders.hpp"
#include "runtime/sources/tar/tar_stream_source.hpp"

#include <utility>

namespace leat {

pipeline tar_stream(std::string pattern, stream_options options) {
  return tar_stream(std::vector{std::move(pattern)}, std::move(options));
}

// As all sources take their options.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
pipeline tar_stream(std::vector<std::string> patterns, stream_options options) {
  return stream_pipeline(
      "tar_stream",
      {{"patterns", patterns},
       {"file_order", word_of(options.order, file_orders)},
       {"seed", options.seed}},
      [=](const store_set& in) {
        return std::make_shared<const tar_stream_source>(
            find_files(patterns, "tar_stream", file_kinds::with_pipes, in));
      },
      options.remote);
}

operator_type tar_stream_operator() {
  return {.word = "tar_stream",
          .role = operator_role::source,
          .options = with_file_order({in_facts(plain("patterns", option_type::listed_texts))}),
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                return tar_stream(call.get<std::vector<std::string>>("patterns"),
                                  stream_options_of(call));
              },
          .forms = {.state_version = 1, .reading_version = 1},
          .graph = {.state = [](const operator_node& x, const graph_facts&) {
            return sizes_of_stream(x, 24, 24);
          }}};
}

} // namespace leat
