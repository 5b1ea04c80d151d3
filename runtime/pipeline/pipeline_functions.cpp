#include "runtime/base/exception_text.hpp"
#include "runtime/pipeline/operator_node.hpp"

#include <leat/pipeline.hpp>

#include <utility>

// Operators that call functions: who a function is goes into the operator's options.

namespace leat {

namespace {

void check_name(const char* op, const std::string& name) {
  const auto version = name.rfind('@');
  if (version == 0 || version == std::string::npos || version + 1 == name.size())
    refuse_argument(op, '"' + name + '"', "a name with a version: \"label@1\"");
}

template <class Function>
void check_function(const std::string& name, const Function& x) {
  if (!x)
    refuse_argument(name, "no function", "a function");
}

operator_node named(std::string op, std::string name, std::string parameters) {
  return {.op = std::move(op),
          .options = {{"name", std::move(name)}, {"parameters", std::move(parameters)}}};
}

} // namespace

pipeline pipeline::map(map_stage x) const {
  check_name("map", x.name);
  check_function(x.name, x.make);
  auto next = named("map", std::move(x.name), std::move(x.parameters));
  next.make = std::move(x.make);
  return then(std::move(next));
}

pipeline pipeline::map(std::string name, map_function function) const {
  check_function(name, function);
  return map(map_stage{std::move(name), {}, [f = std::move(function)] { return f; }});
}

pipeline pipeline::filter(filter_stage x) const {
  check_name("filter", x.name);
  if (x.make && x.of_id)
    refuse_argument(x.name, "two functions", "one: of content, or of the id");
  if (!x.of_id)
    check_function(x.name, x.make);
  auto next = named("filter", x.name, x.parameters);
  next.filter = std::make_shared<const filter_stage>(std::move(x));
  return then(std::move(next));
}

pipeline pipeline::flat_map(flat_map_stage x) const {
  check_name("flat_map", x.name);
  check_function(x.name, x.make);
  auto next = named("flat_map", x.name, x.parameters);
  next.flat_map = std::make_shared<const flat_map_stage>(std::move(x));
  return then(std::move(next));
}

pipeline pipeline::scan(scan_stage x) const {
  check_name("scan", x.name);
  check_function(x.name, x.make);
  check_function(x.name, x.step);
  auto next = named("scan", x.name, x.parameters);
  next.scan = std::make_shared<const scan_stage>(std::move(x));
  return then(std::move(next));
}

} // namespace leat
