#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/iterators/recalled_records.hpp"
#include "runtime/order/iterators/record_item.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/lines/json_types.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "runtime/sources/named_files.hpp"
#include "runtime/sources/tar/tar_stream_source.hpp"
#include "runtime/storage/stream_files.hpp"

#include <array>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace leat {

pipeline pipeline::read_files(file_format format, read_files_options options) const {
  check_field("read_files", options.field);
  const auto types = json_types{options.types}.texts();
  if (!types.empty() && format != file_format::json_lines)
    refuse_argument("read_files.types", "types of fields", "the format \"json_lines\"");
  operator_node node{.op = "read_files",
                     .options = {{"format", word_of(format, file_formats)},
                                 {"field", std::move(options.field)},
                                 {"folder", std::move(options.folder)}}};
  if (!types.empty())
    node.options.push_back({"types", types});
  node.stores = chosen_stores(options.remote);
  return then(std::move(node));
}

namespace {

/// Reads the files that the input names, one after the other.
///
/// An item begins with the number of its file's item in the lane, from 1; 0 precedes an item of the
/// input that could not be judged. Blank names are counted, and no files.
class reading_iterator final : public iterator {
public:
  reading_iterator(edge_iterator input, const named_files& files, const lane_context& lane)
      : input_(input), files_(files), lane_(lane), id_(files.new_reader_id()) {}
  ~reading_iterator() override { files_.drop(id_); }

  pulled pull(item& into) override {
    while (true) {
      if (is_reading_) {
        if (next_record()) {
          append(into);
          return pulled::item;
        }
        is_reading_ = false;
      }
      if (!lane_.run->may_go_on())
        return pulled::blocked;
      item named;
      probe_result found;
      if (const auto result = input_.pull(named, found); result != pulled::item)
        return result;
      ++number_;
      if (found.bad) {
        into.add(0);
        into.append(named);
        return pulled::item;
      }
      if (is_blank(found.text))
        continue;
      name_ = std::move(found.text);
      place_ = {};
      is_reading_ = true;
    }
  }

  void save(item& to) const override {
    input_.save(to);
    to.add(number_);
    to.add(is_reading_ ? 1 : 0);
    if (!is_reading_)
      return;
    to.add(name_);
    to.add(place_.number);
    to.add(place_.offset);
    to.add(place_.restart);
  }
  void load(item_reader& from) override {
    input_.load(from);
    number_ = from.number();
    is_reading_ = from.number(1) == 1;
    if (number_ != input_.taken())
      refuse_state("file " + std::to_string(number_) + " of a lane",
                   "number " + std::to_string(input_.taken()) + ", as its list has come to");
    if (!is_reading_)
      return;
    name_ = from.text();
    place_.number = from.number();
    place_.offset = from.number();
    place_.restart = from.text();
  }

private:
  bool next_record() {
    static const std::string name = "read_files";
    const auto call = lane_.run->call(name, lane_.lane);
    auto x = files_.take(id_, name_, place_, lane_.run->ahead);
    if (!x.reader->next(record_))
      return false;
    place_ = x.reader->place();
    files_.park(id_, std::move(x));
    return true;
  }

  void append(item& into) {
    const auto begin = into.size();
    into.add(number_);
    into.add(name_);
    add_record(record_, into);
    if (record_.content)
      into.attach(begin, payload_of_source, std::exchange(record_.content, nullptr));
  }

  edge_iterator input_;
  const named_files& files_;
  lane_context lane_;
  /// Id of the reader, which may be closed by others between two records.
  std::uint64_t id_;
  std::uint64_t number_ = 0;
  bool is_reading_ = false;
  std::string name_;
  stream_place place_;
  stream_record record_;
};

class reading_form final : public over_input<edge_form> {
public:
  reading_form(edge_ptr input, std::shared_ptr<const named_files> files, std::size_t source)
      : over_input(std::move(input)), files_(std::move(files)), source_(source) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<reading_iterator>(input().begin(lane, g), *files_, lane);
  }

  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto start = from;
    const auto content = from.find_payload(payload_of_source);
    const auto number = from.number();
    if (number == 0) {
      const auto sample_key = over_input::make(from, at, into, with);
      identify(into, *this, start, at, with.orders());
      return sample_key;
    }
    const auto name = from.text();
    auto record = read_record(from);
    identify(into, *this, start, at, with.orders());
    with.read(source_, [&] {
      record.content = content_of(content, sample_access::stop_of(into));
      files_->get(std::string{name})->read(record, into);
    });
    if (!with.needs_sample_keys())
      return 0;
    const auto file = at.lane + (number - 1) * at.lanes; // only hashed: any number will do
    const std::array<std::uint64_t, 5> words{source_, at.when.epoch, pass_word(at.when.pass), file,
                                             record.number};
    return xxh3_128(std::as_bytes(std::span{words})).low;
  }

  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    if (from.number() == 0)
      return over_input::append_id(from, at, orders, to);
    const auto name = from.text();
    append_as_utf8(to, [&](std::string& id) {
      files_->get(std::string{name})->append_id(read_record(from), id);
    });
  }

  void recall(item_reader& from, restored_content& to) const override {
    const auto begin = from.place();
    if (from.number() == 0)
      return over_input::recall(from, to);
    const std::string name{from.text()};
    auto record = read_record(from);
    if (packing_of(name) == packing::none)
      return;
    auto read = [files = files_, name](const stream_record& x, const std::stop_token& stop) {
      return files->get(name)->read_content(x, stop);
    };
    to.push_back({begin, from.place(), recalls_.add(name, std::move(record), std::move(read))});
  }

private:
  std::shared_ptr<const named_files> files_;
  std::size_t source_;
  mutable recalled_records recalls_;
};

/// The files as a stream of this format, one unit each; `types` are of JSON.
std::shared_ptr<const stream_source> open_stream(file_format format, file_set files,
                                                 const json_types& types) {
  if (format == file_format::tar)
    return std::make_shared<const tar_stream_source>(std::move(files));
  const auto is_json = format == file_format::json_lines;
  return std::make_shared<const line_source>(is_json ? "json_lines" : "lines", std::move(files), 1,
                                             is_json ? json_object_lines(types) : text_lines());
}

field_names fields_of_format(const operator_node& x, std::vector<field_names>&) {
  return x.get<std::string>("format") == "lines" ? field_names{"text"} : field_names{};
}

/// The edge finds the names of files.
iterator_form_ptr build_read_files(const operator_node& x, const surroundings& at,
                                   iterator_planner& planner) {
  auto names =
      planner.build_edge(x, at, [field = x.get<std::string>("field")](sample& s, sample_maker&) {
        const auto name = s.bytes(field);
        return probe_result{.text = {reinterpret_cast<const char*>(name.data()), name.size()}};
      });
  const json_types types{json_types_in(x.get<std::vector<std::string>>("types"))};
  auto open = [format = value_of(x, "format", file_formats), types](file_set files) {
    return open_stream(format, std::move(files), types);
  };
  return std::make_shared<reading_form>(
      std::move(names),
      std::make_shared<const named_files>(x.get<std::string>("folder"), std::move(open), x.stores),
      planner.common().add_source(name_of(x)));
}

} // namespace

operator_type read_files_operator() {
  auto format = one_of("format", file_formats, file_format::tar);
  format.preset.reset();
  format.named = false;
  return {.word = "read_files",
          .role = operator_role::step,
          .options = {format,
                      {"field", option_type::text, std::string{"text"}},
                      in_facts({"folder", option_type::text, std::string{}}),
                      later({"types", option_type::texts, std::vector<std::string>{}})},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].read_files(
                    value_of(call, "format", file_formats),
                    {.field = call.get<std::string>("field"),
                     .folder = call.get<std::string>("folder"),
                     .types = json_types_in(call.get<std::vector<std::string>>("types"))});
              },
          .traits = {.is_expensive = true,
                     .replaces_samples = true,
                     .probes_content = [](const operator_node&) { return true; },
                     .sure_fields = fields_of_format},
          .forms = {.iterator = build_read_files, .state_version = 1, .reading_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts& facts) -> state_sizes {
                      return {"an open file, and place in it", 40, plus(facts.item, 60)};
                    },
                    .work = [](const operator_node&) -> std::string { return "read files"; }}};
}

} // namespace leat
