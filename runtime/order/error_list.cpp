#include "runtime/order/error_list.hpp"

#include <utility>

namespace leat {

void error_list::add(std::string stage, std::string got, std::string needed) {
  errors_.emplace_back(
      errc::invalid_argument,
      error_details{.stage = std::move(stage), .got = std::move(got), .needed = std::move(needed)});
}

void error_list::check() const {
  if (errors_.empty())
    return;
  if (errors_.size() == 1)
    throw error(errors_.front());
  std::vector<std::string> list;
  for (const auto& x : errors_)
    list.emplace_back(x.what());
  const auto& first = errors_.front();
  // With the file, for callers that ask whether the error is about data or about the pipeline.
  throw error(first.code(), {.stage = "pipeline",
                             .file = first.details().file,
                             .got = std::to_string(errors_.size()) + " errors",
                             .list = std::move(list)});
}

} // namespace leat
