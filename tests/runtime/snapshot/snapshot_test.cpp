#include "runtime/base/xxh3.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "runtime/storage/object_store.hpp"
#include "tests/support/operator_facts.hpp"
#include "tests/support/test.hpp"

#include <leat/snapshot.hpp>

namespace leat::snapshot_test {

using namespace leat::test;
using namespace std::string_literals;

namespace {

using texts = std::vector<std::string>;

operator_facts shards() {
  return source_facts_of(
      "tar_shards",
      {{"patterns", texts{"/data/imagenet/train-{000000..000511}.tar",
                          "/data/imagenet/extra-{000000..000063}.tar", "/data/more/*.tar"}},
       {"index_dir", "/data/index"s},
       {"allow_torn", false}},
      {577, 1'281'167, 146'899'890'176, {0x1234567890abcdef, 0xfedcba0987654321}});
}

operator_facts five_maps(operator_facts x) {
  for (const char* name : {"train_image@1", "label@1", "mix_in@2", "weight@1", "text@3"})
    x = map_of(std::move(x), name, "size=224 type=f32 layout=nchw");
  return x;
}

/// A snapshot of any pipeline.
snapshot taken_of(pipeline_facts pipeline) {
  snapshot x;
  x.pipeline = std::move(pipeline);
  x.epoch = 3;
  x.step = 1200;
  x.global_step = 17'214;
  x.rank = 1;
  x.world_size = 8;
  x.began = 15'000;
  x.sums.digest = {1, 2};
  x.sums.epoch_digest = {3, 4};
  x.sums.samples = 516'420;
  x.sums.bad = {1, 0, 2, 0, 0, 0, 0, 3};
  return x;
}

/// A snapshot of a pipeline with these maps.
snapshot with_maps(const std::function<operator_facts(operator_facts)>& add_maps) {
  return taken_of(batch_of(add_maps(shuffle_of(shards(), 7)), 240, 24, {"image", "label"}));
}

snapshot typical() {
  return with_maps(five_maps);
}

auto fields_of(const snapshot& x) {
  return std::tie(x.pipeline, x.epoch, x.step, x.global_step, x.rank, x.world_size, x.sums,
                  x.began);
}

/// Random values, including the ends of their ranges and bytes that are not UTF-8.
class value_maker {
public:
  explicit value_maker(std::uint64_t seed) : random_(seed) {}

  std::uint64_t number() {
    const auto kind = random_() % 4;
    return kind == 0 ? 0 : kind == 1 ? UINT64_MAX : random_() >> (random_() % 64);
  }

  std::string text() {
    std::string x(random_() % 20, '\0');
    for (auto& letter : x)
      letter = static_cast<char>(random_());
    return x;
  }

  template <class Make>
  auto several(Make make) {
    std::vector<decltype(make())> x(random_() % 6);
    std::generate(x.begin(), x.end(), make);
    return x;
  }

  option_value value() {
    switch (random_() % 6) {
    case 0:
      return random_() % 2 == 0;
    case 1:
      return number();
    case 2:
      return static_cast<double>(number()) / 3;
    case 3:
      return text();
    case 4:
      return several([&] { return number(); });
    default:
      return several([&] { return text(); });
    }
  }

  operator_facts operator_alone() {
    return {.op = "op" + text(), .options = several([&] { return node_option{text(), value()}; })};
  }

  operator_facts tree(int depth) {
    auto x = operator_alone();
    const auto inputs = depth == 0 ? 0 : random_() % 4;
    for (std::uint64_t i = 0; i < inputs; ++i)
      x.inputs.push_back(tree(depth - 1));
    if (inputs == 0)
      x.data = {number(), number(), number(), {number(), number()}};
    return x;
  }

  pipeline_facts facts() {
    return batch_of(tree(5), number(), std::max<std::uint64_t>(number(), 1),
                    several([&] { return text(); }));
  }

  handed_over sums() {
    handed_over x;
    x.digest = {number(), number()};
    x.epoch_digest = {number(), number()};
    x.samples = number();
    for (auto& bad : x.bad)
      bad = number();
    x.given = several([&] { return input_count{number(), number()}; });
    while (!x.given.empty() && x.given.back().samples == 0)
      x.given.pop_back();
    x.partial = random_() % 2 == 0;
    return x;
  }

  snapshot part() {
    snapshot x{facts(), number(), number(), number(), 0, number(), sums(), number()};
    x.world_size += x.world_size == 0 ? 1 : 0;
    x.rank = number() % x.world_size;
    return x;
  }

  /// A lane's state over up to this many rounds.
  round_mark mark(int rounds) {
    round_mark x{nullptr, {number(), number()}, number()};
    if (rounds == 0 || random_() % 5 == 0)
      return x;
    auto base = std::make_shared<lane_base>();
    base->when = x.when;
    base->given = number();
    // Sizes of one, two and three bytes.
    base->state = item::from_bytes(std::string(std::array{0, 7, 300, 20'000}[random_() % 4], 's'));
    if (random_() % 3 == 0)
      base->state.use({static_cast<std::uint32_t>(random_()), number(), number()});
    for (const auto edge : several([&] { return random_() % 40; }))
      base->inputs.push_back({static_cast<std::size_t>(edge), mark(rounds - 1)});
    x.base = std::move(base);
    return x;
  }

  /// Some of the lanes of rank 2 of 4, out of 200.
  lane_states lanes() {
    lane_states all;
    for (std::uint64_t lane = 2; lane < 200; lane += 4)
      if (random_() % 4 == 0) {
        all.push_back({lane, mark(3)});
        for (std::uint32_t feed = 0; random_() % 2 == 0; ++feed)
          all.back().used.push_back({feed, number(), number()});
      }
    return all;
  }

  /// The fields of a batch, by name.
  std::vector<field_layout> fields() {
    std::vector<field_layout> all;
    for (const char* name : {"", "a", "b c", "\xff"}) {
      field_layout x{.name = name, .ragged = random_() % 3 == 0};
      const bool is_bytes = x.ragged && random_() % 2 == 0;
      if (!is_bytes)
        x.type = static_cast<dtype>(random_() % (static_cast<int>(last_dtype) + 1));
      const auto most = shape::max_rank - (x.ragged ? 1 : 0);
      for (auto rank = is_bytes ? 0 : random_() % (most + 1); rank > 0; --rank)
        x.dims = x.dims.behind(random_() % 20 + (x.ragged ? 1 : 0));
      if (random_() % 2 == 0)
        all.push_back(x);
    }
    return all;
  }

private:
  std::mt19937_64 random_;
};

/// All of a lane's state as text.
std::string text_of(const round_mark& x) {
  std::ostringstream text;
  text << '(' << x.when.epoch << ' ' << static_cast<std::uint64_t>(x.when.pass >> 64) << ' '
       << static_cast<std::uint64_t>(x.when.pass) << ' ' << x.consumed;
  if (x.base) {
    text << " given " << x.base->given << ' ' << x.base->state.bytes();
    for (const auto& use : x.base->state.uses())
      text << " use " << use.feed << ' ' << use.lowest << ' ' << use.behind;
    for (const auto& input : x.base->inputs)
      text << " edge " << input.edge << text_of(input.mark);
  }
  text << ')';
  return text.str();
}

std::string text_of(const lane_states& all) {
  std::string text;
  for (const auto& [lane, mark, used] : all) {
    text += std::to_string(lane) + text_of(mark);
    for (const auto& use : used)
      text += " used " + std::to_string(use.feed) + ' ' + std::to_string(use.behind);
    text += '\n';
  }
  return text;
}

error decode_refusal(const std::string& bytes) {
  return thrown_by([&] { decode(bytes, "a-file"); });
}

/// A message in a valid frame.
std::string framed(const std::string& message) {
  auto bytes = encode(typical()).substr(0, 16);
  const auto length = static_cast<std::uint32_t>(message.size());
  bytes.replace(12, 4, reinterpret_cast<const char*>(&length), 4);
  const auto whole = bytes + message;
  const auto hash = xxh3_128(std::as_bytes(std::span{whole}));
  bytes.append(reinterpret_cast<const char*>(&hash.low), 8);
  bytes.append(reinterpret_cast<const char*>(&hash.high), 8);
  return bytes + message;
}

/// A field of a message that is a text or a message, with its number and length before it.
std::string field(int number, const std::string& content) {
  std::string x(1, static_cast<char>(number << 3 | 2));
  for (auto size = content.size(); x.size() == 1 || size != 0; size >>= 7)
    x += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
  return x + content;
}

/// An operator in a node; `rest` is what the node has besides its name.
std::string in_node(const std::string& op, const std::string& rest = {}) {
  return field(1, field(1, op) + rest);
}

const auto data_in_operator = field(3, "");

/// A message of rank 0 of 1 with a pipeline whose root is this node, in one lane.
std::string message_with(const std::string& node) {
  return field(1, field(1, node) + "\x10\x01") + "\x30\x01";
}

/// What was got where a pipeline with this node as its root is refused.
std::string got_of_node(const std::string& node) {
  return decode_refusal(framed(message_with(node))).details().got;
}

/// A batch after the rest of a node.
std::string batched(const std::string& end = "drop") {
  auto option = [](const std::string& name, const std::string& value) {
    return field(2, field(1, name) + value);
  };
  return in_node("batch", option("rows", "\x18\x01") + option("lanes", "\x18\x01")
                              + option("end", field(5, end)) + option("fields", field(7, "")));
}

/// The only difference; fails with a list if there are more or none.
difference only_difference(const snapshot& taken, const pipeline_facts& now) {
  const auto found = compare(taken, now);
  for (const auto& x : found)
    UNSCOPED_INFO(x.text);
  REQUIRE(found.size() == 1);
  return found[0];
}

/// All parts of one state.
std::vector<snapshot> parts_of(std::uint64_t world_size) {
  std::vector<snapshot> parts(world_size, typical());
  for (std::uint64_t rank = 0; rank < world_size; ++rank) {
    auto& x = parts[rank];
    x.rank = rank;
    x.world_size = world_size;
    x.sums.digest = {UINT64_MAX - rank, rank};
    x.sums.samples = 10 + rank;
    x.sums.bad[2] = rank;
  }
  return parts;
}

} // namespace

TEST_CASE("a snapshot comes back as it was") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  value_maker make{seed};
  for (int i = 0; i < 500; ++i) {
    const auto x = make.part();
    const auto bytes = encode(x);
    const auto y = decode(bytes, "x");
    REQUIRE(fields_of(x) == fields_of(y));
    REQUIRE(encode(y) == bytes);
  }
}

TEST_CASE("states of lanes come back as they were, and steps that are left out") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  value_maker make{seed};
  for (int i = 0; i < 100; ++i) {
    auto x = typical();
    x.pipeline.lanes = 200;
    x.world_size = 4;
    x.rank = 2;
    x.sums = make.sums();
    x.lanes = make.lanes();
    if (i % 2 == 0)
      x.left_out = {{1, 2}, {make.number(), UINT64_MAX}};
    x.fields = make.fields();
    if (i % 3 == 0)
      x.feeds = {{make.number(), make.number()}, {}};
    const auto bytes = encode(x);
    CHECK(encode(x) == bytes); // again, now with texts that are kept
    const auto y = decode(bytes, "x");
    REQUIRE(fields_of(x) == fields_of(y));
    REQUIRE(text_of(x.lanes) == text_of(y.lanes));
    REQUIRE(x.left_out == y.left_out);
    REQUIRE(x.fields == y.fields);
    REQUIRE(x.feeds == y.feeds);
    REQUIRE(encode(y) == bytes);
  }
}

TEST_CASE("a pipeline comes back up to the limits of a tree, above them it is not written") {
  auto maps = [](std::size_t number) {
    return with_maps([=](operator_facts x) {
      for (std::size_t i = 0; i < number; ++i)
        x = map_of(std::move(x), "map" + std::to_string(i) + "@1");
      return x;
    });
  };
  auto joins = [](std::size_t number) {
    auto x = count_of(9);
    for (std::size_t i = 0; i < number; ++i)
      x = then(join(i % 2 == 0 ? "zip" : "concat", {count_of(i), std::move(x), count_of(5)}),
               "take", {{"n", std::uint64_t{i}}});
    return taken_of(batch_of(std::move(x), 8, 8));
  };
  auto comes_back = [](const snapshot& x) { return decode(encode(x), "x").pipeline == x.pipeline; };
  auto refused = [](const snapshot& x) { return code_of([&] { encode(x); }); };
  auto sources = [](std::size_t number) {
    return taken_of(batch_of(join("zip", std::vector(number, count_of(9))), 8, 8));
  };
  CHECK(comes_back(sources(max_tree_size.operators - 2))); // and zip, batch
  CHECK(refused(sources(max_tree_size.operators - 1)) == errc::invalid_argument);
  CHECK(comes_back(maps(max_tree_size.height - 3))); // and batch, shuffle, source
  CHECK(refused(maps(max_tree_size.height - 2)) == errc::invalid_argument);
  CHECK(comes_back(joins(max_tree_size.nested_joins)));
  CHECK(refused(joins(max_tree_size.nested_joins + 1)) == errc::invalid_argument);
}

TEST_CASE("a join of one input comes back") {
  const auto x = taken_of(batch_of(join("zip", {join("concat", {count_of(3)})}), 1, 1));
  CHECK(decode(encode(x), "x").pipeline == x.pipeline);
}

TEST_CASE("a typical snapshot is below 2 KB") {
  CHECK(encode(typical()).size() < 2048);
}

TEST_CASE("a pipeline that is too large for a snapshot is refused when written") {
  auto x = typical();
  set_option(x.pipeline.root, "fields", texts{std::string(max_snapshot_bytes, 'x')});
  CHECK(code_of([&] { encode(x); }) == errc::invalid_argument);
}

TEST_CASE("every flipped bit of a snapshot is refused") {
  const auto good = encode(typical());
  for (std::size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(i, bit);
      auto bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      REQUIRE(decode_refusal(bytes).code() == errc::bad_snapshot);
    }
}

TEST_CASE("every snapshot that is cut short or has bytes after it is refused") {
  const auto good = encode(typical());
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    REQUIRE(decode_refusal(good.substr(0, size)).code() == errc::bad_snapshot);
  }
  CHECK(decode_refusal(good + '\0').code() == errc::bad_snapshot);
}

TEST_CASE("a snapshot has version 4 if a sample was killed, and otherwise 3, and both are read") {
  constexpr std::size_t version_at = 8;
  auto x = typical();
  CHECK(encode(x).at(version_at) == 3);
  x.sums.bad[static_cast<std::size_t>(cause::killed)] = 2;
  const auto bytes = encode(x);
  CHECK(bytes.at(version_at) == 4);
  CHECK(decode(bytes, "a-file").sums.bad == x.sums.bad);
  CHECK(encode(decode(bytes, "a-file")) == bytes);
}

/// Objects of a server, so many, of which one has another version.
stored_versions versions_on(const std::string& server, std::size_t count,
                            std::size_t changed = SIZE_MAX) {
  class objects_there final : public near_objects {
  public:
    objects_there(std::string server, std::size_t changed)
        : server_(std::move(server)), changed_(changed) {}
    std::string name(std::size_t i) const override { return "s3://b/" + std::to_string(i); }
    std::string place(std::size_t i) const override {
      return server_.empty() ? server_ : server_ + "/b/" + std::to_string(i);
    }
    object_version stat(std::size_t i) override {
      return {.size = 1,
              .mtime_ns = object_version::no_time,
              .tag = i == changed_ ? "v2" : "v1 of " + std::to_string(i)};
    }
    std::uint64_t read_parts(std::span<const read_part>) override { return 0; }

  private:
    std::string server_;
    std::size_t changed_;
  };
  objects_there objects{server, changed};
  return versions_of(objects, count);
}

snapshot pinned(stored_versions versions, std::uint64_t files) {
  auto source = shards();
  source.data->files = files;
  source.data->versions = std::move(versions);
  return taken_of(batch_of(shuffle_of(std::move(source), 7), 240, 24, {"image", "label"}));
}

TEST_CASE("versions of files on servers are kept, in version 5, and are small") {
  constexpr std::size_t version_at = 8;
  CHECK_FALSE(versions_on("", 3).are_known());
  const auto plain = encode(pinned({}, 5000));
  CHECK(plain.at(version_at) == 3);
  for (const std::size_t files : {1, 8, 9, 1000, 4096, 5000}) {
    CAPTURE(files);
    const auto x = pinned(versions_on("https://h", files), files);
    const auto bytes = encode(x);
    CHECK(bytes.at(version_at) == 5);
    CHECK(bytes.size() < plain.size() + 200 + (files <= 4096 ? 2 * files : 0));
    const auto again = decode(bytes, "a-file");
    CHECK(again.pipeline == x.pipeline);
    CHECK(encode(again) == bytes);
    CHECK(compare(again, x.pipeline).empty());
  }
}

TEST_CASE("another version of a file is a difference in the same place alone") {
  const auto differences = [](const stored_versions& before, const stored_versions& now,
                              std::size_t files) {
    const auto taken = decode(encode(pinned(before, files)), "a-file");
    return compare(taken, pinned(now, files).pipeline);
  };
  const auto text = [&](std::size_t files, std::size_t changed) {
    const auto found = differences(versions_on("https://h", files),
                                   versions_on("https://h", files, changed), files);
    REQUIRE(found.size() == 1);
    CHECK(found[0].name == "pins");
    CHECK(found[0].can_allow);
    return found[0].text;
  };
  CHECK(text(3, 1) == "pins: snapshot v1 of 1 of s3://b/1, pipeline v2");
  CHECK(text(1000, 700) == "pins: snapshot another version of s3://b/700, pipeline v2");
  CHECK(text(5000, 0) == "pins: snapshot other versions of the same files, pipeline those of now");
  const auto here = versions_on("https://h", 3);
  CHECK(differences(here, versions_on("https://other", 3, 1), 3).empty());
  CHECK(differences(here, {}, 3).empty()); // on a disk
  CHECK(differences({}, here, 3).empty());
  const auto taken = pinned(here, 3);
  const auto now = pinned(versions_on("https://h", 3, 2), 3).pipeline;
  CHECK_THROWS_AS(check(taken, now, {}), error);
  CHECK_NOTHROW(check(taken, now, {"pins"}));
}

TEST_CASE("versions that are not one of each file are refused") {
  const auto refused = [](stored_versions x, std::uint64_t files) {
    const auto problem = decode_refusal(encode(pinned(std::move(x), files)));
    return problem.code() == errc::bad_snapshot;
  };
  auto x = versions_on("https://h", 3);
  CHECK(refused(x, 4));
  CHECK(refused(x, 9));
  x.marks = "ab";
  CHECK(refused(x, 3));
  auto many = versions_on("https://h", 20);
  many.marks.pop_back();
  CHECK(refused(many, 20));
  many.marks.clear();
  CHECK(refused(many, 20));
}

TEST_CASE("a refused snapshot says which file, what it is and what is needed") {
  CHECK(std::string{decode_refusal("leat").what()}
        == "bad snapshot: snapshot, file a-file, got 4 bytes, needed at least 32, the "
           "length of its header");
  CHECK(has(decode_refusal(std::string(40, 'x')).what(), "\"leatsnap\""));
  const auto good = encode(typical());
  const auto refused = [&](std::size_t at, int byte) {
    auto bytes = good;
    bytes.at(at) = static_cast<char>(byte);
    return std::string{decode_refusal(bytes).what()};
  };
  CHECK(has(refused(8, 6), "got version 6, of a later leat, needed version 3 to 5"));
  for (const int version : {0, 1, 2}) // none, and those without what cannot be done without
    CHECK(has(refused(8, version), ", of an earlier leat, needed version 3 to 5"));
  CHECK(has(refused(15, 0x7f),
            "got " + std::to_string(good.size() - 32) + " bytes after the header"));
  CHECK(has(refused(good.size() - 1, good.back() + 1), "got checksum"));
}

TEST_CASE("a whole frame around something other than a snapshot is refused") {
  const auto message = encode(typical()).substr(32);
  CHECK(fields_of(decode(framed(message), "x")) == fields_of(typical()));

  CHECK(has(decode_refusal(framed("\xff\xff\xff")).what(), "cannot be parsed"));
  // A later field of the same number replaces rank (5) and world size (6).
  CHECK(has(decode_refusal(framed(message + "\x28\x08")).what(), "got rank 8 of 8"));
  CHECK(has(decode_refusal(framed(message + "\x28\x00\x30\x00"s)).what(), "got rank 0 of 0"));
  // A cause "new" in the list of bad samples (4) of the sums (7).
  CHECK(
      has(decode_refusal(framed(message + "\x3a\x07\x22\x05\x0a\x03new")).what(), "cause \"new\""));
  // Lanes (2) of the pipeline (1).
  CHECK(has(decode_refusal(framed(message + field(1, "\x10\x00"s))).what(), "got 0 lanes"));
}

TEST_CASE("a pipeline that is not a tree of whole operators is refused") {
  const auto source = in_node("count", data_in_operator);
  const auto batch = batched();
  CHECK(decode(framed(message_with(source + batch)), "x").pipeline.batch_rows() == 1);
  const auto after = [&](const std::string& op, const std::string& rest = {}) {
    return source + in_node(op, rest) + batch;
  };
  for (const auto& [node, got] : std::vector<std::pair<std::string, std::string>>{
           {"", "a node without operators"},
           {source, "a pipeline that ends in \"count\""},
           {source + batch + in_node("take"), "a pipeline that ends in \"take\""},
           {batch, "\"batch\" with 0 inputs"},
           {in_node("batch", data_in_operator), "batch without \"rows\""},
           {in_node("", data_in_operator) + batch, "an operator without a name"},
           {in_node("zip") + field(2, source) + batch, "a node with 1 input"},
           {source + field(2, source) + field(2, source) + batch, "\"count\" with 2 inputs"},
           {in_node("zip") + field(2, source) + field(2, "") + batch, "a node without operators"},
           {after("take", data_in_operator), "data of \"take\", which has an input"},
           {after("take", field(2, field(1, "n"))), "option \"n\" without a value"},
           // A value of a kind (8) that this version does not know.
           {after("take", field(2, field(1, "n") + field(8, "new"))),
            "option \"n\" without a value"},
           {after("map"), "map without \"name\""},
           {after("shuffle"), "shuffle without \"seed\""},
           {source + batched("never"), "end \"never\""}})
    CHECK(got_of_node(node) == got);
}

TEST_CASE("trees above the limits are refused when read") {
  const auto source = in_node("count", data_in_operator);
  auto chain = [&](std::size_t links) {
    std::string node = source;
    for (std::size_t i = 0; i < links; ++i)
      node += in_node("x");
    return node + batched();
  };
  auto joined = [&](std::size_t joins) {
    auto node = source;
    for (std::size_t i = 0; i < joins; ++i)
      node = in_node("zip") + field(2, node) + field(2, source);
    return node + batched();
  };
  auto wide = [&](std::size_t sources) {
    auto node = in_node("zip");
    for (std::size_t i = 0; i < sources; ++i)
      node += field(2, source);
    return node + batched();
  };
  CHECK_NOTHROW(decode(framed(message_with(wide(max_tree_size.operators - 2))), "x"));
  CHECK(got_of_node(wide(max_tree_size.operators - 1)) == "more than 10000 operators");
  CHECK_NOTHROW(decode(framed(message_with(chain(max_tree_size.height - 2))), "x"));
  CHECK(got_of_node(chain(max_tree_size.height - 1)) == "more than 1000 operators in a chain");
  CHECK_NOTHROW(decode(framed(message_with(joined(max_tree_size.nested_joins))), "x"));
  CHECK(got_of_node(joined(max_tree_size.nested_joins + 1)) == "more than 64 nested joins");
  CHECK(got_of_node(joined(3000)) == "a message that cannot be parsed");
}

TEST_CASE("what a restore may change is not a difference") {
  const auto taken = typical();
  auto now = taken.pipeline;
  set_option(stage_of(now, "tar_shards"), "patterns", texts{"/elsewhere/*.tar"});
  set_option(stage_of(now, "tar_shards"), "index_dir", "/elsewhere"s);
  set_option(stage_of(now, "shuffle"), "window", std::uint64_t{9}); // no effect on a full shuffle
  set_option(now.root, "lanes", std::uint64_t{24});                 // as resolved they are the same
  CHECK(compare(taken, now).empty());
  CHECK_NOTHROW(check(taken, now, {}));
  CHECK(step_for(taken, now) == taken.step);
}

TEST_CASE("sources that are read in sequence may lie elsewhere, too") {
  for (const std::string op : {"tar_stream", "lines", "json_lines"}) {
    auto pipeline = batch_of(
        source_facts_of(op, {{"patterns", texts{"/data/a.gz"}}, {"seed", std::uint64_t{0}}}, {}), 8,
        4);
    const auto taken = taken_of(pipeline);
    set_option(stage_of(pipeline, op), "patterns", texts{"/elsewhere/a.gz"});
    CHECK(compare(taken, pipeline).empty());
    set_option(stage_of(pipeline, op), "seed", std::uint64_t{1});
    CHECK(compare(taken, pipeline).size() == 1);
  }
}

TEST_CASE("differences have names, show both values and say whether they can be allowed") {
  snapshot taken;
  pipeline_facts now;
  const auto set = [&](const std::string& op, const std::string& name, option_value value) {
    set_option(stage_of(now, op), name, std::move(value));
  };
  const auto data = [&]() -> source_facts& { return *stage_of(now, "tar_shards").data; };
  const auto both_windowed = [&] {
    for (auto* x : {&taken.pipeline, &now})
      set_option(stage_of(*x, "shuffle"), "kind", "windowed"s);
  };
  const auto expect = [&](const std::string& text, bool can_allow, auto change) {
    INFO(text);
    taken = typical();
    now = taken.pipeline;
    change();
    const auto x = only_difference(taken, now);
    CHECK(x.text == text);
    CHECK(x.name == text.substr(0, text.find(':')));
    CHECK(x.can_allow == can_allow);
    CHECK(code_of([&] { check(taken, now, {}); }) == errc::mismatch);
    CHECK(code_of([&] { check(taken, now, {x.name}); })
          == (can_allow ? std::nullopt : std::optional{errc::mismatch}));
  };

  // Sources: their kind, their parameters, and their data.
  expect("source: snapshot tar_shards allow_torn=false, pipeline image_folder", false, [&] {
    stage_of(now, "tar_shards").options = {{"directory", "/photos"s}};
    stage_of(now, "tar_shards").op = "image_folder";
  });
  expect("source: snapshot tar_shards allow_torn=false, pipeline tar_shards allow_torn=true", false,
         [&] { set("tar_shards", "allow_torn", true); });
  const source_facts others{578, 1'281'168, 1, {}};
  expect("records: snapshot 1281167, pipeline 1281168", false, [&] { data() = others; });
  expect("files: snapshot 577 files of 146899890176 bytes, pipeline 1 files of 146899890176 bytes",
         false, [&] {
           data().files = 1;
           data().digest = {};
         });
  expect("files: snapshot 577 files of 146899890176 bytes, pipeline 577 files of 5 bytes", false,
         [&] { data().bytes = 5; });
  for (const std::uint64_t step : {0, 1200}) // at the start of an epoch names may differ
    expect("names: snapshot data digest fedcba09876543211234567890abcdef, "
           "pipeline 0000000000000000000000000000000f",
           step == 0, [&] {
             taken.step = step;
             data().digest = {15, 0};
           });
  // Shuffles.
  expect("seed: snapshot 7, pipeline 8", false, [&] { set("shuffle", "seed", std::uint64_t{8}); });
  expect("shuffle: snapshot full, pipeline none", false, [&] { set("shuffle", "kind", "none"s); });
  expect("shuffle: snapshot windowed over 4 files, pipeline windowed over 5 files", false, [&] {
    both_windowed();
    set("shuffle", "window", std::uint64_t{5});
  });
  // Maps: others, one more, and another order.
  expect("maps: snapshot label@1 (size=224 type=f32 layout=nchw), "
         "text@3 (size=224 type=f32 layout=nchw), "
         "pipeline label@2 (size=224 type=f32 layout=nchw), text@3 (size=256)",
         true, [&] {
           now = with_maps([](operator_facts x) {
                   for (const char* name : {"train_image@1", "label@2", "mix_in@2", "weight@1"})
                     x = map_of(std::move(x), name, "size=224 type=f32 layout=nchw");
                   return map_of(std::move(x), "text@3", "size=256");
                 }).pipeline;
         });
  expect("maps: snapshot none, pipeline last@1", true,
         [&] { now = with_maps([](auto x) { return map_of(five_maps(x), "last@1"); }).pipeline; });
  expect("maps: snapshot a@1, b@1 (x), pipeline b@1 (x), a@1", true, [&] {
    taken = with_maps([](auto x) { return map_of(map_of(x, "a@1"), "b@1", "x"); });
    now = with_maps([](auto x) { return map_of(map_of(x, "b@1", "x"), "a@1"); }).pipeline;
  });
  // Rows: a batch begins at the same row, or none does.
  const auto expect_rows = [&](std::uint64_t step, std::uint64_t rows, bool can_allow, auto more) {
    expect("rows: snapshot 240 a batch and " + std::to_string(step)
               + " batches into the epoch, pipeline " + std::to_string(rows),
           can_allow, [&] {
             taken.step = step;
             set("batch", "rows", rows);
             more();
           });
  };
  const auto nothing = [] {};
  expect_rows(1200, 100, true, nothing); // 1200 * 240 = 2880 * 100
  CHECK(step_for(taken, now) == 2880);
  expect_rows(1200, 7, false, nothing);
  CHECK(code_of([&] { step_for(taken, now); }) == errc::mismatch);
  expect_rows(0, 7, true, nothing);
  CHECK(step_for(taken, now) == 0);
  expect_rows(1200, 100, false, both_windowed);
  expect_rows(std::uint64_t{1} << 60, 16, false, nothing); // forged
  expect_rows(1200, 0, false, nothing);
  // Lanes, and the rest of the batch.
  expect("lanes: snapshot 24, pipeline 12", true, [&] { now.lanes = 12; });
  expect("lanes: snapshot 24, pipeline 12", false, [&] {
    both_windowed();
    now.lanes = 12;
  });
  expect("end: snapshot drop, pipeline mask", true, [&] { set("batch", "end", "mask"s); });
  expect("fields: snapshot image, label, pipeline all", true,
         [&] { set("batch", "fields", texts{}); });
}

TEST_CASE("operators of a tree that differ are differences, with the sources that they stand on") {
  // concat(source 0, zip(source 1, source 2), source 3)
  struct choice {
    std::uint64_t records = 5;
    std::uint64_t seed = 2;
    std::uint64_t n = 100;
    std::string field = "index";
    std::string map = "a@1";
    std::string last_map = "last@1";
    std::uint64_t repeats = 2;
    std::string join = "zip";
  };
  auto tree = [](const choice& x) {
    auto zipped =
        join(x.join, {then(count_of(3), "repeat", {{"n", x.repeats}}),
                      shuffle_of(then(count_of(x.records), "take", {{"n", x.n}}), x.seed)});
    auto all = join("concat", {map_of(count_of(1), x.map),
                               then(zipped, "enumerate", {{"field", x.field}}), count_of(4)});
    return batch_of(map_of(then(shuffle_of(all, 1), "skip", {{"n", x.n}}), x.last_map), 8, 4);
  };
  const auto taken = taken_of(tree({}));
  auto expect = [&](const choice& x, const std::vector<difference>& wanted) {
    const auto found = compare(taken, tree(x));
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].name == wanted[i].name);
      CHECK(found[i].text == wanted[i].text);
      CHECK(found[i].can_allow == wanted[i].can_allow);
    }
  };

  expect({}, {});
  expect({.records = 6}, {{"records", "source 2: records: snapshot 5, pipeline 6", false}});
  expect({.seed = 3}, {{"seed", "source 2: seed: snapshot 2, pipeline 3", false}});
  expect({.n = 7}, {{"take", "source 2: take: snapshot n=100, pipeline n=7", false},
                    {"skip", "skip: snapshot n=100, pipeline n=7", false}});
  expect(
      {.field = "row"},
      {{"enumerate", "sources 1 to 2: enumerate: snapshot field=index, pipeline field=row", true}});
  expect({.map = "b@1"}, {{"maps", "source 0: maps: snapshot a@1, pipeline b@1", true}});
  expect({.last_map = "b@1"}, {{"maps", "maps: snapshot last@1, pipeline b@1", true}});
  expect({.repeats = 9}, {{"repeat", "source 1: repeat: snapshot n=2, pipeline n=9", false}});
  expect({.join = "concat"},
         {{"operators",
           "operators: snapshot concat(count, zip(count.repeat, count.take.shuffle).enumerate, "
           "count).shuffle.skip.batch, pipeline "
           "concat(count, concat(count.repeat, count.take.shuffle).enumerate, "
           "count).shuffle.skip.batch",
           false}});
}

TEST_CASE("a state that another version of an operator wrote is refused") {
  auto pipeline = batch_of(shuffle_of(shards(), 7), 240, 24);
  pipeline.by_iterators = true;
  stage_of(pipeline, "tar_shards").state_version = 1;
  const auto bytes = encode(taken_of(pipeline));
  CHECK(compare(decode(bytes, "a-file"), pipeline).empty());
  auto later = pipeline;
  stage_of(later, "tar_shards").state_version = 2;
  const auto found = only_difference(decode(bytes, "a-file"), later);
  CHECK(found.name == "state");
  CHECK(found.text
        == "state: snapshot version 1 of tar_shards, pipeline version 2, which this leat reads and "
           "writes");
  CHECK_FALSE(found.can_allow);
}

TEST_CASE("another shape is one difference, besides those of the batch") {
  const auto source = count_of(100);
  auto name_in = [](const pipeline_facts& before, const pipeline_facts& now) {
    const auto x = only_difference(taken_of(before), now);
    CHECK_FALSE(x.can_allow);
    return x.text;
  };
  auto one = batch_of(shuffle_of(source, 1), 8, 8);
  CHECK(name_in(one, batch_of(source, 8, 8))
        == "operators: snapshot count.shuffle.batch, pipeline count.batch");
  CHECK(name_in(batch_of(join("zip", {source, source}), 8, 8), one)
        == "operators: snapshot zip(count, count).batch, pipeline count.shuffle.batch");
  CHECK(name_in(batch_of(join("zip", {source, source, source}), 8, 8),
                batch_of(join("zip", {source, source}), 8, 8))
        == "operators: snapshot zip(count, count, count).batch, pipeline zip(count, count).batch");
  CHECK(name_in(one, batch_of(shuffle_of(join("zip", {source}), 1), 8, 8))
        == "operators: snapshot count.shuffle.batch, pipeline count.zip.shuffle.batch");
  CHECK(name_in(batch_of(join("zip", {join("zip", {source, source})}), 8, 8),
                batch_of(join("zip", {source, join("zip", {source})}), 8, 8))
        == "operators: snapshot zip(count, count).zip.batch, "
           "pipeline zip(count, count.zip).batch");
  const auto both = compare(taken_of(one), batch_of(source, 8, 4));
  REQUIRE(both.size() == 2);
  CHECK(both[1].name == "lanes");
}

TEST_CASE("maps belong to their places between the operators") {
  auto maps_around_take = [](const char* before, const char* behind) {
    auto x = map_of(then(map_of(count_of(9), before), "take", {{"n", std::uint64_t{5}}}), behind);
    return batch_of(x, 1, 1);
  };
  const auto found =
      compare(taken_of(maps_around_take("a@1", "b@1")), maps_around_take("b@1", "a@1"));
  REQUIRE(found.size() == 2);
  CHECK(found[0].text == "maps: snapshot a@1, pipeline b@1");
  CHECK(found[1].text == "maps: snapshot b@1, pipeline a@1");
}

TEST_CASE("a windowed shuffle anywhere fixes rows and lanes") {
  auto zipped = [](const std::string& kind, std::uint64_t rows, std::uint64_t lanes) {
    return batch_of(join("zip", {count_of(9), shuffle_of(count_of(9), 1, kind)}), rows, lanes);
  };
  auto can_allow = [&](const std::string& before, const std::string& now) {
    texts allowed;
    for (const auto& x : compare(taken_of(zipped(before, 8, 8)), zipped(now, 4, 4)))
      if (x.can_allow)
        allowed.push_back(x.name);
    return allowed;
  };
  CHECK(can_allow("full", "full") == texts{"rows", "lanes"});
  CHECK(can_allow("windowed", "windowed").empty());
  CHECK(can_allow("windowed", "full").empty());
  CHECK(can_allow("full", "windowed").empty());
}

TEST_CASE(
    "what a source is called and how large its records are is compared, where it lies is not") {
  auto taken_with = [](operator_facts x) { return taken_of(batch_of(std::move(x), 1, 1)); };
  auto now_with = [](operator_facts x) { return batch_of(std::move(x), 1, 1); };
  auto raw = [](const std::string& path, std::vector<std::uint64_t> dims) {
    return source_facts_of("raw_records", {{"path", path}, {"type", "f32"s}, {"dims", dims}}, {});
  };
  auto folder = [](const std::string& path) {
    return source_facts_of("image_folder", {{"directory", path}}, {});
  };
  auto own = [](const std::string& name) {
    return source_facts_of("indexed", {{"name", name}}, {});
  };
  CHECK(compare(taken_with(folder("a")), now_with(folder("b"))).empty());
  CHECK(compare(taken_with(raw("a", {3, 4})), now_with(raw("b", {3, 4}))).empty());
  CHECK(only_difference(taken_with(raw("a", {3, 4})), now_with(raw("a", {4}))).text
        == "source: snapshot raw_records type=f32 dims=[3, 4], pipeline raw_records type=f32 "
           "dims=[4]");
  CHECK(only_difference(taken_with(own("cifar@1")), now_with(own("cifar@2"))).text
        == "source: snapshot indexed name=cifar@1, pipeline indexed name=cifar@2");
  CHECK(only_difference(taken_with(count_of(5)), now_with(count_of(6))).name == "records");
}

TEST_CASE("a mismatch lists all that is not allowed, a line each") {
  const auto taken = typical();
  auto now = taken.pipeline;
  set_option(stage_of(now, "shuffle"), "seed", std::uint64_t{8});
  now.lanes = 12;
  set_option(now.root, "end", "mask"s);
  const auto x = thrown_by([&] { check(taken, now, {"end", "seed"}); });
  CHECK(x.code() == errc::mismatch);
  CHECK(std::string{x.what()}
        == "mismatch: snapshot, got a snapshot of another pipeline, needed the same pipeline and "
           "data; these differ:"
           "\n  seed: snapshot 7, pipeline 8 (cannot be allowed)"
           "\n  lanes: snapshot 24, pipeline 12 (can be allowed as \"lanes\")");
}

TEST_CASE("parts add up, in any order") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  auto parts = parts_of(5);
  set_option(stage_of(parts[3].pipeline, "tar_shards"), "patterns", texts{"/mounted/elsewhere"});
  const auto sum = merge(parts, true);
  CHECK(sum.sums.digest
        == hash128{std::uint64_t(0) - 15, 14}); // 5 (2^64 - 1) - 10 = 4 * 2^64 + 2^64 - 15
  CHECK(sum.sums.epoch_digest == hash128{15, 20});
  CHECK(sum.sums.samples == 60);
  CHECK(sum.sums.bad == bad_counts{5, 0, 10, 0, 0, 0, 0, 15, 0});
  CHECK_FALSE(sum.sums.partial);
  CHECK(sum.step == 1200);
  CHECK(sum.world_size == 5);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(parts.begin(), parts.end(), random);
    REQUIRE(encode(merge(parts, true)) == encode(sum));
  }
}

/// Two mixes, of two and three inputs, in data order.
pipeline_facts mixed_facts() {
  const auto mix = [](std::vector<operator_facts> inputs, const std::string& cost) {
    auto x = join("mix", std::move(inputs));
    x.options = {{"weights", std::vector<std::uint64_t>{}}, {"cost", cost}};
    return x;
  };
  const auto named = [](const std::string& name) {
    return source_facts_of("lines", {{"patterns", texts{name}}}, {});
  };
  const auto inner = mix({named("a"), named("b")}, "tokens");
  return batch_of(mix({inner, count_of(9), named("c")}, {}), 8, 4, {});
}

TEST_CASE("what inputs of mixes gave adds up, and is said by mix and input") {
  auto parts = parts_of(3);
  for (auto& part : parts)
    part.pipeline = mixed_facts();
  parts[0].sums.given = {{1, 70}, {2, 0}};
  parts[2].sums.given = {{10, 1}, {0, 0}, {0, 0}, {4, 0}, {5, 0}};
  const auto sum = merge(parts, true);
  CHECK(sum.sums.given == input_counts{{11, 71}, {2, 0}, {0, 0}, {4, 0}, {5, 0}});
  std::vector<std::string> bytes;
  for (const auto& part : parts)
    bytes.push_back(encode(part));
  const auto mixes = inspect_snapshot(bytes).mixes;
  REQUIRE(mixes.size() == 2);
  CHECK(mixes[0] == mix_counts{"tokens", {{"a", 1, 11, 71}, {"b", 1, 2, 0}}});
  CHECK(mixes[1]
        == mix_counts{"", {{"a and 1 more", 1, 0, 0}, {"count", 1, 4, 0}, {"c", 1, 5, 0}}});

  parts[2].sums.given.push_back({1, 0});
  bytes.back() = encode(parts[2]);
  CHECK(code_of([&] { inspect_snapshot(bytes); }) == errc::bad_snapshot);
}

TEST_CASE("counts of mixes: none in older snapshots, and no costs of inputs that gave nothing") {
  auto x = typical();
  x.pipeline = mixed_facts();
  const auto older = encode(x);
  x.sums.given = {{0, 0}, {0, 0}};
  CHECK(encode(x) == older);
  CHECK(decode(older, "x").sums.given.empty());
  CHECK(inspect_snapshot({older}).mixes[0].inputs[0].samples == 0);
  // Costs (7) of the sums (7), of one input more than there are samples.
  const auto message = older.substr(32);
  const auto forged = field(7, field(6, "\x05") + field(7, "\x09\x09"));
  CHECK(has(decode_refusal(framed(message + forged)).what(), "got 2 costs of 1 inputs"));
}

TEST_CASE("a partial sum stays partial") {
  auto parts = parts_of(2);
  parts[1].sums.partial = true;
  CHECK(merge(parts, true).sums.partial);
}

TEST_CASE("missing parts are named, or make the sums partial") {
  auto parts = parts_of(5);
  parts.erase(parts.begin() + 3);
  parts.erase(parts.begin());
  const auto x = thrown_by([&] { merge(parts, true); });
  CHECK(x.code() == errc::bad_snapshot);
  CHECK(x.details().got == "no parts of ranks 0, 3");
  CHECK(x.details().needed == "all 5 parts");
  CHECK(merge(parts, false).sums.partial);
  CHECK(merge(parts, false).sums.samples == 37);
}

TEST_CASE("a part of an enormous world does not take forever to refuse") {
  auto x = typical();
  x.world_size = UINT64_MAX;
  const auto got = thrown_by([&] { merge({x}, true); }).details().got;
  CHECK(has(got, "15, 16 and 18446744073709551598 more"));
  CHECK(has(got, "ranks 0, 2, 3"));
}

TEST_CASE("parts that do not belong together are refused") {
  CHECK(code_of([] { merge({}, false); }) == errc::bad_snapshot);
  const auto check = [](const std::string& what, auto change) {
    INFO(what);
    auto parts = parts_of(3);
    change(parts[2]);
    const auto problem = thrown_by([&] { merge(parts, false); });
    CHECK(problem.code() == errc::bad_snapshot);
    CHECK((what != "different fields" || has(problem.what(), what)));
  };
  check("different fields", [](auto& x) { x.fields = {{.name = "x"}}; });
  check("a rank twice", [](auto& x) { x.rank = 0; });
  check("a rank that the world does not have", [](auto& x) { x.rank = 3; });
  check("another epoch", [](auto& x) { x.epoch++; });
  check("another step", [](auto& x) { x.step++; });
  check("another step of the job", [](auto& x) { x.global_step++; });
  check("another world", [](auto& x) { x.world_size++; });
  check("another run", [](auto& x) { x.began++; });
  check("another pipeline",
        [](auto& x) { set_option(stage_of(x.pipeline, "shuffle"), "seed", std::uint64_t{8}); });
}

TEST_CASE("parts of ranks that found different versions of files are one set") {
  auto parts = parts_of(3);
  const auto before = pinned(versions_on("https://h", 3), 3).pipeline;
  const auto after = pinned(versions_on("https://h", 3, 1), 3).pipeline;
  for (auto& x : parts)
    x.pipeline = before;
  parts[2].pipeline = after;
  REQUIRE(compare(parts[2], before).size() == 1);
  CHECK(merge(parts, true).pipeline == before);
  CHECK_THROWS_AS(check(parts[2], before, {}), error);
  parts[2].pipeline = pinned(versions_on("https://h", 4), 4).pipeline;
  CHECK(thrown_by([&] { merge(parts, true); }).code() == errc::bad_snapshot);
}

TEST_CASE("fields of a batch that cannot be are refused") {
  const auto with_field = [](const std::string& content) {
    // Number 18 takes two bytes.
    return framed(message_with(in_node("lines", data_in_operator) + batched()) + "\x92\x01"
                  + field(1, content).substr(1));
  };
  const auto named = [](const std::string& type) { return field(1, "x") + field(2, type); };
  CHECK(decode(with_field(named("f32")), "a-file").fields
        == std::vector<field_layout>{{.name = "x", .type = dtype::f32}});
  CHECK(has(decode_refusal(with_field(named("f33"))).what(), "of type \"f33\""));
  CHECK(has(decode_refusal(with_field(named("f32") + field(3, std::string(7, '\1')))).what(),
            "7 dimensions"));
  const auto huge = std::string(8, '\xff') + '\x7f';
  CHECK(has(decode_refusal(with_field(named("f32") + field(3, huge))).what(), "too many elements"));
  // 2^29 floats have as many bytes as a field may have; one more does not.
  CHECK(decode(with_field(named("f32") + field(3, "\x80\x80\x80\x80\x02")), "a-file").fields.size()
        == 1);
  CHECK(has(decode_refusal(with_field(named("f32") + field(3, "\x81\x80\x80\x80\x02"))).what(),
            "too many elements"));
}

} // namespace leat::snapshot_test
