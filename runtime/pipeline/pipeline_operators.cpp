#include "runtime/pipeline/pipeline_operators.hpp"

#include "runtime/base/exception_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/option_words.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <leat/once.hpp>
#include <leat/sources.hpp>
#include <leat/streams.hpp>
#include <leat/tensor.hpp>

#include <algorithm>

namespace leat {

namespace {

using inputs = std::vector<pipeline>;
using number_list = std::vector<std::uint64_t>;
using names = std::vector<std::string>;

/// The value that an option's word stands for.
template <class T, std::size_t N>
T value_of(const operator_node& call, const std::string& option, const option_words<T, N>& words) {
  const auto& word = call.get<std::string>(option);
  if (const auto value = value_of(word, words))
    return *value;
  refuse_argument(call.op, option + '=' + excerpt(word), list_of(words));
}

shape shape_of(const number_list& xs) {
  shape dims;
  for (auto i = xs.size(); i-- > 0;)
    dims = dims.behind(xs[i]);
  return dims;
}

pipeline make_tar_shards(const operator_node& call, const inputs&) {
  return tar_shards(call.get<names>("patterns"), {.index_dir = call.get<std::string>("index_dir"),
                                                  .allow_torn = call.get<bool>("allow_torn")});
}

pipeline make_image_folder(const operator_node& call, const inputs&) {
  return image_folder(call.get<std::string>("directory"),
                      {.index_dir = call.get<std::string>("index_dir")});
}

pipeline make_count(const operator_node& call, const inputs&) {
  return count(call.get<std::uint64_t>("records"), call.get<std::uint64_t>("bytes"));
}

pipeline make_raw_records(const operator_node& call, const inputs&) {
  return raw_records(
      call.get<std::string>("path"), parse_dtype(call.get<std::string>("type"), call.op),
      shape_of(call.get<number_list>("dims")), {.drop_last = call.get<bool>("drop_last")});
}

pipeline make_indexed(const operator_node& call, const inputs&) {
  const auto& name = call.get<std::string>("name");
  return indexed(name, registered_source(name));
}

constexpr option_words<file_order, 2> file_orders{
    {{"stored", file_order::stored}, {"shuffled", file_order::shuffled}}};

stream_options stream_options_of(const operator_node& call) {
  return {.order = value_of(call, "file_order", file_orders),
          .seed = call.get<std::uint64_t>("seed")};
}

pipeline make_tar_stream(const operator_node& call, const inputs&) {
  return tar_stream(call.get<names>("patterns"), stream_options_of(call));
}

template <pipeline (*Make)(names, line_options)>
pipeline make_lines(const operator_node& call, const inputs&) {
  const auto [order, seed] = stream_options_of(call);
  return Make(call.get<names>("patterns"),
              {.ranges = call.get<std::uint64_t>("ranges"), .order = order, .seed = seed});
}

pipeline make_sequential(const operator_node& call, const inputs&) {
  const auto& name = call.get<std::string>("name");
  return sequential(name, call.get<std::uint64_t>("units"), registered_sequential(name),
                    stream_options_of(call));
}

pipeline make_standard_input(const operator_node&, const inputs&) {
  return standard_input();
}

pipeline make_once(const operator_node& call, const inputs&) {
  const auto& name = call.get<std::string>("name");
  return once(name, registered_once(name));
}

pipeline make_shuffle(const operator_node& call, const inputs& on) {
  return on[0].shuffle({.seed = call.get<std::uint64_t>("seed"),
                        .kind = value_of(call, "kind", shuffle_kinds),
                        .window = call.get<std::uint64_t>("window")});
}

/// The function that a call names, by one of the registry's functions.
template <class Stage>
Stage named(const operator_node& call, Stage (*make)(const std::string&, const std::string&)) {
  return make(call.get<std::string>("name"), call.get<std::string>("parameters"));
}

pipeline make_mapped(const operator_node& call, const inputs& on) {
  return on[0].map(named(call, make_map));
}

pipeline make_filtered(const operator_node& call, const inputs& on) {
  return on[0].filter(named(call, make_predicate));
}

pipeline make_flat_mapped(const operator_node& call, const inputs& on) {
  return on[0].flat_map(named(call, make_flat_map));
}

pipeline make_scanned(const operator_node& call, const inputs& on) {
  return on[0].scan(named(call, make_scan));
}

pipeline make_read_files(const operator_node& call, const inputs& on) {
  return on[0].read_files(
      value_of(call, "format", file_formats),
      {.field = call.get<std::string>("field"), .folder = call.get<std::string>("folder")});
}

pipeline make_shuffle_buffer(const operator_node& call, const inputs& on) {
  return on[0].shuffle_buffer(call.get<std::uint64_t>("n"), call.get<std::uint64_t>("seed"));
}

/// A value that stands in a list, or not.
std::optional<std::uint64_t> at_most_one(const operator_node& call, const std::string& option) {
  const auto& list = call.get<number_list>(option);
  if (list.size() > 1)
    refuse_argument(call.op, option + " with " + std::to_string(list.size()) + " numbers",
                    "one, or none");
  return list.empty() ? std::nullopt : std::optional{list.front()};
}

pipeline make_packed(const operator_node& call, const inputs& on) {
  return on[0].pack(call.get<std::string>("field"), call.get<std::uint64_t>("length"),
                    {.bins = call.get<std::uint64_t>("bins"),
                     .split = call.get<bool>("split"),
                     .delimiter = at_most_one(call, "delimiter"),
                     .pad = call.get<std::uint64_t>("pad")});
}

pipeline make_take(const operator_node& call, const inputs& on) {
  return on[0].take(call.get<std::uint64_t>("n"));
}

pipeline make_skip(const operator_node& call, const inputs& on) {
  return on[0].skip(call.get<std::uint64_t>("n"));
}

pipeline make_repeat(const operator_node& call, const inputs& on) {
  return on[0].repeat(call.get<std::uint64_t>("n"));
}

pipeline make_enumerate(const operator_node& call, const inputs& on) {
  return on[0].enumerate(call.get<std::string>("field"));
}

pipeline make_zip(const operator_node&, const inputs& on) {
  return zip(on);
}

pipeline make_concat(const operator_node&, const inputs& on) {
  return concat(on);
}

pipeline make_mix(const operator_node& call, const inputs& on) {
  return mix(on, {.weights = call.get<number_list>("weights"),
                  .rule = value_of(call, "rule", mix_rules),
                  .stop = value_of(call, "stop", mix_stops),
                  .cost = call.get<std::string>("cost"),
                  .seed = call.get<std::uint64_t>("seed")});
}

pipeline make_batch(const operator_node& call, const inputs& on) {
  return on[0].batch(call.get<std::uint64_t>("rows"), {.lanes = call.get<std::uint64_t>("lanes"),
                                                       .end = value_of(call, "end", epoch_ends),
                                                       .fields = call.get<names>("fields")});
}

/// An option that must be given, and needs no name.
operator_option plain(std::string_view name, option_type type) {
  return {.name = name, .type = type, .preset = {}, .named = false};
}

/// Of operators that call a function.
std::vector<operator_option> function_options() {
  return {plain("name", option_type::text), {"parameters", option_type::parameters, std::string{}}};
}

/// Those of one stream source, with those of all.
std::vector<operator_option> stream_source_options(std::vector<operator_option> own) {
  own.push_back({"file_order", option_type::text, std::string{"stored"}});
  own.push_back({"seed", option_type::number, std::uint64_t{0}});
  return own;
}

std::vector<pipeline_operator> make_operators() {
  using enum operator_role;
  using enum option_type;
  const auto patterns = plain("patterns", listed_texts);
  const operator_option ranges{"ranges", number, std::uint64_t{1}};
  return {
      {"tar_shards",
       source,
       {patterns, {"index_dir", text, std::string{}}, {"allow_torn", flag, false}},
       make_tar_shards},
      {"image_folder",
       source,
       {plain("directory", text), {"index_dir", text, std::string{}}},
       make_image_folder},
      {"count",
       source,
       {plain("records", number), {"bytes", number, std::uint64_t{8}}},
       make_count},
      {"raw_records",
       source,
       {plain("path", text), {"type", text}, {"dims", numbers}, {"drop_last", flag, false}},
       make_raw_records},
      {"indexed", source, {plain("name", text)}, make_indexed},
      {"tar_stream", source, stream_source_options({patterns}), make_tar_stream},
      {"lines", source, stream_source_options({patterns, ranges}), make_lines<lines>},
      {"json_lines", source, stream_source_options({patterns, ranges}), make_lines<json_lines>},
      {"sequential", source, stream_source_options({plain("name", text), {"units", number}}),
       make_sequential},
      {"standard_input", source, {}, make_standard_input},
      {"once", source, {plain("name", text)}, make_once},
      {"shuffle",
       step,
       {{"seed", number, std::uint64_t{0}},
        {"kind", text, std::string{"full"}},
        {"window", number, std::uint64_t{4}}},
       make_shuffle},
      {"map", step, function_options(), make_mapped},
      {"take", step, {plain("n", number)}, make_take},
      {"skip", step, {plain("n", number)}, make_skip},
      {"repeat", step, {plain("n", number)}, make_repeat},
      {"enumerate", step, {{"field", text, std::string{"index"}}}, make_enumerate},
      {"filter", step, function_options(), make_filtered},
      {"flat_map", step, function_options(), make_flat_mapped},
      {"read_files",
       step,
       {plain("format", text),
        {"field", text, std::string{"text"}},
        {"folder", text, std::string{}}},
       make_read_files},
      {"shuffle_buffer",
       step,
       {plain("n", number), {"seed", number, std::uint64_t{0}}},
       make_shuffle_buffer},
      {"scan", step, function_options(), make_scanned},
      {"pack",
       step,
       {plain("field", text),
        plain("length", number),
        {"bins", number, std::uint64_t{8}},
        {"split", flag, false},
        {"delimiter", numbers, number_list{}},
        {"pad", number, std::uint64_t{0}}},
       make_packed},
      {"zip", join, {}, make_zip},
      {"concat", join, {}, make_concat},
      {"mix",
       join,
       {{"weights", numbers, number_list{}},
        {"rule", text, std::string{"deficit"}},
        {"stop", text, std::string{"all"}},
        {"cost", text, std::string{}},
        {"seed", number, std::uint64_t{0}}},
       make_mix},
      {"batch",
       step,
       {plain("rows", number),
        {"lanes", number, std::uint64_t{0}},
        {"end", text, std::string{"auto"}},
        {"fields", texts, std::vector<std::string>{}}},
       make_batch},
  };
}

} // namespace

const std::vector<pipeline_operator>& pipeline_operators() {
  static const auto operators = make_operators();
  return operators;
}

bool holds(const option_value& x, option_type type) {
  switch (type) {
  case option_type::flag:
    return std::holds_alternative<bool>(x);
  case option_type::number:
    return std::holds_alternative<std::uint64_t>(x);
  case option_type::numbers:
    return std::holds_alternative<number_list>(x);
  case option_type::text:
  case option_type::parameters:
    return std::holds_alternative<std::string>(x);
  case option_type::texts:
  case option_type::listed_texts:
    return std::holds_alternative<names>(x);
  }
  return false;
}

const pipeline_operator* find_operator(std::string_view word) {
  const auto& all = pipeline_operators();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.word == word; });
  return found == all.end() ? nullptr : &*found;
}

} // namespace leat
