#include "runtime/order/sample_graph.hpp"

#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/iterators/iterator_forms.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/option_words.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/named_files.hpp"
#include "runtime/sources/open_stream.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace leat {

namespace {

/// Making a sample of it anew costs more than keeping it.
bool is_expensive(const operator_node& root) {
  bool expensive = false;
  for_each_operator(root, [&](const operator_node& x) {
    expensive = expensive || x.op == "map" || x.stream || x.feed || x.op == "read_files"
                || x.op == "tar_shards" || x.op == "image_folder";
  });
  return expensive;
}

/// Passes that an indexed part has below itself at most.
std::optional<pass_number> passes_in(const operator_node& x) {
  pass_number most = 1;
  for (const auto& input : x.inputs) {
    const auto passes = passes_in(*input);
    if (!passes)
      return std::nullopt;
    most = std::max(most, *passes);
  }
  if (x.op == "repeat" && __builtin_mul_overflow(most, x.get<std::uint64_t>("n"), &most))
    return std::nullopt;
  return most;
}

/// All errors of a pipeline: one is thrown as it is, several as a list.
class error_list {
public:
  void add(const error& x) { errors_.push_back(x); }
  void add(std::string stage, std::string got, std::string needed) {
    errors_.emplace_back(errc::invalid_argument, error_details{.stage = std::move(stage),
                                                               .got = std::move(got),
                                                               .needed = std::move(needed)});
  }
  template <class Function>
  void collect(Function function) {
    try {
      function();
    } catch (const error& problem) {
      add(problem);
    }
  }
  void check() const {
    if (errors_.empty())
      return;
    if (errors_.size() == 1)
      throw error(errors_.front());
    std::vector<std::string> list;
    for (const auto& x : errors_)
      list.emplace_back(x.what());
    const auto& first = errors_.front();
    // Whoever asks whether it is about data or about the pipeline finds the file.
    throw error(first.code(), {.stage = "pipeline",
                               .file = first.details().file,
                               .got = std::to_string(errors_.size()) + " errors",
                               .list = std::move(list)});
  }

private:
  std::vector<error> errors_;
};

void open(const operator_node& source) {
  if (source.data)
    source.data->get();
  else if (source.stream)
    source.stream->get();
  else if (source.feed)
    source.feed->get();
}

/// Tries each source once, however often it stands in the tree. Returns those that do not open.
std::set<const operator_node*> open_sources(const operator_node& root, error_list& errors) {
  std::set<const operator_node*> seen;
  std::set<const operator_node*> unopened;
  for_each_operator(root, [&](const operator_node& x) {
    if (!x.is_source() || !seen.insert(&x).second)
      return;
    unopened.insert(&x);
    errors.collect([&] {
      open(x);
      unopened.erase(&x);
    });
  });
  return unopened;
}

/// Where an operator stands: what is around it.
struct surroundings {
  /// The last one that an epoch has here.
  pass_number last_pass = 0;
  /// Begun more than once in an epoch.
  bool repeats = false;
};

/// Makes iterator forms of operators, and a round of what is below one that looks at content. Goes
/// on behind an error, to find them all: in place of what is wrong there is then nothing, or its
/// input.
class iterator_planner {
public:
  iterator_planner(sample_graph& plan, std::uint64_t lanes, error_list& errors,
                   std::set<const operator_node*> unopened)
      : plan_(plan), lanes_(lanes), errors_(errors), unopened_(std::move(unopened)),
        indexed_(plan, lanes) {}

  void plan(const operator_node& root) {
    if (leat::is_indexed(root)) {
      plan_.items = build_indexed(root);
    } else {
      round_ = &plan_.last_edges;
      plan_.iterator = build(root, {});
    }
    indexed_.finish();
    for (const auto& x : plan_.edges)
      plan_.stage_names.push_back(x.stage);
    for (const auto& x : plan_.flat_maps)
      plan_.stage_names.push_back("flat_map " + x->name);
    for (const auto& x : plan_.scans)
      plan_.stage_names.push_back("scan " + x->name);
  }

private:
  iterator_form_ptr build(const operator_node& x, const surroundings& at) {
    if (leat::is_indexed(x)) {
      last_of(x, at, passes_in(x));
      return indexed_part(build_indexed(x));
    }
    if (unopened_.count(&x) != 0)
      return nullptr;
    if (x.stream)
      return build_stream(x);
    if (x.feed)
      return build_once(x, at);
    if (x.op == "filter")
      return build_filter(x, at);
    if (x.op == "flat_map")
      return build_flat_map(x, at);
    if (x.op == "read_files")
      return build_read_files(x, at);
    if (x.op == "scan")
      return build_scan(x, at);
    if (x.op == "pack")
      return build_pack(x, at);
    if (x.op == "mix")
      return build_mix(x, at);
    if (x.op == "repeat")
      return build_repeat(x, at);
    if (x.op == "zip")
      return build_zip(x, at);
    if (x.op == "concat")
      return concatenated_items(build_inputs(x, at));
    return build_unary(x, build(*x.inputs.front(), at));
  }

  indexed_form_ptr build_indexed(const operator_node& x) {
    if (any_source(x, [&](const operator_node& source) { return unopened_.count(&source) != 0; }))
      return nullptr;
    indexed_form_ptr items;
    errors_.collect([&] { items = indexed_.build(x); });
    return items;
  }

  iterator_form_ptr build_unary(const operator_node& x, iterator_form_ptr input) {
    if (x.op == "map")
      return mapped_items(std::move(input), indexed_.add_map(x));
    if (x.op == "enumerate")
      return enumerated_items(std::move(input), x.get<std::string>("field"));
    if (x.op == "shuffle_buffer")
      return build_buffer(x, std::move(input));
    if (x.op == "take")
      return first_items(std::move(input), x.get<std::uint64_t>("n"));
    if (x.op == "skip")
      return items_after(std::move(input), x.get<std::uint64_t>("n"));
    errors_.add(x.op,
                x.op == "shuffle" ? "a stream, or an operator that drops, keeps back or makes items"
                                  : "an operator that is not known here",
                x.op == "shuffle" ? "indexed data as its input; see shuffle_buffer"
                                  : "one of docs/pipelines.md or docs/iterators.md");
    return input;
  }

  std::vector<iterator_form_ptr> build_inputs(const operator_node& x, const surroundings& at) {
    std::vector<iterator_form_ptr> inputs;
    for (const auto& input : x.inputs)
      inputs.push_back(build(*input, at));
    return inputs;
  }

  iterator_form_ptr build_stream(const operator_node& x) {
    auto data = x.stream->get();
    unit_order order{.units = data->units()};
    const auto source = indexed_.add_source(data->name());
    if (order.units < lanes_)
      errors_.add(x.op, std::to_string(order.units) + " files or ranges",
                  "at least one for each of " + std::to_string(lanes_) + " lanes");
    if (x.get<std::string>("file_order") == "shuffled") {
      order_config config{.shuffle = {.seed = x.get<std::uint64_t>("seed")},
                          .lanes = lanes_,
                          .data_digest = x.facts().digest,
                          .source = source,
                          .records_per_file = {order.units}};
      indexed_.see_seed(config.shuffle.seed);
      order.order =
          std::make_shared<shared_orders>(std::make_shared<const order_config>(std::move(config)));
    }
    return stream_part(std::move(data), std::move(order), source);
  }

  iterator_form_ptr build_once(const operator_node& x, const surroundings& at) {
    auto data = x.feed->get();
    if (at.repeats)
      errors_.add(x.op, "a source that exists once, to be repeated",
                  "no repeat and no mix with stop \"cycle\" above it");
    if (std::find(plan_.feeds.begin(), plan_.feeds.end(), data) != plan_.feeds.end())
      errors_.add(x.op, "one source that exists once, read in two places",
                  "one place: see map and flat_map");
    const auto feed = static_cast<std::uint32_t>(plan_.feeds.size());
    plan_.feeds.push_back(data);
    const auto source = indexed_.add_source(data->name());
    return once_part(std::move(data), feed, source);
  }

  iterator_form_ptr build_filter(const operator_node& x, const surroundings& at) {
    if (!probes_content(x)) {
      auto input = build(*x.inputs.front(), at); // counts shuffles
      return filtered_by_id(std::move(input), x.filter, plan_.num_shuffles);
    }
    const auto number = plan_.filters.size();
    plan_.filters.push_back(x.filter);
    return filtered(add_edge(x, *x.inputs.front(), at, [number](sample& s, sample_maker& with) {
      return probe_result{.number = with.filter(number)(s) ? std::uint64_t{1} : 0};
    }));
  }

  /// Behind its input: by then the shuffles below are counted.
  iterator_form_ptr build_id_filter(const operator_node& x, iterator_form_ptr input) {
    return filtered_by_id(std::move(input), x.filter, plan_.num_shuffles);
  }

  iterator_form_ptr build_flat_map(const operator_node& x, const surroundings& at) {
    const auto number = plan_.flat_maps.size();
    plan_.flat_maps.push_back(x.flat_map);
    if (!probes_content(x))
      return children_of(build(*x.inputs.front(), at), *x.flat_map->children, number);
    return children_of(add_edge(x, *x.inputs.front(), at,
                                [number](sample& s, sample_maker& with) {
                                  return probe_result{.number = with.flat_map(number).count(s)};
                                }),
                       number);
  }

  iterator_form_ptr build_read_files(const operator_node& x, const surroundings& at) {
    const auto field = x.get<std::string>("field");
    auto names = add_edge(x, *x.inputs.front(), at, [field](sample& s, sample_maker&) {
      const auto name = s.bytes(field);
      return probe_result{.text = {reinterpret_cast<const char*>(name.data()), name.size()}};
    });
    const auto format = *value_of(x.get<std::string>("format"), file_formats);
    return read_files(std::move(names),
                      std::make_shared<const named_files>(x.get<std::string>("folder"),
                                                          [format](file_set files) {
                                                            return open_stream(format,
                                                                               std::move(files));
                                                          }),
                      indexed_.add_source(name_of(x)));
  }

  iterator_form_ptr build_scan(const operator_node& x, const surroundings& at) {
    const auto number = plan_.scans.size();
    plan_.scans.push_back(x.scan);
    return scanned(add_edge(x, *x.inputs.front(), at,
                            [number](sample& s, sample_maker& with) {
                              return probe_result{.text = with.scan(number).look(s)};
                            }),
                   x.scan, number);
  }

  iterator_form_ptr build_pack(const operator_node& x, const surroundings& at) {
    pack_plan pack{.field = x.get<std::string>("field"),
                   .length = x.get<std::uint64_t>("length"),
                   .bins = x.get<std::uint64_t>("bins"),
                   .split = x.get<bool>("split"),
                   .delimiter = x.get<std::vector<std::uint64_t>>("delimiter"),
                   .pad = x.get<std::uint64_t>("pad"),
                   .side = plan_.num_side_samples++};
    auto input = add_edge(x, *x.inputs.front(), at,
                          [pack](sample& s, sample_maker&) { return probe_document(pack, s); });
    return packed(std::move(input), std::move(pack));
  }

  iterator_form_ptr build_mix(const operator_node& x, surroundings at) {
    mix_plan mix{.weights = x.get<std::vector<std::uint64_t>>("weights"),
                 .rule =
                     x.get<std::string>("rule") == "random" ? mix_rule::random : mix_rule::deficit,
                 .stop = stop_of(x.get<std::string>("stop")),
                 .seed = x.get<std::uint64_t>("seed")};
    if (mix.weights.empty())
      mix.weights.assign(x.inputs.size(), 1);
    if (mix.stop == mix_stop::cycle)
      at = {last_of(x, at, max_mix_repetitions), true};
    const auto cost = x.get<std::string>("cost");
    if (!probes_content(x))
      mix.inputs = build_inputs(x, at);
    else
      for (const auto& input : x.inputs)
        mix.edges.push_back(add_edge(x, *input, at, [cost](sample& s, sample_maker&) {
          const auto layout = sample_access::layout_of(s, cost);
          return probe_result{.number =
                                  layout.ragged ? s.bytes(cost).size() : layout.dims.elements()};
        }));
    mix.ordinal = ordinals_["mix"]++;
    if (mix.rule == mix_rule::random)
      indexed_.see_seed(mix.seed);
    return mixed_items(std::move(mix));
  }

  /// The last pass below `x`, which stands `at` and begins its input `times` times.
  pass_number last_of(const operator_node& x, const surroundings& at,
                      std::optional<pass_number> times) {
    pass_number first = 0;
    pass_number last = 0;
    if (times && !__builtin_mul_overflow(at.last_pass, *times, &first)
        && !__builtin_add_overflow(first, *times - 1, &last))
      return last;
    errors_.add(x.op, "more than 2^128 passes, with what repeats it",
                "fewer: a mix with stop \"cycle\" has 2^32");
    return at.last_pass;
  }

  static mix_stop stop_of(std::string_view word) {
    return word == "first" ? mix_stop::first : word == "cycle" ? mix_stop::cycle : mix_stop::all;
  }

  iterator_form_ptr build_repeat(const operator_node& x, const surroundings& at) {
    const auto n = x.get<std::uint64_t>("n");
    return repeated_items(build(*x.inputs.front(), {last_of(x, at, n), at.repeats || n > 1}), n);
  }

  iterator_form_ptr build_zip(const operator_node& x, const surroundings& at) {
    auto inputs = build_inputs(x, at);
    const auto first_side = plan_.num_side_samples;
    plan_.num_side_samples += inputs.size() - 1;
    return zipped_items(std::move(inputs), first_side);
  }

  iterator_form_ptr build_buffer(const operator_node& x, iterator_form_ptr input) {
    const auto n = x.get<std::uint64_t>("n");
    const auto seed = x.get<std::uint64_t>("seed");
    if ((n - 1) / lanes_ >= UINT32_MAX)
      errors_.add(x.op, std::to_string(n) + " samples over " + std::to_string(lanes_) + " lanes",
                  "at most 2^32 - 1 a lane");
    if (n / 2 < lanes_)
      errors_.add(x.op, std::to_string(n) + " samples over " + std::to_string(lanes_) + " lanes",
                  "at least 2 a lane: " + std::to_string(2 * lanes_));
    indexed_.see_seed(seed);
    return shuffled_by_buffer(std::move(input), n, seed, ordinals_["shuffle_buffer"]++);
  }

  /// Ends the round behind `x`, an operator that looks at content.
  edge_ptr add_edge(const operator_node& x, const operator_node& input, const surroundings& at,
                    std::function<probe_result(sample&, sample_maker&)> probe) {
    std::vector<std::size_t> below;
    auto* const above = std::exchange(round_, &below);
    if (++depth_ == max_rounds + 1)
      errors_.add(name_of(x),
                  "more than " + std::to_string(max_rounds) + " rounds behind one another",
                  "fewer operators that look at content");
    auto items = build(input, at);
    --depth_;
    round_ = above;
    const auto number = plan_.edges.size();
    round_->push_back(number);
    plan_.edges.push_back({.stage = name_of(x),
                           .input = items,
                           .probe = std::move(probe),
                           .below = std::move(below),
                           .last_pass = at.last_pass,
                           .keeps_samples = x.op != "read_files" && is_expensive(input)});
    return std::make_shared<const edge_form>(number, std::move(items));
  }

  sample_graph& plan_;
  std::uint64_t lanes_;
  error_list& errors_;
  std::set<const operator_node*> unopened_;
  indexed_planner indexed_;
  std::map<std::string, std::uint64_t> ordinals_;
  /// Edges of the round that is being built.
  std::vector<std::size_t>* round_ = nullptr;
  /// Rounds from the last one to it.
  std::size_t depth_ = 1;
};

} // namespace

sample_graph plan_samples(const operator_node& root, std::uint64_t lanes) {
  error_list errors;
  sample_graph plan;
  iterator_planner planner{plan, lanes, errors, open_sources(root, errors)};
  errors.collect([&] { planner.plan(root); });
  errors.check();
  return plan;
}

} // namespace leat
