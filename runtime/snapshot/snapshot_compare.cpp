#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

namespace leat {

namespace {

// -- values as text

std::string text_of(bool x) {
  return x ? "true" : "false";
}

std::string text_of(std::uint64_t x) {
  return std::to_string(x);
}

std::string text_of(double x) {
  std::array<char, 32> letters{};
  const auto end = std::to_chars(letters.data(), letters.data() + letters.size(), x).ptr;
  return {letters.data(), end};
}

std::string text_of(const std::string& x) {
  return x;
}

template <class T>
std::string text_of(const std::vector<T>& list) {
  return '[' + listed(list, [](const T& x) { return text_of(x); }) + ']';
}

std::string text_of(const node_option& x) {
  return x.name + '=' + std::visit([](const auto& value) { return text_of(value); }, x.value);
}

std::string text_of(const std::vector<node_option>& options) {
  return listed(
      options, [](const node_option& x) { return text_of(x); }, " ");
}

std::string text_of_fields(const std::vector<std::string>& fields) {
  return fields.empty() ? "all" : listed(fields);
}

// -- maps

/// name@version and parameters of each, in data order.
using map_names = std::vector<std::pair<std::string, std::string>>;

std::string text_of_maps(const map_names& maps) {
  std::string text;
  for (const auto& [name, parameters] : maps)
    text += (text.empty() ? "" : ", ") + name + (parameters.empty() ? "" : " (" + parameters + ')');
  return text.empty() ? "none" : text;
}

/// Those of `maps` that `others` does not have.
map_names only_in(const map_names& maps, const map_names& others) {
  map_names only;
  for (const auto& map : maps)
    if (std::find(others.begin(), others.end(), map) == others.end())
      only.push_back(map);
  return only;
}

// -- a tree, taken apart

/// An operator other than a map, with the maps between it and the next such operator.
struct operator_place {
  const operator_facts* node = nullptr;
  /// Ordinals of the sources below it: from the first to before the last.
  std::size_t first_source = 0;
  std::size_t last_source = 0;
  map_names maps = {};
};

/// Appends the places of a tree in data order: the same in two trees if and only if they have one
/// shape. `sources` counts those that are seen.
void add_places(const operator_facts& x, std::size_t& sources, std::vector<operator_place>& to) {
  const auto first = sources;
  for (const auto& input : x.inputs)
    add_places(input, sources, to);
  if (is_map(x)) {
    to.back().maps.emplace_back(x.get<std::string>("name"), x.get<std::string>("parameters"));
  } else {
    sources += x.is_source() ? 1 : 0;
    to.push_back({&x, first, sources});
  }
}

std::vector<operator_place> places_of(const pipeline_facts& x) {
  std::vector<operator_place> places;
  std::size_t sources = 0;
  add_places(x.root, sources, places);
  return places;
}

/// Any two sources count as the same operator: their differences have names of their own.
bool same_operator(const operator_place& a, const operator_place& b) {
  if (a.node->inputs.size() != b.node->inputs.size())
    return false;
  return a.node->is_source() || a.node->op == b.node->op;
}

bool bind_lanes(const std::vector<operator_place>& places) {
  return std::any_of(places.begin(), places.end(), [](const operator_place& x) {
    const auto* type = find_operator(x.node->op);
    return type && type->comparison.binds_lanes && type->comparison.binds_lanes(*x.node);
  });
}

/// True for options that only say where data lie, or what its facts say, too.
bool is_in_facts(const std::string& op, const std::string& option) {
  const auto* type = find_operator(op);
  return type && std::any_of(type->options.begin(), type->options.end(), [&](const auto& x) {
           return x.name == option && x.is_in_facts;
         });
}

/// What an operator is, wherever the data lie that it reads.
operator_facts kind_of(const operator_facts& node) {
  operator_facts kind{.op = node.op};
  for (const auto& x : node.options)
    if (!is_in_facts(node.op, x.name))
      kind.options.push_back(x);
  return kind;
}

std::string text_of(const operator_facts& kind) {
  return kind.op + (kind.options.empty() ? "" : " ") + text_of(kind.options);
}

/// The step of a batch of `rows` that begins where the snapshot stands; empty where none does.
std::optional<std::uint64_t> step_of_rows(const snapshot& taken, std::uint64_t rows) {
  const auto taken_rows = taken.pipeline.batch_rows();
  if (rows == taken_rows)
    return taken.step;
  std::uint64_t done = 0;
  if (rows == 0 || __builtin_mul_overflow(taken.step, taken_rows, &done) || done % rows != 0)
    return std::nullopt;
  return done / rows;
}

/// Collects differences: each text names both values.
class comparison {
public:
  comparison(const snapshot& taken, const pipeline_facts& now)
      : taken_(taken), now_(now), places_before_(places_of(taken.pipeline)),
        places_now_(places_of(now)),
        lanes_bind_(bind_lanes(places_before_) || bind_lanes(places_now_)
                    || taken.pipeline.by_iterators || now.by_iterators) {}

  std::vector<difference> all() && {
    if (same_shape())
      for (std::size_t i = 0; i < places_now_.size(); ++i)
        compare_places(places_before_[i], places_now_[i]);
    else
      add("operators", shape_of(taken_.pipeline.root), shape_of(now_.root), false);
    compare_batches(taken_.pipeline, now_);
    return std::move(found_);
  }

private:
  bool same_shape() const {
    return std::equal(places_before_.begin(), places_before_.end(), places_now_.begin(),
                      places_now_.end(), same_operator);
  }

  void add(std::string name, const std::string& before, const std::string& now, bool can_allow) {
    auto text = prefix_ + name + ": snapshot " + before + ", pipeline " + now;
    found_.push_back({std::move(name), std::move(text), can_allow});
  }

  /// Says which sources, unless all of them are meant.
  std::string prefix_of(const operator_place& x) const {
    const auto count = x.last_source - x.first_source;
    if (count == places_now_.back().last_source)
      return {};
    if (count == 1)
      return "source " + std::to_string(x.first_source) + ": ";
    return "sources " + std::to_string(x.first_source) + " to " + std::to_string(x.last_source - 1)
           + ": ";
  }

  void compare_places(const operator_place& before, const operator_place& now) {
    prefix_ = prefix_of(now);
    compare_operators(*before.node, *now.node);
    compare_maps(before.maps, now.maps);
    prefix_.clear();
  }

  void compare_operators(const operator_facts& before, const operator_facts& now) {
    const auto* type = find_operator(now.op);
    if (now.is_source())
      compare_sources(before, now);
    else if (type && type->comparison.differences)
      for (auto& x : type->comparison.differences(before, now))
        add(std::move(x.name), x.before, x.now, false);
    else if (!is_batch(now))
      compare_options(kind_of(before), kind_of(now), type);
    compare_versions(before, now);
  }

  void compare_options(const operator_facts& before, const operator_facts& now,
                       const operator_type* type) {
    if (before.options != now.options)
      add(now.op, text_of(before.options), text_of(now.options),
          type && type->comparison.options_may_change);
  }

  /// Compares the versions of what operators write into states, and of how they read data.
  void compare_versions(const operator_facts& before, const operator_facts& now) {
    if (!taken_.pipeline.by_iterators || !now_.by_iterators || before.op != now.op)
      return;
    auto text = [](std::uint32_t version) { return "version " + std::to_string(version); };
    if (before.state_version != now.state_version)
      add("state", text(before.state_version) + " of " + now.op,
          text(now.state_version) + ", which this leat reads and writes", false);
    if (before.reading_version != now.reading_version)
      add("reading", text(before.reading_version) + " of " + now.op,
          text(now.reading_version) + ", which may take other records or fields from the data",
          true);
  }

  void compare_sources(const operator_facts& before, const operator_facts& now) {
    const auto kind_before = kind_of(before);
    const auto kind_now = kind_of(now);
    if (kind_before != kind_now)
      add("source", text_of(kind_before), text_of(kind_now), false);
    compare_data(before.data.value_or(source_facts{}), now.data.value_or(source_facts{}));
  }

  /// Says what differs in the largest measure only: other files hold other names, too.
  void compare_data(const source_facts& before, const source_facts& now) {
    auto extent = [](const source_facts& x) {
      return std::to_string(x.files) + " files of " + std::to_string(x.bytes) + " bytes";
    };
    if (before.records != now.records)
      add("records", std::to_string(before.records), std::to_string(now.records), false);
    else if (before.files != now.files || before.bytes != now.bytes)
      add("files", extent(before), extent(now), false);
    else if (before.digest != now.digest)
      // The digest is a key of the order: in mid-epoch, rows would be lost and repeated.
      add("names", "data digest " + to_string(before.digest), to_string(now.digest),
          taken_.step == 0);
    else if (before.versions.are_known() && before.versions.place == now.versions.place
             && before.versions.digest != now.versions.digest)
      compare_pins(before.versions, now.versions);
  }

  /// Of the same files in the same place: elsewhere the data digest decides. Names the first file
  /// that differs, if that is known.
  void compare_pins(const stored_versions& before, const stored_versions& now) {
    const auto count = std::max(before.named.size(), before.marks.size() / 2);
    std::size_t file = 0;
    while (file < count && is_same(before, now, file))
      ++file;
    if (file == count)
      return add("pins", "other versions of the same files", "those of now", true);
    const auto was = before.named.empty() ? "another version" : before.named[file];
    const auto is = file < now.now.size()     ? now.now[file]
                    : file < now.named.size() ? now.named[file]
                                              : std::string{"the one of now"};
    add("pins",
        as_utf8(was) + " of "
            + (file < now.files.size() ? now.files[file] : "file " + std::to_string(file)),
        as_utf8(is), true);
  }

  static bool is_same(const stored_versions& a, const stored_versions& b, std::size_t file) {
    if (!a.named.empty())
      return file < b.named.size() && a.named[file] == b.named[file];
    const auto mark_in = [&](const stored_versions& x) {
      return x.marks.substr(std::min(2 * file, x.marks.size()), 2);
    };
    return mark_in(a) == mark_in(b);
  }

  void compare_maps(const map_names& before, const map_names& now) {
    if (before == now)
      return;
    const auto gone = only_in(before, now);
    const auto come = only_in(now, before);
    const bool same_in_other_order = gone.empty() && come.empty();
    add("maps", text_of_maps(same_in_other_order ? before : gone),
        text_of_maps(same_in_other_order ? now : come), true);
  }

  void compare_batches(const pipeline_facts& before, const pipeline_facts& now) {
    if (before.batch_rows() != now.batch_rows())
      add("rows",
          std::to_string(before.batch_rows()) + " a batch and " + std::to_string(taken_.step)
              + " batches into the epoch",
          std::to_string(now.batch_rows()),
          !lanes_bind_ && step_of_rows(taken_, now.batch_rows()).has_value());
    if (before.lanes != now.lanes)
      add("lanes", std::to_string(before.lanes), std::to_string(now.lanes), !lanes_bind_);
    compare_rest(before.root, now.root);
  }

  void compare_rest(const operator_facts& before, const operator_facts& now) {
    using texts = std::vector<std::string>;
    const auto end_before = before.get<std::string>("end");
    const auto end_now = now.get<std::string>("end");
    if (end_before != end_now)
      add("end", end_before, end_now, end_before != "cycle" && end_now != "cycle");
    const auto fields_before = before.get<texts>("fields");
    const auto fields_now = now.get<texts>("fields");
    if (fields_before != fields_now)
      add("fields", text_of_fields(fields_before), text_of_fields(fields_now), true);
  }

  const snapshot& taken_;
  const pipeline_facts& now_;
  std::vector<operator_place> places_before_;
  std::vector<operator_place> places_now_;
  /// The order depends on the lanes: with other lanes it cannot continue from there.
  bool lanes_bind_ = false;
  /// Stands before the texts of the place that is being compared.
  std::string prefix_;
  std::vector<difference> found_;
};

[[noreturn]] void throw_mismatch(std::vector<std::string> differences) {
  throw error(errc::mismatch, {.stage = "snapshot",
                               .got = "a snapshot of another pipeline",
                               .needed = "the same pipeline and data; these differ:",
                               .list = std::move(differences)});
}

} // namespace

std::vector<difference> compare(const snapshot& taken, const pipeline_facts& now) {
  return comparison{taken, now}.all();
}

void check(const snapshot& taken, const pipeline_facts& now,
           const std::vector<std::string>& allowed) {
  std::vector<std::string> refused;
  for (const auto& x : compare(taken, now)) {
    const bool is_allowed = std::find(allowed.begin(), allowed.end(), x.name) != allowed.end();
    if (!x.can_allow || !is_allowed)
      refused.push_back(
          x.text
          + (x.can_allow ? " (can be allowed as \"" + x.name + "\")" : " (cannot be allowed)"));
  }
  if (!refused.empty())
    throw_mismatch(std::move(refused));
}

std::uint64_t step_for(const snapshot& taken, const pipeline_facts& now) {
  const auto step = step_of_rows(taken, now.batch_rows());
  if (!step)
    throw_mismatch({"rows: snapshot " + std::to_string(taken.step) + " batches of "
                    + std::to_string(taken.pipeline.batch_rows()) + ", pipeline "
                    + std::to_string(now.batch_rows()) + " a batch (cannot be allowed)"});
  return *step;
}

} // namespace leat
