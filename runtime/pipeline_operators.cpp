#include "runtime/pipeline_operators.hpp"

#include "runtime/parse_dtype.hpp"
#include "runtime/pipeline_lexer.hpp"
#include "runtime/pipeline_registry.hpp"

#include <leat/sources.hpp>

#include <algorithm>

namespace leat {

namespace {

using inputs = std::vector<pipeline>;
using extents = std::vector<std::uint64_t>;
using names = std::vector<std::string>;

[[noreturn]] void refuse(const stage& call, const std::string& option, std::string needed) {
  throw error(errc::invalid_argument, {.stage = call.op,
                                       .got = option + "=" + excerpt(call.get<std::string>(option)),
                                       .needed = std::move(needed)});
}

shuffle_kind kind_of(const stage& call) {
  const auto& kind = call.get<std::string>("kind");
  if (kind == "full")
    return shuffle_kind::full;
  if (kind == "windowed")
    return shuffle_kind::windowed;
  if (kind == "none")
    return shuffle_kind::none;
  refuse(call, "kind", "full, windowed or none");
}

epoch_end end_of(const stage& call) {
  const auto& end = call.get<std::string>("end");
  if (end == "drop")
    return epoch_end::drop;
  if (end == "mask")
    return epoch_end::mask;
  refuse(call, "end", "drop or mask");
}

shape shape_of(const extents& xs) {
  shape dims;
  for (auto i = xs.size(); i-- > 0;)
    dims = dims.behind(xs[i]);
  return dims;
}

pipeline make_tar_shards(const stage& call, const inputs&) {
  return tar_shards(call.get<names>("patterns"), {.index_dir = call.get<std::string>("index_dir"),
                                                  .allow_torn = call.get<bool>("allow_torn")});
}

pipeline make_image_folder(const stage& call, const inputs&) {
  return image_folder(call.get<std::string>("directory"));
}

pipeline make_count(const stage& call, const inputs&) {
  return count(call.get<std::uint64_t>("records"), call.get<std::uint64_t>("bytes"));
}

pipeline make_raw_records(const stage& call, const inputs&) {
  return raw_records(call.get<std::string>("path"),
                     parse_dtype(call.get<std::string>("type"), call.op),
                     shape_of(call.get<extents>("dims")));
}

pipeline make_indexed(const stage& call, const inputs&) {
  const auto& name = call.get<std::string>("name");
  return indexed(name, registered_source(name));
}

pipeline make_shuffle(const stage& call, const inputs& on) {
  return on[0].shuffle({.seed = call.get<std::uint64_t>("seed"),
                        .kind = kind_of(call),
                        .window = call.get<std::uint64_t>("window")});
}

pipeline make_mapped(const stage& call, const inputs& on) {
  return on[0].map(make_map(call.get<std::string>("name"), call.get<std::string>("parameters")));
}

pipeline make_take(const stage& call, const inputs& on) {
  return on[0].take(call.get<std::uint64_t>("n"));
}

pipeline make_skip(const stage& call, const inputs& on) {
  return on[0].skip(call.get<std::uint64_t>("n"));
}

pipeline make_repeat(const stage& call, const inputs& on) {
  return on[0].repeat(call.get<std::uint64_t>("n"));
}

pipeline make_enumerate(const stage& call, const inputs& on) {
  return on[0].enumerate(call.get<std::string>("field"));
}

pipeline make_zip(const stage&, const inputs& on) {
  return zip(on);
}

pipeline make_concat(const stage&, const inputs& on) {
  return concat(on);
}

pipeline make_batch(const stage& call, const inputs& on) {
  return on[0].batch(call.get<std::uint64_t>("rows"), {.lanes = call.get<std::uint64_t>("lanes"),
                                                       .end = end_of(call),
                                                       .fields = call.get<names>("fields")});
}

/// An option that must be given, and needs no name.
operator_option plain(std::string_view name, option_type type) {
  return {.name = name, .type = type, .preset = {}, .named = false};
}

std::vector<pipeline_operator> make_operators() {
  using enum operator_role;
  using enum option_type;
  return {
      {"tar_shards",
       source,
       {plain("patterns", listed_texts),
        {"index_dir", text, std::string{}},
        {"allow_torn", flag, false}},
       make_tar_shards},
      {"image_folder", source, {plain("directory", text)}, make_image_folder},
      {"count",
       source,
       {plain("records", number), {"bytes", number, std::uint64_t{8}}},
       make_count},
      {"raw_records",
       source,
       {plain("path", text), {"type", text}, {"dims", numbers}},
       make_raw_records},
      {"indexed", source, {plain("name", text)}, make_indexed},
      {"shuffle",
       step,
       {{"seed", number, std::uint64_t{0}},
        {"kind", text, std::string{"full"}},
        {"window", number, std::uint64_t{4}}},
       make_shuffle},
      {"map", step, {plain("name", text), {"parameters", parameters, std::string{}}}, make_mapped},
      {"take", step, {plain("n", number)}, make_take},
      {"skip", step, {plain("n", number)}, make_skip},
      {"repeat", step, {plain("n", number)}, make_repeat},
      {"enumerate", step, {{"field", text, std::string{"index"}}}, make_enumerate},
      {"zip", join, {}, make_zip},
      {"concat", join, {}, make_concat},
      {"batch",
       step,
       {plain("rows", number),
        {"lanes", number, std::uint64_t{0}},
        {"end", text, std::string{"drop"}},
        {"fields", texts, std::vector<std::string>{}}},
       make_batch},
  };
}

} // namespace

const std::vector<pipeline_operator>& pipeline_operators() {
  static const auto operators = make_operators();
  return operators;
}

const pipeline_operator* find_operator(std::string_view word) {
  const auto& all = pipeline_operators();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.word == word; });
  return found == all.end() ? nullptr : &*found;
}

} // namespace leat
