#include "runtime/base/exception_text.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/option_words.hpp"

#include <leat/pipeline.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace leat {

namespace {

/// A windowed shuffle works on a source's files, so no operator may change what there is.
bool is_source_with_maps(const operator_node& x) {
  return x.is_source() || (x.op == "map" && is_source_with_maps(*x.inputs.front()));
}

void check_below_batch(const operator_node& input, const std::string& op) {
  if (input.op == "batch")
    refuse_argument(op, "an operator behind batch()", "batch() as last call");
}

operator_node counted(std::string op, std::uint64_t n) {
  return {.op = std::move(op), .options = {{"n", n}}};
}

void check_field(const char* stage, const std::string& field) {
  if (field.empty())
    refuse_argument(stage, "no name", "a field's name");
}

void check_once_each(const std::string& option, const std::vector<std::string>& names) {
  for (auto x = names.begin(); x != names.end(); ++x)
    if (std::find(names.begin(), x, *x) != x)
      refuse_argument(option, "\"" + *x + "\" twice", "each name once");
}

std::vector<std::uint64_t> list_of(const std::optional<std::uint64_t>& x) {
  return x ? std::vector{*x} : std::vector<std::uint64_t>{};
}

} // namespace

pipeline::pipeline(std::shared_ptr<const operator_node> root) : root_(std::move(root)) {}

pipeline pipeline::then(operator_node next) const {
  check_below_batch(*root_, next.op);
  next.inputs = {root_};
  return pipeline{std::make_shared<const operator_node>(std::move(next))};
}

pipeline pipeline::join(operator_node next, std::vector<pipeline> inputs) {
  if (inputs.empty())
    refuse_argument(next.op, "no inputs", "at least one");
  next.inputs.reserve(inputs.size());
  for (auto& x : inputs) {
    check_below_batch(*x.root_, next.op);
    next.inputs.push_back(std::move(x.root_));
  }
  return pipeline{std::make_shared<const operator_node>(std::move(next))};
}

pipeline pipeline::shuffle(shuffle_options options) const {
  if (options.window == 0)
    refuse_argument("shuffle.window", "0", "at least 1");
  if (options.kind == shuffle_kind::windowed && !is_source_with_maps(*root_))
    refuse_argument("shuffle", "kind windowed behind " + root_->op,
                    "a source as its input, with nothing but maps between");
  return then({.op = "shuffle",
               .options = {{"seed", options.seed},
                           {"kind", word_of(options.kind, shuffle_kinds)},
                           {"window", options.window}}});
}

pipeline pipeline::take(std::uint64_t n) const {
  return then(counted("take", n));
}

pipeline pipeline::skip(std::uint64_t n) const {
  return then(counted("skip", n));
}

pipeline pipeline::repeat(std::uint64_t n) const {
  if (n == 0)
    refuse_argument("repeat", "0 times", "at least 1");
  return then(counted("repeat", n));
}

pipeline pipeline::shuffle_buffer(std::uint64_t n, std::uint64_t seed) const {
  if (n < 2)
    refuse_argument("shuffle_buffer", std::to_string(n) + " samples", "at least 2 a lane");
  check_range("shuffle_buffer", n, 2, max_buffered);
  return then({.op = "shuffle_buffer", .options = {{"n", n}, {"seed", seed}}});
}

pipeline pipeline::read_files(file_format format, read_files_options options) const {
  check_field("read_files", options.field);
  return then({.op = "read_files",
               .options = {{"format", word_of(format, file_formats)},
                           {"field", std::move(options.field)},
                           {"folder", std::move(options.folder)}}});
}

pipeline pipeline::pack(std::string field, std::uint64_t length, pack_options options) const {
  constexpr auto longest = std::uint64_t{std::numeric_limits<std::int32_t>::max()};
  check_field("pack", field);
  if (length == 0 || length > longest)
    refuse_argument("pack.length", std::to_string(length), "1 to " + std::to_string(longest));
  check_range("pack.bins", options.bins, 1, max_bins);
  return then({.op = "pack",
               .options = {{"field", std::move(field)},
                           {"length", length},
                           {"bins", options.split ? std::uint64_t{1} : options.bins},
                           {"split", options.split},
                           {"delimiter", list_of(options.delimiter)},
                           {"pad", options.pad}}});
}

pipeline pipeline::enumerate(std::string field) const {
  check_field("enumerate", field);
  return then({.op = "enumerate", .options = {{"field", std::move(field)}}});
}

pipeline pipeline::batch(std::uint64_t rows, batch_options options) const {
  if (rows == 0)
    refuse_argument("batch", "0 rows", "at least 1");
  check_range("batch.rows", rows, 1, max_batch_rows);
  if (options.lanes != 0 && rows % options.lanes != 0)
    refuse_argument("batch.lanes", std::to_string(options.lanes),
                    "a divisor of the global batch of " + std::to_string(rows) + " rows");
  check_once_each("batch.fields", options.fields);
  return then({.op = "batch",
               .options = {{"rows", rows},
                           {"lanes", options.lanes},
                           {"end", word_of(options.end, epoch_ends)},
                           {"fields", std::move(options.fields)}}});
}

bool operator==(const pipeline& a, const pipeline& b) {
  return same_operators(a.root(), b.root());
}

} // namespace leat
