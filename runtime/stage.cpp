#include "runtime/stage.hpp"

#include <algorithm>
#include <utility>

namespace leat {

lazy_source::lazy_source(std::function<std::shared_ptr<const source>()> open)
    : open_(std::move(open)) {}

std::shared_ptr<const source> lazy_source::get() {
  std::lock_guard lock{mutex_};
  if (!data_)
    data_ = open_();
  return data_;
}

pipeline source_pipeline(std::string op, std::vector<stage_option> options,
                         std::function<std::shared_ptr<const source>()> open) {
  return pipeline{
      std::make_shared<const stage>(stage{.op = std::move(op),
                                          .options = std::move(options),
                                          .data = std::make_shared<lazy_source>(std::move(open))})};
}

bool same_stages(const stage& a, const stage& b) {
  return a.op == b.op && a.options == b.options
         && std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                       [](const auto& x, const auto& y) { return same_stages(*x, *y); });
}

void for_each_stage(const stage& root, const std::function<void(const stage&)>& visit) {
  for (const auto& x : root.inputs)
    for_each_stage(*x, visit);
  visit(root);
}

} // namespace leat
