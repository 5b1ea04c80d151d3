#include "runtime/pipeline/operator_node.hpp"

#include <leat/pipeline_facts.hpp>

#include <map>
#include <utility>

namespace leat {

namespace {

/// Chooses stores for operators that have none. An input that several operators share stays one.
class store_choice {
public:
  explicit store_choice(std::shared_ptr<const store_set> stores) : stores_(std::move(stores)) {}

  operator_ptr of(const operator_ptr& x) {
    auto& done = done_[x.get()];
    if (!done)
      done = std::make_shared<const operator_node>(made(*x));
    return done;
  }
  operator_node made(operator_node x) {
    for (auto& input : x.inputs)
      input = of(input);
    if (x.stores)
      return x;
    x.stores = stores_;
    if (auto data = x.data ? x.data->elsewhere(stores_) : nullptr)
      x.data = std::move(data);
    if (auto stream = x.stream ? x.stream->elsewhere(stores_) : nullptr)
      x.stream = std::move(stream);
    return x;
  }

private:
  const std::shared_ptr<const store_set> stores_;
  std::map<const operator_node*, operator_ptr> done_;
};

} // namespace

pipeline with_remote(const pipeline& x, const remote_options& how) {
  check_tree_size(x.root());
  auto stores = chosen_stores(how);
  if (!stores)
    return x;
  return pipeline{
      std::make_shared<const operator_node>(store_choice{std::move(stores)}.made(x.root()))};
}

} // namespace leat
