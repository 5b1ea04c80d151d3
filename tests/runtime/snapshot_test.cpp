#include "runtime/snapshot.hpp"
#include "runtime/xxh3.hpp"
#include "tests/support/catch.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <tuple>

using namespace leat;
using namespace std::string_literals;

namespace {

snapshot typical() {
  snapshot x;
  x.pipeline.source_kind = "tar";
  x.pipeline.patterns = {"/data/imagenet/train-{000000..000511}.tar",
                         "/data/imagenet/extra-{000000..000063}.tar", "/data/more/*.tar"};
  x.pipeline.source_parameters = {{"allow_torn", "0"}, {"layout", "webdataset"}};
  x.pipeline.data = {577, 1'281'167, 146'899'890'176, {0x1234567890abcdef, 0xfedcba0987654321}};
  x.pipeline.shuffle = {.seed = 7, .kind = shuffle_kind::full};
  for (const char* name : {"train_image@1", "label@1", "mix_in@2", "weight@1", "text@3"})
    x.pipeline.maps.emplace_back(name, "size=224 type=f32 layout=nchw");
  x.pipeline.batch_rows = 240;
  x.pipeline.lanes = 24;
  x.pipeline.fields = {"image", "label"};
  x.epoch = 3;
  x.step = 1200;
  x.global_step = 17'214;
  x.rank = 1;
  x.world_size = 8;
  x.sums.digest = {1, 2};
  x.sums.epoch_digest = {3, 4};
  x.sums.samples = 516'420;
  x.sums.bad = {1, 0, 2, 0, 0, 0, 0, 3};
  x.began = 15'000;
  return x;
}

auto fields_of(const pipeline_facts& x) {
  return std::tie(x.source_kind, x.patterns, x.source_parameters, x.data, x.shuffle.seed,
                  x.shuffle.kind, x.shuffle.window, x.maps, x.batch_rows, x.lanes, x.end, x.fields);
}

auto fields_of(const snapshot& x) {
  return std::tuple_cat(fields_of(x.pipeline), std::tie(x.epoch, x.step, x.global_step, x.rank,
                                                        x.world_size, x.sums, x.began));
}

/// Random values, with the ends of their ranges and bytes that are no UTF-8 among them.
class value_maker {
public:
  explicit value_maker(std::uint64_t seed) : random_(seed) {}

  std::uint64_t number() {
    switch (random_() % 4) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<std::uint64_t>::max();
    default:
      return random_() >> (random_() % 64);
    }
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

  pipeline_facts facts() {
    auto any_text = [&] { return text(); };
    pipeline_facts x;
    x.source_kind = text();
    x.patterns = several(any_text);
    for (auto& name : several(any_text))
      x.source_parameters[name] = text();
    x.data = {number(), number(), number(), {number(), number()}};
    x.shuffle = {number(), static_cast<shuffle_kind>(random_() % 3), number()};
    x.maps = several([&] { return std::pair{text(), text()}; });
    x.batch_rows = number();
    x.lanes = number();
    x.end = static_cast<epoch_end>(random_() % 2);
    x.fields = several(any_text);
    return x;
  }

  handed_over sums() {
    handed_over x;
    x.digest = {number(), number()};
    x.epoch_digest = {number(), number()};
    x.samples = number();
    for (auto& bad : x.bad)
      bad = number();
    x.partial = random_() % 2 == 0;
    return x;
  }

  snapshot part() {
    snapshot x{facts(), number(), number(), number(), 0, number(), sums(), number()};
    x.world_size += x.world_size == 0 ? 1 : 0;
    x.rank = number() % x.world_size;
    return x;
  }

private:
  std::mt19937_64 random_;
};

error refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const error& x) {
    return x;
  }
  throw std::logic_error("nothing was refused");
}

error decode_refusal(const std::string& bytes) {
  return refusal([&] { decode(bytes, "a-file"); });
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Bytes with a frame that is right, around any message.
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

/// The only difference, or a failure that lists what was found.
difference only_difference(const snapshot& taken, const pipeline_facts& now) {
  const auto found = compare(taken, now);
  std::string all;
  for (const auto& x : found)
    all += x.text + "; ";
  INFO(all);
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
    x.sums.digest = {std::numeric_limits<std::uint64_t>::max() - rank, rank};
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

TEST_CASE("a snapshot with any number of maps comes back") {
  auto x = typical();
  for (int i = 0; i < 5000; ++i)
    x.pipeline.maps.emplace_back("map" + std::to_string(i) + "@1", "");
  CHECK(decode(encode(x), "x").pipeline.maps == x.pipeline.maps);
}

TEST_CASE("a typical snapshot is below 2 KB") {
  CHECK(encode(typical()).size() < 2048);
}

TEST_CASE("a pipeline that is too large for a snapshot is refused when written") {
  auto x = typical();
  x.pipeline.fields = {std::string(max_snapshot_bytes, 'x')};
  CHECK(refusal([&] { encode(x); }).code() == errc::invalid_argument);
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

TEST_CASE("every snapshot cut short or with something behind it is refused") {
  const auto good = encode(typical());
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    REQUIRE(decode_refusal(good.substr(0, size)).code() == errc::bad_snapshot);
  }
  CHECK(decode_refusal(good + '\0').code() == errc::bad_snapshot);
}

TEST_CASE("a refused snapshot says which file, what it is and what is needed") {
  const auto good = encode(typical());
  auto bytes = good;

  SECTION("too short") {
    CHECK(std::string{decode_refusal("leat").what()}
          == "bad snapshot: snapshot, file a-file, got 4 bytes, needed at least 32");
  }
  SECTION("another kind of file") {
    CHECK(has(decode_refusal(std::string(40, 'x')).what(), "\"leatsnap\""));
  }
  SECTION("a version of the future") {
    bytes[8] = 2;
    CHECK(has(decode_refusal(bytes).what(), "got version 2, needed version 1"));
  }
  SECTION("no version") {
    bytes[8] = 0;
    CHECK(has(decode_refusal(bytes).what(), "got version 0"));
  }
  SECTION("another length") {
    bytes[15] = '\x7f';
    CHECK(has(decode_refusal(bytes).what(),
              "got " + std::to_string(good.size() - 32) + " bytes behind the head"));
  }
  SECTION("a damaged message") {
    bytes.back() = static_cast<char>(bytes.back() + 1);
    CHECK(has(decode_refusal(bytes).what(), "got checksum"));
  }
}

TEST_CASE("a whole frame around what is no snapshot is refused") {
  const auto message = encode(typical()).substr(32);
  CHECK(fields_of(decode(framed(message), "x")) == fields_of(typical()));

  CHECK(has(decode_refusal(framed("\xff\xff\xff")).what(), "does not parse"));
  CHECK(has(decode_refusal(framed("")).what(), "last operator is unknown"));
  // A later field of the same number replaces rank (5) and world size (6).
  CHECK(has(decode_refusal(framed(message + "\x28\x08")).what(), "got rank 8 of 8"));
  CHECK(has(decode_refusal(framed(message + "\x28\x00\x30\x00"s)).what(), "got rank 0 of 0"));
  // One more input (15) of the root, an empty node: 7a 00 in pipeline (1).
  CHECK(has(decode_refusal(framed(message + "\x0a\x02\x7a\x00"s)).what(), "2 inputs"));
  // End rule (3) number 9 in batch (4) of the root.
  CHECK(has(decode_refusal(framed(message + "\x0a\x04\x22\x02\x18\x09")).what(),
            "end rule number 9"));
  // A cause "new" in the list of bad samples (4) of the sums (7).
  CHECK(
      has(decode_refusal(framed(message + "\x3a\x07\x22\x05\x0a\x03new")).what(), "cause \"new\""));
}

TEST_CASE("nodes nested without end are refused") {
  std::string node;
  for (int depth = 0; depth < 3000; ++depth) {
    std::string outer{'\x7a'};
    for (auto size = node.size(); outer.size() == 1 || size != 0; size >>= 7)
      outer += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
    node = outer + node;
  }
  // The pipeline (1) has the same form as an input (15).
  node[0] = '\x0a';
  CHECK(has(decode_refusal(framed(node)).what(), "does not parse"));
}

TEST_CASE("what a restore may change is no difference") {
  const auto taken = typical();
  auto now = taken.pipeline;
  now.patterns = {"/elsewhere/*.tar"};
  now.shuffle.window = 9; // means nothing where the shuffle is full
  CHECK(compare(taken, now).empty());
  CHECK_NOTHROW(check(taken, now, {}));
  CHECK(step_for(taken, now) == taken.step);
}

TEST_CASE("differences have names, show both values and say whether they can be allowed") {
  auto taken = typical();
  auto now = taken.pipeline;
  auto expect = [&](const std::string& text, bool can_allow) {
    const auto x = only_difference(taken, now);
    CHECK(x.text == text);
    CHECK(x.name == text.substr(0, text.find(':')));
    CHECK(x.can_allow == can_allow);
    CHECK(refusal([&] { check(taken, now, {}); }).code() == errc::mismatch);
    if (can_allow)
      CHECK_NOTHROW(check(taken, now, {x.name}));
    else
      CHECK(refusal([&] { check(taken, now, {x.name}); }).code() == errc::mismatch);
  };

  SECTION("source kind") {
    now.source_kind = "folder";
    now.source_parameters.clear();
    expect("source: snapshot tar allow_torn=0 layout=webdataset, pipeline folder", false);
  }
  SECTION("source parameters") {
    now.source_parameters["allow_torn"] = "1";
    expect("source: snapshot tar allow_torn=0 layout=webdataset, "
           "pipeline tar allow_torn=1 layout=webdataset",
           false);
  }
  SECTION("records, with all that goes with them") {
    now.data = {578, 1'281'168, 1, {}};
    expect("records: snapshot 1281167, pipeline 1281168", false);
  }
  SECTION("number of files") {
    now.data.files = 1;
    now.data.digest = {};
    expect(
        "files: snapshot 577 files of 146899890176 bytes, pipeline 1 files of 146899890176 bytes",
        false);
  }
  SECTION("bytes") {
    now.data.bytes = 5;
    expect("files: snapshot 577 files of 146899890176 bytes, pipeline 577 files of 5 bytes", false);
  }
  SECTION("names in mid-epoch") {
    now.data.digest = {15, 0};
    expect("names: snapshot data digest fedcba09876543211234567890abcdef, "
           "pipeline 0000000000000000000000000000000f",
           false);
  }
  SECTION("names at the start of an epoch") {
    taken.step = 0;
    now.data.digest = {15, 0};
    expect("names: snapshot data digest fedcba09876543211234567890abcdef, "
           "pipeline 0000000000000000000000000000000f",
           true);
  }
  SECTION("seed") {
    now.shuffle.seed = 8;
    expect("seed: snapshot 7, pipeline 8", false);
  }
  SECTION("shuffle") {
    now.shuffle.kind = shuffle_kind::none;
    expect("shuffle: snapshot full, pipeline none", false);
  }
  SECTION("window") {
    taken.pipeline.shuffle = now.shuffle = {7, shuffle_kind::windowed, 4};
    now.shuffle.window = 5;
    expect("shuffle: snapshot windowed over 4 files, pipeline windowed over 5 files", false);
  }
  SECTION("maps: which") {
    now.maps[1].first = "label@2";
    now.maps[4].second = "size=256";
    expect("maps: snapshot label@1 (size=224 type=f32 layout=nchw), "
           "text@3 (size=224 type=f32 layout=nchw), "
           "pipeline label@2 (size=224 type=f32 layout=nchw), text@3 (size=256)",
           true);
  }
  SECTION("maps: one more") {
    now.maps.emplace_back("last@1", "");
    expect("maps: snapshot none, pipeline last@1", true);
  }
  SECTION("maps: another order") {
    taken.pipeline.maps = {{"a@1", ""}, {"b@1", "x"}};
    now.maps = {{"b@1", "x"}, {"a@1", ""}};
    expect("maps: snapshot a@1, b@1 (x), pipeline b@1 (x), a@1", true);
  }
  SECTION("rows where a batch begins at the same row") {
    now.batch_rows = 100; // 1200 * 240 = 2880 * 100
    expect("rows: snapshot 240 a batch and 1200 batches into the epoch, pipeline 100", true);
    CHECK(step_for(taken, now) == 2880);
  }
  SECTION("rows where none does") {
    now.batch_rows = 7;
    expect("rows: snapshot 240 a batch and 1200 batches into the epoch, pipeline 7", false);
    CHECK(refusal([&] { step_for(taken, now); }).code() == errc::mismatch);
  }
  SECTION("rows at the start of an epoch") {
    taken.step = 0;
    now.batch_rows = 7;
    expect("rows: snapshot 240 a batch and 0 batches into the epoch, pipeline 7", true);
    CHECK(step_for(taken, now) == 0);
  }
  SECTION("rows of a windowed shuffle") {
    taken.pipeline.shuffle = now.shuffle = {7, shuffle_kind::windowed, 4};
    now.batch_rows = 100;
    expect("rows: snapshot 240 a batch and 1200 batches into the epoch, pipeline 100", false);
  }
  SECTION("rows of a forged step") {
    taken.step = std::uint64_t{1} << 60;
    now.batch_rows = 16;
    expect("rows: snapshot 240 a batch and 1152921504606846976 batches into the epoch, pipeline 16",
           false);
  }
  SECTION("no rows") {
    now.batch_rows = 0;
    expect("rows: snapshot 240 a batch and 1200 batches into the epoch, pipeline 0", false);
  }
  SECTION("lanes") {
    now.lanes = 12;
    expect("lanes: snapshot 24, pipeline 12", true);
  }
  SECTION("lanes of a windowed shuffle") {
    taken.pipeline.shuffle = now.shuffle = {7, shuffle_kind::windowed, 4};
    now.lanes = 12;
    expect("lanes: snapshot 24, pipeline 12", false);
  }
  SECTION("end") {
    now.end = epoch_end::mask;
    expect("end: snapshot drop, pipeline mask", true);
  }
  SECTION("fields") {
    now.fields.clear();
    expect("fields: snapshot image, label, pipeline all", true);
  }
}

TEST_CASE("a mismatch lists all that is not allowed, a line each") {
  const auto taken = typical();
  auto now = taken.pipeline;
  now.shuffle.seed = 8;
  now.lanes = 12;
  now.end = epoch_end::mask;
  const auto x = refusal([&] { check(taken, now, {"end", "seed"}); });
  CHECK(x.code() == errc::mismatch);
  CHECK(std::string{x.what()}
        == "mismatch: snapshot, got a snapshot of another pipeline, needed no difference in"
           "\n  seed: snapshot 7, pipeline 8 (cannot be allowed)"
           "\n  lanes: snapshot 24, pipeline 12 (can be allowed as \"lanes\")");
}

TEST_CASE("parts add up, in any order") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  auto parts = parts_of(5);
  parts[3].pipeline.patterns = {"/mounted/elsewhere"};
  const auto sum = merge(parts, true);
  CHECK(sum.sums.digest
        == hash128{std::uint64_t(0) - 15, 14}); // 5 (2^64 - 1) - 10 = 4 * 2^64 + 2^64 - 15
  CHECK(sum.sums.epoch_digest == hash128{15, 20});
  CHECK(sum.sums.samples == 60);
  CHECK(sum.sums.bad == bad_counts{5, 0, 10, 0, 0, 0, 0, 15});
  CHECK_FALSE(sum.sums.partial);
  CHECK(sum.step == 1200);
  CHECK(sum.world_size == 5);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(parts.begin(), parts.end(), random);
    REQUIRE(encode(merge(parts, true)) == encode(sum));
  }
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
  const auto x = refusal([&] { merge(parts, true); });
  CHECK(x.code() == errc::bad_snapshot);
  CHECK(x.details().got == "no parts of ranks 0, 3");
  CHECK(x.details().needed == "all 5 parts");
  CHECK(merge(parts, false).sums.partial);
  CHECK(merge(parts, false).sums.samples == 37);
}

TEST_CASE("a part of an enormous world does not take forever to refuse") {
  auto x = typical();
  x.world_size = std::numeric_limits<std::uint64_t>::max();
  CHECK(has(refusal([&] { merge({x}, true); }).details().got,
            "15, 16 and 18446744073709551598 more"));
  CHECK(has(refusal([&] { merge({x}, true); }).details().got, "ranks 0, 2, 3"));
}

TEST_CASE("parts that do not belong together are refused") {
  auto parts = parts_of(3);
  auto refused = [&] { return refusal([&] { merge(parts, false); }).code(); };

  SECTION("none") {
    parts.clear();
  }
  SECTION("a rank twice") {
    parts[2].rank = 0;
  }
  SECTION("a rank that the world does not have") {
    parts[2].rank = 3;
  }
  SECTION("another epoch") {
    parts[1].epoch++;
  }
  SECTION("another step") {
    parts[1].step++;
  }
  SECTION("another step of the job") {
    parts[1].global_step++;
  }
  SECTION("another world") {
    parts[1].world_size++;
  }
  SECTION("another run") {
    parts[1].began++;
  }
  SECTION("another pipeline") {
    parts[1].pipeline.shuffle.seed++;
  }
  CHECK(refused() == errc::bad_snapshot);
}
