#include "runtime/pipeline/lendable.hpp"

#include "runtime/pipeline/operator_node.hpp"

namespace leat {

std::string reason_against_lending(const pipeline& x) {
  std::string why;
  for_each_operator(x.root(), [&](const operator_node& node) {
    if (node.feed)
      why = node.op + ", whose records exist once";
    else if (node.op == "read_files")
      why = "read_files, which reads files that records name";
  });
  return why;
}

bool can_send_records(const pipeline& x) {
  bool can = true;
  for_each_operator(x.root(), [&](const operator_node& node) {
    can = can && (node.is_source() ? node.data != nullptr : node.op != "read_files");
  });
  return can;
}

} // namespace leat
