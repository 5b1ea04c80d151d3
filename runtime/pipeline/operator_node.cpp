#include "runtime/pipeline/operator_node.hpp"

#include "runtime/base/xxh3.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Checked before any data is opened: through shared inputs a tree can be larger than anyone could
/// ever walk. `operators` counts those seen so far.
void check_size(const operator_node& x, const tree_size& above, std::size_t& operators) {
  const tree_size size{.operators = ++operators,
                       .height = above.height + 1,
                       .nested_joins = above.nested_joins + (x.inputs.size() > 1 ? 1 : 0)};
  check_tree_size(size);
  for (const auto& input : x.inputs)
    check_size(*input, size, operators);
}

pipeline made(operator_node x) {
  return pipeline{std::make_shared<const operator_node>(std::move(x))};
}

} // namespace

source_facts operator_node::facts() const {
  return data ? data->facts() : stream ? stream->facts() : feed->facts();
}

passed_over operator_node::others() const {
  return data ? data->others() : stream ? stream->others() : feed->others();
}

const option_value& operator_node::value(std::string_view name) const {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const auto& option) { return option.name == name; });
  if (found != options.end())
    return found->value;
  const auto* left_out = find_option(op, name);
  if (!left_out || !left_out->only_if_changed)
    throw error(errc::invalid_argument,
                {.stage = op, .got = "no option \"" + std::string{name} + '"'});
  return *left_out->preset;
}

pipeline source_pipeline(std::string op, std::vector<node_option> options,
                         std::function<std::shared_ptr<const source>()> open) {
  return made({.op = std::move(op),
               .options = std::move(options),
               .data = std::make_shared<lazy_source>(std::move(open))});
}

pipeline source_pipeline(std::string op, std::vector<node_option> options,
                         stored_opener<const source> open, const remote_options& remote) {
  auto stores = chosen_stores(remote);
  auto data = std::make_shared<lazy_source>(std::move(open), stores);
  return made({.op = std::move(op),
               .options = std::move(options),
               .data = std::move(data),
               .stores = std::move(stores)});
}

pipeline stream_pipeline(std::string op, std::vector<node_option> options,
                         stored_opener<const stream_source> open, const remote_options& remote) {
  auto stores = chosen_stores(remote);
  auto stream = std::make_shared<lazy_stream>(std::move(open), stores);
  return made({.op = std::move(op),
               .options = std::move(options),
               .stream = std::move(stream),
               .stores = std::move(stores)});
}

pipeline stream_pipeline(std::string op, std::vector<node_option> options,
                         std::function<std::shared_ptr<const stream_source>()> open) {
  return made({.op = std::move(op),
               .options = std::move(options),
               .stream = std::make_shared<lazy_stream>(std::move(open))});
}

pipeline feed_pipeline(std::string op, std::vector<node_option> options,
                       std::function<std::shared_ptr<live_source>()> open,
                       std::shared_ptr<const once_origin> origin) {
  return made({.op = std::move(op),
               .options = std::move(options),
               .feed = std::make_shared<lazy_live>(std::move(open)),
               .origin = std::move(origin)});
}

std::string excess_of(const tree_size& x) {
  const auto& most = max_tree_size;
  if (x.operators > most.operators)
    return "more than " + std::to_string(most.operators) + " operators";
  if (x.height > most.height)
    return "more than " + std::to_string(most.height) + " operators in a chain";
  if (x.nested_joins > most.nested_joins)
    return "more than " + std::to_string(most.nested_joins) + " nested joins";
  return {};
}

void check_tree_size(const tree_size& x) {
  const auto excess = excess_of(x);
  if (!excess.empty())
    throw error(errc::invalid_argument, {.stage = "pipeline", .got = excess, .needed = "fewer"});
}

void check_tree_size(const operator_node& root) {
  std::size_t operators = 0;
  check_size(root, {}, operators);
}

bool same_operators(const operator_node& a, const operator_node& b) {
  return a.op == b.op && a.options == b.options
         && std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                       [](const auto& x, const auto& y) { return same_operators(*x, *y); });
}

void for_each_operator(const operator_node& root,
                       const std::function<void(const operator_node&)>& visit) {
  for (const auto& x : root.inputs)
    for_each_operator(*x, visit);
  visit(root);
}

hash128 data_digest(const operator_node& root) {
  std::vector<hash128> digests;
  for_each_operator(root, [&](const operator_node& x) {
    if (x.is_source())
      digests.push_back(x.facts().digest);
  });
  if (digests.size() == 1)
    return digests.front();
  hash_stream all;
  for (const auto& x : digests) {
    all.add(x.low);
    all.add(x.high);
  }
  return all.digest128();
}

} // namespace leat
