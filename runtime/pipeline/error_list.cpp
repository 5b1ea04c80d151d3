#include "runtime/pipeline/error_list.hpp"

namespace leat {

namespace {

constexpr std::size_t max_listed = 20;

} // namespace

void error_list::add(error x) {
  ++count_;
  if (first_.size() < max_listed)
    first_.push_back(std::move(x));
}

void error_list::add(std::string stage, std::string got, std::string needed) {
  add(error{errc::invalid_argument, error_details{.stage = std::move(stage),
                                                  .got = std::move(got),
                                                  .needed = std::move(needed)}});
}

void error_list::check() const {
  if (count_ == 0)
    return;
  if (count_ == 1)
    throw error(first_.front());
  std::vector<std::string> list;
  for (const auto& x : first_)
    list.emplace_back(x.what());
  if (count_ > first_.size())
    list.push_back("and " + std::to_string(count_ - first_.size()) + " more");
  const auto& first = first_.front();
  // The file tells a caller whether the data or the pipeline is at fault.
  throw error(first.code(), {.stage = stage_,
                             .file = first.details().file,
                             .got = std::to_string(count_) + " errors:",
                             .list = std::move(list)});
}

} // namespace leat
