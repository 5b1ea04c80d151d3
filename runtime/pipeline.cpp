#include "runtime/row_plan.hpp"
#include "runtime/sample_access.hpp"
#include "runtime/sequence.hpp"
#include "runtime/stage.hpp"

#include <leat/error.hpp>
#include <leat/pipeline.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

using texts = std::vector<std::string>;

[[noreturn]] void refuse(std::string stage, std::string got, std::string needed) {
  throw error(errc::invalid_argument,
              {.stage = std::move(stage), .got = std::move(got), .needed = std::move(needed)});
}

std::string name_of(shuffle_kind x) {
  return x == shuffle_kind::full ? "full" : x == shuffle_kind::windowed ? "windowed" : "none";
}

/// A windowed shuffle works on a source's files, so no operator may change what there is.
bool is_source_with_maps(const stage& x) {
  return x.is_source() || (x.op == "map" && is_source_with_maps(*x.inputs.front()));
}

void check_below_batch(const stage& input, const std::string& op) {
  if (input.op == "batch")
    refuse(op, "an operator behind batch()", "batch() as last call");
}

stage counted(std::string op, std::uint64_t n) {
  return {.op = std::move(op), .options = {{"n", n}}};
}

void check_parameter(const char* map, const std::string& text) {
  if (text.empty() || text.find_first_of(" ,\t\n") != std::string::npos)
    refuse(map, "field \"" + text + '"', "a name without spaces and commas");
}

} // namespace

pipeline::pipeline(std::shared_ptr<const stage> root) : root_(std::move(root)) {}

pipeline pipeline::then(stage next) const {
  check_below_batch(*root_, next.op);
  next.inputs = {root_};
  return pipeline{std::make_shared<const stage>(std::move(next))};
}

pipeline pipeline::shuffle(shuffle_options options) const {
  if (options.window == 0)
    refuse("shuffle.window", "0", "at least 1");
  if (options.kind == shuffle_kind::windowed && !is_source_with_maps(*root_))
    refuse("shuffle", "kind windowed behind " + root_->op,
           "a source as its input, with nothing but maps between");
  return then({.op = "shuffle",
               .options = {{"seed", options.seed},
                           {"kind", name_of(options.kind)},
                           {"window", options.window}}});
}

pipeline pipeline::map(map_stage x) const {
  auto version = x.name.rfind('@');
  if (version == 0 || version == std::string::npos || version + 1 == x.name.size())
    refuse("map", '"' + x.name + '"', "a name with a version: \"label@1\"");
  if (!x.make)
    refuse(x.name, "no function", "a function");
  return then({.op = "map",
               .options = {{"name", std::move(x.name)}, {"parameters", std::move(x.parameters)}},
               .make = std::move(x.make)});
}

pipeline pipeline::map(std::string name, map_function function) const {
  if (!function)
    refuse(name, "no function", "a function");
  return map(map_stage{std::move(name), {}, [f = std::move(function)] { return f; }});
}

pipeline pipeline::take(std::uint64_t n) const {
  return then(counted("take", n));
}

pipeline pipeline::skip(std::uint64_t n) const {
  return then(counted("skip", n));
}

pipeline pipeline::repeat(std::uint64_t n) const {
  if (n == 0)
    refuse("repeat", "0 times", "at least 1");
  return then(counted("repeat", n));
}

pipeline pipeline::enumerate(std::string field) const {
  if (field.empty())
    refuse("enumerate", "no name", "a field's name");
  return then({.op = "enumerate", .options = {{"field", std::move(field)}}});
}

pipeline pipeline::batch(std::uint64_t rows, batch_options options) const {
  if (rows == 0)
    refuse("batch", "0 rows", "at least 1");
  if (options.lanes != 0 && rows % options.lanes != 0)
    refuse("batch.lanes", std::to_string(options.lanes),
           "a divisor of the global batch of " + std::to_string(rows) + " rows");
  return then({.op = "batch",
               .options = {{"rows", rows},
                           {"lanes", options.lanes},
                           {"end", options.end == epoch_end::drop ? "drop" : "mask"},
                           {"fields", std::move(options.fields)}}});
}

std::uint64_t pipeline::size() const {
  return size_of(root_->op == "batch" ? *root_->inputs.front() : *root_);
}

std::uint64_t pipeline::batches_per_epoch() const {
  return shape_of(*this).batches();
}

bool operator==(const pipeline& a, const pipeline& b) {
  return same_stages(a.root(), b.root());
}

pipeline pipeline::join(std::string op, std::vector<pipeline> inputs) {
  if (inputs.empty())
    refuse(op, "no inputs", "at least one");
  stage next{.op = std::move(op)};
  next.inputs.reserve(inputs.size());
  for (auto& x : inputs) {
    check_below_batch(*x.root_, next.op);
    next.inputs.push_back(std::move(x.root_));
  }
  return pipeline{std::make_shared<const stage>(std::move(next))};
}

pipeline zip(std::vector<pipeline> inputs) {
  return pipeline::join("zip", std::move(inputs));
}

pipeline concat(std::vector<pipeline> inputs) {
  return pipeline::join("concat", std::move(inputs));
}

map_stage select(std::vector<std::string> fields) {
  std::string text;
  for (const auto& x : fields) {
    check_parameter("select@1", x);
    text += (text.empty() ? "fields=" : ",") + x;
  }
  if (fields.empty())
    refuse("select@1", "no fields", "at least one");
  return {"select@1", std::move(text), [fields = std::move(fields)] {
            return [fields](sample& x, context&) { sample_access::keep(x, fields); };
          }};
}

map_stage rename(std::string from, std::string to) {
  check_parameter("rename@1", from);
  check_parameter("rename@1", to);
  auto text = "from=" + from + " to=" + to;
  return {"rename@1", std::move(text), [from = std::move(from), to = std::move(to)] {
            return [from, to](sample& x, context&) { sample_access::rename(x, from, to); };
          }};
}

} // namespace leat
