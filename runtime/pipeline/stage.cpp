#include "runtime/pipeline/stage.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Before any data are opened: shared inputs can make a tree larger than could ever be walked.
/// `operators` counts those that are seen.
void check_size(const stage& x, const tree_size& above, std::size_t& operators) {
  const tree_size size{.operators = ++operators,
                       .height = above.height + 1,
                       .nested_joins = above.nested_joins + (x.inputs.size() > 1 ? 1 : 0)};
  check_tree_size(size);
  for (const auto& input : x.inputs)
    check_size(*input, size, operators);
}

pipeline made(stage x) {
  return pipeline{std::make_shared<const stage>(std::move(x))};
}

} // namespace

source_facts stage::facts() const {
  return data ? data->facts() : stream ? stream->facts() : feed->facts();
}

const option_value& stage::value(std::string_view name) const {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const auto& option) { return option.name == name; });
  if (found == options.end())
    throw error(errc::invalid_argument,
                {.stage = op, .got = "no option \"" + std::string{name} + '"'});
  return found->value;
}

pipeline source_pipeline(std::string op, std::vector<stage_option> options,
                         std::function<std::shared_ptr<const source>()> open) {
  return made({.op = std::move(op),
               .options = std::move(options),
               .data = std::make_shared<lazy_source>(std::move(open))});
}

pipeline stream_pipeline(std::string op, std::vector<stage_option> options,
                         std::function<std::shared_ptr<const stream_source>()> open) {
  return made({.op = std::move(op),
               .options = std::move(options),
               .stream = std::make_shared<lazy_stream>(std::move(open))});
}

pipeline feed_pipeline(std::string op, std::vector<stage_option> options,
                       std::function<std::shared_ptr<once_feed>()> open) {
  return made({.op = std::move(op),
               .options = std::move(options),
               .feed = std::make_shared<lazy_feed>(std::move(open))});
}

std::string excess_of(const tree_size& x) {
  const auto& most = max_tree_size;
  if (x.operators > most.operators)
    return "more than " + std::to_string(most.operators) + " operators";
  if (x.height > most.height)
    return "more than " + std::to_string(most.height) + " operators behind one another";
  if (x.nested_joins > most.nested_joins)
    return "more than " + std::to_string(most.nested_joins) + " joins in one another";
  return {};
}

void check_tree_size(const tree_size& x) {
  const auto excess = excess_of(x);
  if (!excess.empty())
    throw error(errc::invalid_argument, {.stage = "pipeline", .got = excess, .needed = "fewer"});
}

void check_tree_size(const stage& root) {
  std::size_t operators = 0;
  check_size(root, {}, operators);
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
