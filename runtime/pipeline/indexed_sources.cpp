#include "runtime/pipeline/operator_node.hpp"

#include <leat/sources.hpp>

namespace leat {

std::vector<std::shared_ptr<const source>> indexed_sources(const pipeline& x) {
  check_tree_size(x.root());
  std::vector<std::shared_ptr<const source>> found;
  for_each_operator(x.root(), [&](const operator_node& leaf) {
    if (leaf.data)
      found.push_back(leaf.data->get());
  });
  return found;
}

} // namespace leat
