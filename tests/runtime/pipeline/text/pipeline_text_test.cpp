#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/text/pipeline_builder.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::pipeline_text_test {
namespace {

using texts = std::vector<std::string>;

/// A map of the program's own that keeps its parameters as they are.
map_stage plain_map(const std::string& name, const std::string& parameters) {
  return {name, parameters, [] { return [](sample&, context&) {}; }};
}

void register_plain_map(const std::string& name) {
  register_map(name, [=](const std::string& parameters) { return plain_map(name, parameters); });
}

/// Functions of the program's own that keep their parameters as they are.
filter_stage plain_filter(const std::string& parameters) {
  return {
      .name = "plain@1", .parameters = parameters, .of_id = [](std::string_view) { return true; }};
}

flat_map_stage plain_flat_map(const std::string& parameters) {
  return {.name = "plain@1", .parameters = parameters, .make = [] { return flat_map_function{}; }};
}

scan_stage plain_scan(const std::string& parameters) {
  return {.name = "plain@1",
          .parameters = parameters,
          .make = [] { return scan_function{}; },
          .initial = {},
          .step = [](std::string&, std::string_view) { return std::string{}; }};
}

std::unique_ptr<sequential_reader> no_reader(std::uint64_t) {
  return nullptr;
}

bool no_record(sample&) {
  return false;
}

/// The names that random trees use.
void register_names() {
  register_plain_map("plain@1");
  register_predicate("plain@1", plain_filter);
  register_flat_map("plain@1", plain_flat_map);
  register_scan("plain@1", plain_scan);
  register_source("numbers@1", count(12).root().data->get());
  register_sequential("crawl@1", no_reader);
  register_once("queue@1", no_record);
}

error_details details_of(const std::string& text) {
  INFO(text);
  const auto x = thrown_by([&] { parse_pipeline(text); });
  CHECK(x.code() == errc::invalid_argument);
  return x.details();
}

void check_error(const std::string& text, const std::string& stage, const std::string& got,
                 const std::string& needed) {
  INFO(text);
  const auto x = details_of(text);
  CHECK(x.stage == stage);
  CHECK(x.got == got);
  CHECK(x.needed == needed);
}

/// Checks errors by text, stage, got and needed.
void check_errors(const std::string& before, const std::string& place,
                  const std::vector<std::array<std::string, 4>>& all) {
  for (const auto& [text, stage, got, needed] : all)
    check_error(before + text, stage, got + place, needed);
}

/// Checks errors of the parser itself by text, got and needed.
void check_text_errors(const std::vector<std::array<std::string, 3>>& all) {
  for (const auto& [text, got, needed] : all)
    check_error(text, "pipeline text", got, needed);
}

/// Checks both directions: `text` makes this pipeline, which prints as the lines `printed`, which
/// make it again.
void check_form(const std::string& text, const pipeline& x, const std::string& printed) {
  INFO(text);
  const auto lines = printed + '\n';
  CHECK(parse_pipeline(text) == x);
  CHECK(to_string(x) == lines);
  CHECK(parse_pipeline(lines) == x);
  CHECK(to_string(parse_pipeline(lines)) == lines);
}

/// Checks the form of `count(1)` with one more step, which prints as it is written if nothing else
/// is said.
void check_step(const std::string& text, const pipeline& x, const std::string& printed = {}) {
  check_form("count(1)" + text, x,
             "count(1, record_bytes=8)\n  " + (printed.empty() ? text : printed));
}

std::string parameters_of(const std::string& map) {
  return parse_pipeline("count(1)." + map).root().get<std::string>("parameters");
}

std::string repeated(const std::string& text, std::size_t n) {
  std::string result;
  for (std::size_t i = 0; i < n; ++i)
    result += text;
  return result;
}

} // namespace

TEST_CASE("every source stands in the text as in C++") {
  check_form(R"(tar_shards("a-{0..3}.tar", "b*.tar"))", tar_shards(texts{"a-{0..3}.tar", "b*.tar"}),
             R"(tar_shards("a-{0..3}.tar", "b*.tar", index_dir="", allow_torn=false))");
  check_form(R"(tar_shards(index_dir="i", patterns=["a"], allow_torn=true))",
             tar_shards("a", {.index_dir = "i", .allow_torn = true}),
             R"(tar_shards("a", index_dir="i", allow_torn=true))");
  check_form(R"(image_folder("train"))", image_folder("train"),
             "image_folder(\"train\", index_dir=\"\")");
  check_form(R"(image_folder(index_dir="i", directory="train"))",
             image_folder("train", {.index_dir = "i"}), "image_folder(\"train\", index_dir=\"i\")");
  check_form("count(10)", count(10), "count(10, record_bytes=8)");
  check_form("count(bytes=3, records=18446744073709551615)",
             count(std::numeric_limits<std::uint64_t>::max(), 3),
             "count(18446744073709551615, record_bytes=3)");
  check_form(R"(raw_records("x.bin", "f32", [3, 32, 16,]))",
             raw_records("x.bin", dtype::f32, {3, 32, 16}),
             R"(raw_records("x.bin", dtype="f32", shape=[3, 32, 16], drop_last=false))");
  // The names of older texts.
  check_form(R"(raw_records("x.bin", type="f32", dims=[3]))", raw_records("x.bin", dtype::f32, {3}),
             R"(raw_records("x.bin", dtype="f32", shape=[3], drop_last=false))");
  check_form(R"(tokens("a.bin", "b-*.npy", type="u16", length=8))",
             tokens(std::vector<std::string>{"a.bin", "b-*.npy"}, dtype::u16, 8),
             R"(tokens("a.bin", "b-*.npy", dtype="u16", length=8, stride=0, drop_last=true, )"
             R"(random_windows=0, seed=0))");
  check_form(R"(tokens("a", seed=3, random_windows=9, length=8, type="i32"))",
             tokens("a", dtype::i32, 8, {.random_windows = 9, .seed = 3}),
             R"(tokens("a", dtype="i32", length=8, stride=0, drop_last=true, random_windows=9, )"
             R"(seed=3))");
  check_form(R"(npy("a.npy", "b.npy"))", npy(std::vector<std::string>{"a.npy", "b.npy"}),
             "npy(\"a.npy\", \"b.npy\")");
  check_form(R"(megatron("a{0..3}"))", megatron("a{0..3}"), "megatron(\"a{0..3}\")");
  check_form(R"(raw_records("x.bin", "u8", []))", raw_records("x.bin", dtype::u8, {}),
             R"(raw_records("x.bin", dtype="u8", shape=[], drop_last=false))");
}

TEST_CASE("every stream and once source stands in the text as in C++") {
  check_form(R"(tar_stream("a-{0..3}.tar.gz", "b*.tar"))",
             tar_stream(texts{"a-{0..3}.tar.gz", "b*.tar"}),
             R"(tar_stream("a-{0..3}.tar.gz", "b*.tar", file_order="stored", seed=0))");
  check_form(R"(tar_stream("a", seed=3, file_order="shuffled"))",
             tar_stream("a", {.order = file_order::shuffled, .seed = 3}),
             R"(tar_stream("a", file_order="shuffled", seed=3))");
  check_form(R"(lines("a", "b"))", lines(texts{"a", "b"}),
             R"(lines("a", "b", ranges=1, file_order="stored", seed=0))");
  check_form(R"(json_lines("a", ranges=16, file_order="shuffled", seed=2))",
             json_lines("a", {.ranges = 16, .order = file_order::shuffled, .seed = 2}),
             R"(json_lines("a", ranges=16, file_order="shuffled", seed=2))");
  check_form(
      R"(json_lines("a", types=["score:f64", "id:u64"]))",
      json_lines("a", {.types = {{"id", "u64"}, {"score", "f64"}}}),
      R"(json_lines("a", ranges=1, file_order="stored", seed=0, types=["id:u64", "score:f64"]))");
  check_form("standard_input()", standard_input(), "standard_input()");
  register_names();
  check_form(R"(sequential("crawl@1", 8, "shuffled", 5))",
             sequential("crawl@1", 8, no_reader, {.order = file_order::shuffled, .seed = 5}),
             R"(sequential("crawl@1", units=8, file_order="shuffled", seed=5))");
  check_form(R"(once("queue@1"))", once("queue@1", no_record), "once(\"queue@1\")");
  check_form(R"(feed("queue"))", feed("queue"), "feed(\"queue\")");
}

TEST_CASE("every operator stands in the text as in C++") {
  const auto x = count(1);
  check_step(".shuffle()", x.shuffle(), ".shuffle(seed=0, kind=\"full\", window=4)");
  check_step(".shuffle(7, \"windowed\", 2)",
             x.shuffle({.seed = 7, .kind = shuffle_kind::windowed, .window = 2}),
             ".shuffle(seed=7, kind=\"windowed\", window=2)");
  check_step(".shuffle(kind=\"none\", seed=1)", x.shuffle({.seed = 1, .kind = shuffle_kind::none}),
             ".shuffle(seed=1, kind=\"none\", window=4)");
  check_step(".take(5)", x.take(5), ".take(5)");
  check_step(".skip(n=5)", x.skip(5), ".skip(5)");
  check_step(".repeat(5)", x.repeat(5), ".repeat(5)");
  check_step(".enumerate()", x.enumerate(), ".enumerate(field=\"index\")");
  check_step(".enumerate(\"at\")", x.enumerate("at"), ".enumerate(field=\"at\")");
  check_step(".shuffle_buffer(100)", x.shuffle_buffer(100), ".shuffle_buffer(100, seed=0)");
  check_step(".shuffle_buffer(seed=3, n=2)", x.shuffle_buffer(2, 3), ".shuffle_buffer(2, seed=3)");
  check_step(".pack(\"ids\", 512)", x.pack("ids", 512),
             ".pack(\"ids\", 512, bins=8, split=false, delimiter=[], pad=0)");
  check_step(".pack(\"ids\", 512, bins=3, delimiter=[7], pad=9)",
             x.pack("ids", 512, {.bins = 3, .delimiter = 7, .pad = 9}),
             ".pack(\"ids\", 512, bins=3, split=false, delimiter=[7], pad=9)");
  check_step(".pack(\"ids\", 512, split=true)", x.pack("ids", 512, {.split = true}),
             ".pack(\"ids\", 512, bins=1, split=true, delimiter=[], pad=0)");
  check_step(".pack(\"ids\", 512, fit=\"best\", cut=\"above\", labels=true, ignore_index=-1, "
             "cu_seqlens=true)",
             x.pack("ids", 512,
                    {.fit = pack_fit::best,
                     .cut = pack_cut::above,
                     .labels = true,
                     .ignore_index = -1,
                     .cu_seqlens = true}),
             ".pack(\"ids\", 512, bins=8, split=false, delimiter=[], pad=0, fit=\"best\", "
             "cut=\"above\", labels=true, ignore_index=-1, cu_seqlens=true)");
  check_step(".pack(\"ids\", 512, offset=false)", x.pack("ids", 512, {.offset = false}),
             ".pack(\"ids\", 512, bins=8, split=false, delimiter=[], pad=0, offset=false)");
  check_step(".pack(\"ids\", 512, fit=\"first\", cut=\"never\", labels=false, ignore_index=-100, "
             "cu_seqlens=false, segment=true, offset=true)",
             x.pack("ids", 512), ".pack(\"ids\", 512, bins=8, split=false, delimiter=[], pad=0)");
  check_step(".pack(\"ids\", 512, cut=\"always\", fit=\"best\", labels=true)",
             x.pack("ids", 512, {.split = true, .labels = true}),
             ".pack(\"ids\", 512, bins=1, split=true, delimiter=[], pad=0, labels=true)");
  check_step(".length_bucket(\"ids\", [128, 256], window=1024, group=64)",
             x.length_bucket("ids", {128, 256}, {.group = 64, .window = 1024}),
             ".length_bucket(\"ids\", [128, 256], group=64, window=1024)");
  check_step(".token_budget(\"ids\", 4096, rows=64)", x.token_budget("ids", 4096, {.rows = 64}),
             ".token_budget(\"ids\", 4096, rows=64, padded=false)");
  check_step(".batch(8)", x.batch(8), ".batch(8, lanes=0, end=\"auto\", fields=[])");
  check_step(".batch(8, end=\"drop\")", x.batch(8, {.end = epoch_end::drop}),
             ".batch(8, lanes=0, end=\"drop\", fields=[])");
  check_step(".batch(8, end=\"cycle\")", x.batch(8, {.end = epoch_end::cycle}),
             ".batch(8, lanes=0, end=\"cycle\", fields=[])");
  check_step(".batch(8, 4, \"mask\", [\"a\", \"b\"])",
             x.batch(8, {.lanes = 4, .end = epoch_end::mask, .fields = {"a", "b"}}),
             ".batch(8, lanes=4, end=\"mask\", fields=[\"a\", \"b\"])");
}

TEST_CASE("joins are printed with their inputs below each other") {
  check_form("zip(count(1), concat(count(2), count(3).take(1),),).take(4)",
             zip({count(1), concat({count(2), count(3).take(1)})}).take(4),
             "zip(\n"
             "  count(1, record_bytes=8),\n"
             "  concat(\n"
             "    count(2, record_bytes=8),\n"
             "    count(3, record_bytes=8)\n"
             "      .take(1)\n"
             "  )\n"
             ")\n"
             "  .take(4)");
  check_form("zip(count(1))", zip({count(1)}), "zip(\n  count(1, record_bytes=8)\n)");
}

TEST_CASE("a mix has its options after its inputs") {
  check_form("mix(count(1), count(2))", mix({count(1), count(2)}),
             "mix(\n"
             "  count(1, record_bytes=8),\n"
             "  count(2, record_bytes=8),\n"
             "  weights=[], rule=\"deficit\", stop=\"all\", cost=\"\", seed=0\n"
             ")");
  check_form("zip(mix(count(1), count(2), seed=4, weights=[3, 1], cost=\"t\", stop=\"cycle\",\n"
             "  rule=\"random\",).take(1))",
             zip({mix({count(1), count(2)}, {.weights = {3, 1},
                                             .rule = mix_rule::random,
                                             .stop = mix_stop::cycle,
                                             .cost = "t",
                                             .seed = 4})
                      .take(1)}),
             "zip(\n"
             "  mix(\n"
             "    count(1, record_bytes=8),\n"
             "    count(2, record_bytes=8),\n"
             "    weights=[3, 1], rule=\"random\", stop=\"cycle\", cost=\"t\", seed=4\n"
             "  )\n"
             "    .take(1)\n"
             ")");
  check_form(
      "mix(count(1), count(2), weights=[0.7, 0.3], schedule=[\"5: 0.5,2\", \"9:0,1\"])",
      mix({count(1), count(2)}, {.weights = {0.7, 0.3}, .schedule = {{5, {0.5, 2}}, {9, {0, 1}}}}),
      "mix(\n"
      "  count(1, record_bytes=8),\n"
      "  count(2, record_bytes=8),\n"
      "  weights=[7, 3], rule=\"deficit\", stop=\"all\", cost=\"\", seed=0, "
      "schedule=[\"5:5,20\", \"9:0,1\"]\n"
      ")");
  check_form(
      "mix(count(1), count(2), weights=[4, 1], temperature=2, schedule=[\"1:1,16\"])",
      mix({count(1), count(2)}, {.weights = {4, 1}, .schedule = {{1, {1, 16}}}, .temperature = 2}),
      "mix(\n"
      "  count(1, record_bytes=8),\n"
      "  count(2, record_bytes=8),\n"
      "  weights=[1048576, 524288], rule=\"deficit\", stop=\"all\", cost=\"\", seed=0, "
      "schedule=[\"1:262144,1048576\"]\n"
      ")");
  CHECK(parse_pipeline("mix(count(1), stop=\"first\")")
        == mix({count(1)}, {.stop = mix_stop::first}));
}

TEST_CASE("leat's own functions are made from their parameters") {
  const auto x = count(1);
  check_step(R"(.filter("key_hash@1", keep=30))", x.filter(key_hash(30)),
             R"(.filter("key_hash@1", keep=30, salt=0))");
  check_step(R"(.filter("key_matches@1", pattern="a,b/*.[!x]"))",
             x.filter(key_matches("a,b/*.[!x]")),
             R"(.filter("key_matches@1", pattern=["a", "b/*.[!x]"]))");
  check_step(R"(.filter("field_hash@1", salt=2, keep=7, field="t"))",
             x.filter(field_hash("t", 7, 2)),
             R"(.filter("field_hash@1", field="t", keep=7, salt=2))");
  check_step(R"(.filter("field_between@1", field="t", min=-1.5, max=3))",
             x.filter(field_between("t", -1.5, 3)));
  check_step(R"(.filter("field_between@1", field="t"))", x.filter(field_between("t", {}, {})));
  check_step(R"(.filter("bytes_between@1", field="t", max=18446744073709551615))",
             x.filter(bytes_between("t", {}, std::numeric_limits<std::uint64_t>::max())));
  check_step(R"(.flat_map("copies@1", n=0))", x.flat_map(copies(0)));
  check_step(R"(.flat_map("split@1", field="t"))", x.flat_map(leat::split("t")),
             R"(.flat_map("split@1", field="t", at=10))");
  check_step(R"(.flat_map("windows@1", field="t", length=4))", x.flat_map(windows("t", 4)));
  check_step(R"(.flat_map("chunks@1", field="t", length=4))", x.flat_map(chunks("t", 4)),
             R"(.flat_map("chunks@1", field="t", length=4, overlap=0))");
  check_step(R"(.scan("running_count@1", into="n"))", x.scan(running_count("n")));
  check_step(R"(.scan("running_sum@1", field="t", into="n"))", x.scan(running_sum("t", "n")));
  check_step(R"(.map("pad@1", field="t", length=9))", x.map(pad("t", 9)),
             R"(.map("pad@1", field="t", length=9, value=0))");
  check_step(R"(.map("pad@1", field="t", length=9, value=-100))", x.map(pad("t", 9, -100)));
  check_step(R"(.map("ragged@1", field="t"))", x.map(ragged("t")));
  check_step(R"(.map("truncate@1", field="t", length=9))", x.map(leat::truncate("t", 9)));
  check_step(R"(.map("cast@1", field="t", dtype="f64"))", x.map(cast("t", dtype::f64)),
             R"(.map("cast@1", field="t", type="f64"))");
  check_step(R"(.map("cast@1", field="t", type="f64"))", x.map(cast("t", dtype::f64)));
  check_step(R"(.map("drop_fields@1", fields=["t", "u"]))", x.map(drop_fields({"t", "u"})));
  check_step(R"(.map("concat_fields@1", fields=["t", "u"], into="v", between=10))",
             x.map(concat_fields({"t", "u"}, "v", 10)));
}

TEST_CASE("leat's functions for text are made from their parameters") {
  const auto x = count(1);
  check_step(R"(.map("add_tokens@1", field="t", begin=[1, 2], end=-3))",
             x.map(add_tokens("t", {1, 2}, {-3})));
  check_step(R"(.map("add_tokens@1", field="t", end=[3], begin=[]))",
             x.map(add_tokens("t", {}, {3})), R"(.map("add_tokens@1", field="t", end=3))");
  check_step(R"(.map("default_field@1", field="t", value=7))", x.map(default_field("t", 7)),
             R"(.map("default_field@1", field="t", type="i64", value=7))");
  check_step(R"(.map("default_field@1", field="t", value=0.5))", x.map(default_field("t", 0.5)),
             R"(.map("default_field@1", field="t", type="f64", value=0.5))");
  check_step(R"(.map("default_field@1", field="t", value=1.0))", x.map(default_field("t", 1.0)),
             R"(.map("default_field@1", field="t", type="f64", value=1))");
  check_step(R"(.map("default_field@1", field="t", value=-0.0))", x.map(default_field("t", -0.0)),
             R"(.map("default_field@1", field="t", type="f64", value="-0"))");
  check_step(R"(.map("default_field@1", field="t", value=7e0))", x.map(default_field("t", 7.0)),
             R"(.map("default_field@1", field="t", type="f64", value=7))");
  check_step(R"(.map("default_field@1", field="t", value=1.0, type="i64"))",
             x.map(default_field("t", 1)),
             R"(.map("default_field@1", field="t", type="i64", value=1))");
  check_step(R"(.map("default_field@1", field="t", value="1.0"))", x.map(default_field("t", "1.0")),
             R"(.map("default_field@1", field="t", type="bytes", value="1.0"))");
  check_step(R"(.map("default_field@1", field="t", value=true))", x.map(default_field("t", true)),
             R"(.map("default_field@1", field="t", type="u8", value=1))");
  check_step(R"(.map("default_field@1", field="t", value="en"))", x.map(default_field("t", "en")),
             R"(.map("default_field@1", field="t", type="bytes", value="en"))");
  check_step(R"(.map("default_field@1", field="t", type="bytes", value=""))",
             x.map(default_field("t", "")));
  check_step(R"(.map("default_field@1", field="t", type="bytes", value=7))",
             x.map(default_field("t", "7")));
  check_step(R"(.map("default_field@1", field="t", type="f64", value=2))",
             x.map(default_field("t", 2.0)));
  check_step(R"(.map("default_field@1", field="t", type="bytes", value="a%20b%2C%25%0A%FFü"))",
             x.map(default_field("t", "a b,%\n\xffü")));
  check_step(R"(.map("loss_mask@1", field="t", begin=[1, 2]))",
             x.map(loss_mask("t", {.begin = {1, 2}})),
             R"(.map("loss_mask@1", field="t", begin=[1, 2], include_end=true, into="loss_mask"))");
  check_step(
      R"(.map("loss_mask@1", field="t", begin=1, end=[2, 3], include_end=false, into="m"))",
      x.map(loss_mask("t", {.begin = {1}, .end = {2, 3}, .include_end = false, .into = "m"})));
  check_step(
      R"(.map("normalize_text@1", field="t"))", x.map(normalize_text("t")),
      R"(.map("normalize_text@1", field="t", spaces="lines", trim=true, line_ends=true, control=true, lower=false))");
  check_step(
      R"(.map("normalize_text@1", field="t", spaces="all", trim=false, line_ends=false, control=false, lower=true))",
      x.map(normalize_text("t", {.spaces = white_space::all,
                                 .trim = false,
                                 .line_ends = false,
                                 .control = false,
                                 .lower = true})));
  check_step(
      R"(.map("normalize_text@1", field="t", spaces="lines", trim=true, line_ends=true, control=true, lower=false, unicode="nfkc"))",
      x.map(normalize_text("t", {.unicode = unicode_form::nfkc})));
  check_step(R"(.filter("length_between@1", field="t", min=1))",
             x.filter(length_between("t", 1, {})));
  check_step(
      R"(.filter("text_quality@1", field="t", min_words=5, max_word_length=10.5, max_digits=0.25))",
      x.filter(text_quality("t", {.min_words = 5, .max_word_length = 10.5, .max_digits = 0.25})));
  check_step(R"(.deduplicate(["t", "u"], keys=9, kind="set"))",
             x.deduplicate({"t", "u"}, 9, deduplicate_kind::set));
  check_step(R"(.deduplicate(keys=9, fields=["t"]))", x.deduplicate({"t"}, 9),
             R"(.deduplicate(["t"], keys=9, kind="window"))");
}

TEST_CASE("functions of the program are found by kind and name") {
  register_names();
  check_step(R"(.filter("plain@1", a=1))", count(1).filter(plain_filter("a=1")));
  check_step(R"(.flat_map("plain@1", a=1))", count(1).flat_map(plain_flat_map("a=1")));
  check_step(R"(.scan("plain@1", "a 1"))", count(1).scan(plain_scan("a 1")));
  register_predicate("only@1", [](const std::string&) {
    return filter_stage{.name = "only@1", .make = [] { return [](sample&) { return true; }; }};
  });
  CHECK(parameters_of(R"(filter("only@1", a=1))") == "a=1");
  CHECK(details_of(R"(count(1).map("only@1"))").stage == "map");
  CHECK(details_of(R"(count(1).scan("only@1"))").needed
        == "one of plain@1, running_count@1, running_sum@1");
  CHECK_THROWS_AS(register_predicate("", plain_filter), error);
  CHECK_THROWS_AS(register_flat_map("x@1", nullptr), error);
  CHECK_THROWS_AS(register_scan("x@1", nullptr), error);
  CHECK_THROWS_AS(register_sequential("x@1", nullptr), error);
  CHECK_THROWS_AS(register_once("x@1", nullptr), error);
}

TEST_CASE("functions that are none are refused when the pipeline is made") {
  const auto x = count(1);
  const auto yes = [](std::string_view) { return true; };
  CHECK_THROWS_AS(x.filter({.name = "a", .of_id = yes}), error);
  CHECK_THROWS_AS(x.filter({.name = "a@1"}), error);
  CHECK_THROWS_AS(
      x.filter({.name = "a@1", .make = [] { return [](sample&) { return true; }; }, .of_id = yes}),
      error);
  CHECK_THROWS_AS(x.flat_map({.name = "a@1", .children = 2}), error);
  CHECK_THROWS_AS(x.flat_map({.name = "a@", .make = [] { return flat_map_function{}; }}), error);
  CHECK_THROWS_AS(x.scan({.name = "a@1", .make = [] { return scan_function{}; }}), error);
  auto no_name = plain_scan("");
  no_name.name = "@1";
  CHECK_THROWS_AS(x.scan(no_name), error);
  CHECK_NOTHROW(x.filter({.name = "a@1", .of_id = yes}));
}

TEST_CASE("leat's own maps are made from their parameters") {
  check_step(R"(.map("int_label@1", field="cls"))", count(1).map(int_label("cls")));
  check_step(R"(.map("select@1", fields=["a", "b"]))", count(1).map(select({"a", "b"})));
  check_step(R"(.map("rename@1", "from=a to=b"))", count(1).map(leat::rename("a", "b")),
             R"(.map("rename@1", from="a", to="b"))");
  check_step(R"(.map("train_image@1", field="jpg;png", size=96, type="u8", layout="nhwc",
                     scale=[0.5, 1], flip=0, max_pixels=1000000, mean=[0, 0, 0.25]))",
             count(1).map(train_image("jpg;png", {.size = 96,
                                                  .type = dtype::u8,
                                                  .layout = image_layout::nhwc,
                                                  .mean = {0, 0, 0.25F},
                                                  .scale = {0.5, 1},
                                                  .flip = 0,
                                                  .max_pixels = 1000000})),
             R"(.map("train_image@1", field="jpg;png", size=96, type="u8", layout="nhwc", )"
             R"(mean=[0, 0, 0.25], std=[0.229, 0.224, 0.225], max_pixels=1000000, )"
             R"(scale=[0.5, 1], ratio=[0.75, 1.3333333333333333], flip=0))");
  check_step(R"(.map("eval_image@1", field="jpg"))", count(1).map(eval_image("jpg")),
             R"(.map("eval_image@1", field="jpg", size=224, type="f32", layout="nchw", )"
             R"(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225], )"
             R"(max_pixels=134217728, resize=256))");
}

TEST_CASE("a map's parameters by name become its parameter text") {
  register_plain_map("plain@1");
  CHECK(parameters_of(R"(map("plain@1"))").empty());
  CHECK(parameters_of(R"(map("plain@1", name="n", b=true, i=007, d=0.50, e=1E22, x="-1"))")
        == "name=n b=true i=7 d=0.5 e=1e+22 x=-1");
  CHECK(
      parameters_of(R"(map("plain@1", a=-1, b=-100000, c=-0.5, d=-9223372036854775808, e=[-1, 2]))")
      == "a=-1 b=-100000 c=-0.5 d=-9223372036854775808 e=-1,2");
  // A text that would not come back unchanged is put in quotes.
  check_step(R"(.map("plain@1", a="-0", b="-01", c=-1.5, d="--1", e="-"))",
             count(1).map(plain_map("plain@1", "a=-0 b=-01 c=-1.5 d=--1 e=-")),
             R"(.map("plain@1", a="-0", b="-01", c=-1.5, d="--1", e="-"))");
  check_text_errors({{"count(-1)", "-1 at line 1, column 7", "a whole number as records"}});
  CHECK(parameters_of(R"(map("plain@1", l=[1, "a", false, 2.5], one=["a"], none=[]))")
        == "l=1,a,false,2.5 one=a none=");
  CHECK(parameters_of(R"(map("plain@1", "any text, with = and  space"))")
        == "any text, with = and  space");
}

TEST_CASE("parameter texts of any form are printed and read back") {
  register_plain_map("plain@1");
  auto check = [](const std::string& parameters, const std::string& printed) {
    check_step(".map(\"plain@1\"" + (printed.empty() ? "" : ", " + printed) + ")",
               count(1).map(plain_map("plain@1", parameters)));
  };
  check("", "");
  check("a=1 b=x", R"(a=1, b="x")");
  check("a=1.50 b=012 c=-1 d=1e5 e=18446744073709551616 f=inf",
        R"(a="1.50", b="012", c=-1, d="1e5", e="18446744073709551616", f="inf")");
  check("a=true,2,x b=, c=,1 d=", R"(a=[true, 2, "x"], b=",", c=",1", d="")");
  check("a=b=c true=1", R"(a="b=c", true=1)");
  check("a=1  b=2", R"("a=1  b=2")");
  check(" a=1", R"(" a=1")");
  check("a=1 a=2", R"("a=1 a=2")");
  check("a=1\nb=2", R"("a=1\nb=2")");
  check("words", R"("words")");
  check("1a=2", R"("1a=2")");
  check("=2", R"("=2")");
}

TEST_CASE(
    "sources and maps of the program are found by the names that they were registered under") {
  register_source("numbers@1", count(12).root().data->get());
  CHECK(parse_pipeline(R"(indexed("numbers@1"))").size() == 12);
  CHECK(to_string(parse_pipeline(R"(indexed("numbers@1"))")) == "indexed(\"numbers@1\")\n");
  register_source("numbers@1", count(13).root().data->get());
  CHECK(parse_pipeline(R"(indexed("numbers@1"))").size() == 13);

  register_map("own@1", [](const std::string& x) {
    return map_stage{"own@1", "", plain_map("own@1", x).make};
  });
  CHECK(parameters_of(R"(map("own@1", a=1))") == "a=1");
  register_map("own@1", [](const std::string& x) { return plain_map("own@1", "all " + x); });
  CHECK(parameters_of(R"(map("own@1", a=1))") == "all a=1");

  CHECK_THROWS_AS(register_map("", [](const std::string& x) { return plain_map("x@1", x); }),
                  error);
  CHECK_THROWS_AS(register_map("x@1", nullptr), error);
  CHECK_THROWS_AS(register_source("x@1", nullptr), error);
  CHECK_THROWS_AS(register_source("", count(1).root().data->get()), error);
}

TEST_CASE("names stand for what they were given, as often as they are used") {
  check_form("# Twice the same.\n"
             "near = count(5) # five\n"
             "  .take(3)\r\n"
             "both = zip(near, near.skip(1))\n"
             "\tboth . take ( 2 )",
             zip({count(5).take(3), count(5).take(3).skip(1)}).take(2),
             "zip(\n"
             "  count(5, record_bytes=8)\n"
             "    .take(3),\n"
             "  count(5, record_bytes=8)\n"
             "    .take(3)\n"
             "    .skip(1)\n"
             ")\n"
             "  .take(2)");
  CHECK(parse_pipeline("count = count(2) count") == count(2));
  CHECK(parse_pipeline("a = count(1) b = count(2) a") == count(1));
}

TEST_CASE("texts take any bytes, and are printed as UTF-8") {
  const std::string all{"\"\\\n\t\r\x01\x7f\xff\xc3\xa4 \xe2\x82 \0x", 16};
  const auto x = image_folder(all);
  CHECK(to_string(x)
        == "image_folder(\"\\\"\\\\\\n\\t\\x0D\\x01\\x7F\\xFF\xc3\xa4 \\xE2\\x82 \\x00x\", "
           "index_dir=\"\")\n");
  CHECK(parse_pipeline(to_string(x)) == x);
  CHECK(parse_pipeline(R"(image_folder("\x41\x6a\x6A"))") == image_folder("Ajj"));
}

namespace {

/// The words of all operators in that role, in the order of docs/pipelines.md.
std::string words_of(operator_role role) {
  std::string words;
  for (const auto& x : operator_types())
    if (x.role == role)
      words += (words.empty() ? "" : ", ") + std::string{x.word};
  return words;
}

const std::string known_steps = "one of " + words_of(operator_role::step);
const std::string known_starts = "a source (" + words_of(operator_role::source) + ") or a join ("
                                 + words_of(operator_role::join) + ")";

} // namespace

// clang-format off
TEST_CASE("breaks of the grammar are refused with their place") {
  const std::string value = "a value: a text in quotes, a number, true, false or a list";
  const std::string start = "a source, zip, concat, mix or a name";
  check_text_errors({
      {"", "the end at line 1, column 1", start},
      {"# nothing\n", "the end at line 2, column 1", start},
      {"count(1) 2", R"("2" at line 1, column 10)", R"("." and an operator, or the end)"},
      {"count(1)\n  .(2)", R"("(" at line 2, column 4)", "an operator"},
      {"count(1).take", "the end at line 1, column 14", R"("(")"},
      {"count(1", "the end at line 1, column 8", "\",\" or \")\""},
      {"count(1 2)", R"("2" at line 1, column 9)", "\",\" or \")\""},
      {"count(,)", R"("," at line 1, column 7)", value},
      {"count(n=)", "\")\" at line 1, column 9", value},
      {"count(1).shuffle(kind=full)", R"("full" at line 1, column 23)", value},
      {"count([1, 2)", "\")\" at line 1, column 12", R"("," or "]")"},
      {"count([a])", R"("a" at line 1, column 8)", value},
      {"true = count(1) true", R"("true" at line 1, column 1)", "a name other than true or false"},
      {"false", R"("false" at line 1, column 1)", start},
      {"x = 3", R"("3" at line 1, column 5)", start},
  });
}

TEST_CASE("words, numbers and texts that are none are refused with their place") {
  const std::string number =
      "a number: 12, 0.5 or 1e-3; or a word, which does not begin with a digit";
  check_text_errors({
      {"count(-a)", R"("-" at line 1, column 7)", "a number after it"},
      {"count(-9223372036854775809)", R"("-9223372036854775809" at line 1, column 7)", "a whole number from -2^63 on"},
      {"count(18446744073709551616)", R"("18446744073709551616" at line 1, column 7)", "a whole number below 2^64"},
      {"count(1e999)", R"("1e999" at line 1, column 7)", "a number in the range of double"},
      {"count(12abc)", R"("12abc" at line 1, column 7)", number},
      {"count(1.5e)", R"("1.5e" at line 1, column 7)", number},
      {"count(1.)", R"("." at line 1, column 8)", "\",\" or \")\""},
      {R"(image_folder("abc)", "a text that does not end at line 1, column 14", R"(a " on the same line)"},
      {"image_folder(\"abc\n\")", "a text that does not end at line 1, column 14", R"(a " on the same line)"},
      {"image_folder(\"\xc3\xa4\\q\")", "another escape at line 1, column 16", R"(\", \\, \n, \t or \xHH)"},
      {R"(image_folder("\x4"))", "another escape at line 1, column 15", R"(\", \\, \n, \t or \xHH)"},
      {R"(image_folder("\)", "another escape at line 1, column 15", R"(\", \\, \n, \t or \xHH)"},
      {"count(1)\n;", R"(";" at line 2, column 1)", "a word, a number, a text in quotes or one of ( ) [ ] , . ="},
      {"count(\"\xc3\xa4\", \xe2\x82\xac)", "\"\xe2\x82\xac\" at line 1, column 12", "a word, a number, a text in quotes or one of ( ) [ ] , . ="},
      {"\xff", "\"\\xFF\" at line 1, column 1", "a word, a number, a text in quotes or one of ( ) [ ] , . ="},
  });
}

TEST_CASE("unknown words are refused with what there is") {
  check_text_errors({
      {"count(1)\n  .shufle(seed=7)", R"("shufle" at line 2, column 4)", known_steps},
      {"count(1).zip(count(2))", R"("zip" at line 1, column 10)", known_steps},
      {"counts(1)", R"("counts" at line 1, column 1)", known_starts},
      {"take(1)", R"("take" at line 1, column 1)", known_starts},
      {"zip(near)", R"("near" at line 1, column 5)", "a name that was defined above, as name = ...; or a call"},
      {"a = count(1) a = count(2) a", R"("a" defined twice at line 1, column 14)", "a new name"},
  });
  check_error(R"(count(1).map("missing@1"))", "map",
              "\"missing@1\", which is not registered at line 1, column 10",
              details_of(R"(count(1).map("other@1"))").needed);
  CHECK(has(details_of(R"(count(1).map("missing@1"))").needed, "eval_image@1, int_label@1"));
}

TEST_CASE("arguments that do not fit are refused with their place") {
  check_text_errors({
      {"count()", "count without records at line 1, column 1", "a whole number"},
      {"tar_shards()", "tar_shards without patterns at line 1, column 1", "a text in quotes"},
      {R"(tar_shards("a", 3))", "3 at line 1, column 17", "a text in quotes"},
      {"count(1, 8, 9)", "9 at line 1, column 13", "no more than 2 values of count"},
      {"count(1.5)", "1.5 at line 1, column 7", "a whole number as records"},
      {"count(records=true)", "true at line 1, column 15", "a whole number as records"},
      {"count(1, size=3)", R"("size" at line 1, column 10)", "one of records, record_bytes"},
      {"count(1, bytes=3, record_bytes=3)", R"("record_bytes" once more at line 1, column 19)", "one value of a name"},
      {"count(1, records=3)", R"("records" once more at line 1, column 10)", "one value of a name"},
      {"count(records=3, 8)", "a value without a name at line 1, column 18", "its name: values in order come first"},
      {"count(n)", R"("n" at line 1, column 7)", "a whole number as records"},
      {"count(count(1))", "a pipeline at line 1, column 7", "a whole number as records"},
      {"zip(count(1), 2)", "a value at line 1, column 15", "only pipelines, without names, in zip"},
      {"count(1).batch(1, fields=[1])", "this list at line 1, column 26", R"(a list of texts: ["a", "b"] as fields)"},
      {R"(count(1).batch(1, fields="a"))", R"("a" at line 1, column 26)", R"(a list of texts: ["a", "b"] as fields)"},
      {R"(tar_shards("a", allow_torn=1))", "1 at line 1, column 28", "true or false as allow_torn"},
  });
}

TEST_CASE("a join's options that do not fit are refused with their place") {
  check_text_errors({
      {"zip(count(1), n=2)", "a value at line 1, column 15", "only pipelines, without names, in zip"},
      {"mix(count(1), [2])", "a value without a name at line 1, column 15", "pipelines, then options by name, in mix"},
      {"mix(seed=1, count(1))", "a pipeline after options at line 1, column 13", "pipelines first in mix"},
      {"mix(count(1), sed=1)", R"("sed" at line 1, column 15)", "one of weights, rule, stop, cost, seed, schedule, temperature, max_repeats, schedule_by"},
      {"mix(count(1), weights=1)", "1 at line 1, column 23", "a list of numbers: [0.7, 0.2, 0.1] as weights"},
      {"mix(count(1), seed=1, seed=2)", R"("seed" once more at line 1, column 23)", "one value of a name"},
  });
  CHECK(details_of("mix(counts(1), count(1.5), weights=[\"5\"], 3).tke(1)").got == "5 errors:");
}

TEST_CASE("parameters of leat's functions that do not fit are refused") {
  check_errors("count(1).", " at line 1, column 10", {
      {R"(filter("key_hash@1"))", "key_hash@1", "no keep", "a value for keep"},
      {R"(filter("key_hash@1", keep=101))", "key_hash@1", "keep=101", "a percentage: 0 to 100"},
      {R"(filter("key_hash@1", keep="-1"))", "key_hash@1", "keep=-1", "a whole number"},
      {R"(filter("field_hash@1", keep=1, field="a", of=1))", "field_hash@1", R"(parameter "of")", "one of field, keep, salt"},
      {R"(filter("key_matches@1", pattern=""))", "key_matches@1", R"(pattern "")", "a pattern without spaces"},
      {R"(filter("field_between@1", field="a", min=2, max=1))", "field_between@1", "bounds min=2 max=1", "a min that is at most max"},
      {R"(filter("field_between@1", field="a", min="nan"))", "field_between@1", "bounds min=nan", "a min that is at most max"},
      {R"(filter("bytes_between@1", field="a", min=2, max=1))", "bytes_between@1", "bounds min=2 max=1", "a min that is at most max"},
      {R"(filter("bytes_between@1", field=["a", "b"]))", "bytes_between@1", R"(field "a,b")", "a name without spaces and commas"},
      {R"(flat_map("copies@1"))", "copies@1", "no n", "a value for n"},
      {R"(flat_map("split@1", field="a", at=256))", "split@1", "at=256", "a byte: 0 to 255"},
      {R"(flat_map("windows@1", field="a", length=0))", "windows@1", "length=0", "at least 1"},
      {R"(flat_map("chunks@1", field="a", length=2, overlap=2))", "chunks@1", "overlap=2", "less than length=2"},
      {R"(map("truncate@1", field="a", length=0))", "truncate@1", "length=0", "at least 1"},
      {R"(map("drop_fields@1", fields=[]))", "drop_fields@1", "no fields", "at least one"},
      {R"(map("concat_fields@1", fields=["a"], into="b,c"))", "concat_fields@1", R"(field "b,c")", "a name without spaces and commas"},
      {R"(map("add_tokens@1", field="a"))", "add_tokens@1", "neither begin nor end", "at least one of them"},
      {R"(map("add_tokens@1", field="a", begin=[1, 0.5]))", "add_tokens@1", "begin=0.5", "a whole number"},
      {R"(map("default_field@1", field="a", type="u8", value=2))", "default_field@1", "value=2", "true or false"},
      {R"(map("default_field@1", field="a", type="u9", value=2))", "default_field@1", "type=u9", "u8, i64, f64 or bytes"},
      {R"(map("default_field@1", field="a", type="i64", value="x"))", "default_field@1", "value=x", "a whole number"},
      {R"(map("default_field@1", field="a", type="f64", value="inf"))", "default_field@1", "value=inf", "a finite number"},
      {R"(map("default_field@1", field="a", value="1%"))", "default_field@1", "value=1%", "%HH for any byte, and so %25 for a percent sign"},
      {R"(map("loss_mask@1", field="a", end=1))", "loss_mask@1", "no begin", "at least one token that an answer follows"},
      {R"(map("normalize_text@1", field="a", spaces="some"))", "normalize_text@1", "spaces=some", "keep, lines or all"},
      {R"(map("normalize_text@1", field="a", unicode="NFC"))", "normalize_text@1", "unicode=NFC", "keep, nfc, nfd, nfkc or nfkd"},
      {R"(map("normalize_text@1", field="a", trim=1))", "normalize_text@1", "trim=1", "true or false"},
      {R"(filter("text_quality@1", field="a"))", "text_quality@1", "no bounds", "at least one"},
      {R"(filter("text_quality@1", field="a", max_digits=1.5))", "text_quality@1", "max_digits=1.5", "a share: 0 to 1"},
      {R"(filter("text_quality@1", field="a", min_words=2, max_words=1))", "text_quality@1", "bounds min=2 max=1", "a min that is at most max"},
      {"deduplicate([], keys=1)", "deduplicate", "no fields", "at least one"},
      {R"(deduplicate(["a"], keys=0))", "deduplicate", "keys=0", "1 to 4294967296"},
      {R"(scan("running_sum@1", field="a"))", "running_sum@1", "no into", "a value for into"},
      {R"(scan("running_count@1", into=""))", "running_count@1", R"(field "")", "a name without spaces and commas"},
      {R"(map("pad@1", field="a", length=2147483648))", "pad@1", "length=2147483648", "at most 2147483647"},
  });
}

TEST_CASE("parameters of a map that do not fit are refused with their place") {
  register_plain_map("plain@1");
  const std::string value = "a value without spaces; in a list no lists, no empty texts, no commas";
  check_text_errors({
      {"count(1).map(a=1)", "map without name at line 1, column 10", "a text in quotes"},
      {R"(count(1).map("plain@1", a="b c"))", R"("b c" at line 1, column 27)", value},
      {R"(count(1).map("plain@1", a="\n"))", "\"\\n\" at line 1, column 27", value},
      {R"(count(1).map("plain@1", a=[[1]]))", "this list at line 1, column 27", value},
      {R"(count(1).map("plain@1", a=[""]))", "this list at line 1, column 27", value},
      {R"(count(1).map("plain@1", a=["b,c"]))", "this list at line 1, column 27", value},
      {R"(count(1).map("plain@1", a=1, a=2))", R"("a" once more at line 1, column 30)", "one value of a name"},
      {R"(count(1).map("plain@1", "a=1", b=2))", R"("b" at line 1, column 32)", "no names after all parameters as one text"},
      {R"(count(1).map("plain@1", 3))", "3 at line 1, column 25", "values by name, or one text in quotes as parameters"},
  });
  check_errors("count(1).", " at line 1, column 10", {
      {R"(map("int_label@1"))", "int_label@1", "no field", "a value for field"},
      {R"(map("rename@1", from="a", to="b", of="c"))", "rename@1", R"(parameter "of")", "one of from, to"},
      {R"(map("select@1", "a"))", "select@1", R"("a")", "words name=value, each name once"},
  });
  check_errors("count(1).map(\"train_image@1\", field=\"jpg\", ", " at line 1, column 10", {
      {"size=1.5)", "train_image@1", "size=1.5", "a whole number"},
      {R"(flip="x"))", "train_image@1", "flip=x", "a number"},
      {"mean=[1, 2])", "train_image@1", "mean=1,2", "3 numbers, separated by commas"},
      {R"(layout="hwc"))", "train_image@1", "layout=hwc", "nchw or nhwc"},
      {R"(type="f17"))", "train_image@1", R"(type "f17")",
       "one of u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, f16, bf16"},
  });
}

TEST_CASE("values that a function refuses get the place of its call") {
  check_error("count(1)\n  .batch(0)", "batch", "0 rows at line 2, column 4", "at least 1");
  check_errors("count(1).", " at line 1, column 10", {
      {R"(batch(1, fields=["a", "b", "a"]))", "batch.fields", R"("a" twice)", "each name once"},
      {"repeat(0)", "repeat", "0 times", "at least 1"},
      {R"(shuffle(kind="half"))", "shuffle", R"(kind="half")", "full, windowed or none"},
      {R"(batch(1, end="never"))", "batch", R"(end="never")", "auto, drop, mask or cycle"},
  });
  check_errors("", " at line 1, column 1", {
      {"zip()", "zip", "no inputs", "at least one"},
      {R"(lines("a", file_order="random"))", "lines", R"(file_order="random")", "stored or shuffled"},
      {R"(mix(count(1), rule="fair"))", "mix", R"(rule="fair")", "deficit or random"},
      {R"(mix(count(1), stop="never"))", "mix", R"(stop="never")", "all, first or cycle"},
      {"mix()", "mix", "no inputs", "at least one"},
      {"mix(count(1), weights=[1, 2])", "mix.weights", "2", "1, one per input"},
      {R"(mix(count(1), schedule=["5:1,2"]))", "mix.weights", "2", "1, one per input"},
      {R"(mix(count(1), schedule=["5"]))", "mix.schedule", R"("5")", R"(a step and a weight per input: "1000:0.7,0.2,0.1")"},
      {R"(mix(count(1), schedule=["0:1"]))", "mix.schedule", "step 0 after step 0", "rising steps, from 1 on"},
      {"mix(count(1), temperature=0)", "mix.temperature", "0", "a number above 0"},
  });
  check_text_errors({
      {"mix(count(1), count(2), weights=[1, -1])", "-1 at line 1, column 33", "a number of at least 0"},
      {"mix(count(1), count(2), weights=[0, 0])", "no weight above 0 at line 1, column 33", "at least one"},
  });
  CHECK_NOTHROW(parse_pipeline("mix(count(1), count(2), weights=[1, 0])"));
  CHECK_NOTHROW(parse_pipeline("mix(count(1), count(2), weights=[4294967294, 1])"));
  check_error("count(1).token_budget(\"a\", 4, rows=2).take(1)", "take",
              "an operator after token_budget at line 1, column 39",
              "only maps and batch() after it");
  check_error("count(1).token_budget(\"a\", 4, rows=2).map(\"ragged@1\", field=\"a\").batch(3)",
              "batch", "3 rows after a token_budget of 2 rows at line 1, column 66",
              "the same number of rows in both");
  check_errors("count(1).", " at line 1, column 10", {
      {"shuffle_buffer(1)", "shuffle_buffer", "1 samples", "at least 2 per lane"},
      {R"(pack("", 1))", "pack", "no name", "a field's name"},
      {R"(pack("a", 0))", "pack.length", "0", "1 to 2147483647"},
      {R"(pack("a", 2147483648))", "pack.length", "2147483648", "1 to 2147483647"},
      {R"(pack("a", 1, bins=0))", "pack.bins", "0", "1 to 65536"},
      {R"(pack("a", 1, bins=65537))", "pack.bins", "65537", "1 to 65536"},
      {R"(pack("a", 1, fit="worst"))", "pack", R"(fit="worst")", "first or best"},
      {R"(pack("a", 1, cut="below"))", "pack", R"(cut="below")", "never, above or always"},
      {R"(pack("a", 1, labels=true, ignore_index=0.5))", "pack.ignore_index", "0.5", "a whole number above -2^53 and below 2^53"},
      {R"(pack("a", 1, labels=true, ignore_index=-9007199254740993))", "pack.ignore_index", "-9007199254740992", "a whole number above -2^53 and below 2^53"},
      {R"(pack("a", 1, ignore_index=7))", "pack.ignore_index", "7 without labels", "labels=true"},
      {R"(length_bucket("a", [2, 1], group=1, window=1))", "length_bucket.boundaries", "1 after 2", "rising numbers"},
      {R"(token_budget("", 4, rows=2))", "token_budget", "no name", "a field's name"},
      {R"(token_budget("a", 0, rows=2))", "token_budget.tokens", "0", "1 to 4294967296"},
      {R"(token_budget("a", 4, rows=0))", "token_budget.rows", "0", "1 to 16777216"},
      {R"(length_bucket("a", [2], group=4, window=3))", "length_bucket.window", "3", "4 to 4294967296"},
      {"batch(16777217)", "batch.rows", "16777217", "1 to 16777216"},
      {R"(pack("a", 1, delimiter=[1, 2]))", "pack", "delimiter with 2 numbers", "one, or none"},
  });
  check_errors("", " at line 1, column 1", {
      {R"(zip(count(1).token_budget("a", 4, rows=2).map("ragged@1", field="a")))", "zip", "an operator after token_budget", "only maps and batch() after it"},
      {"count(1, bytes=2147483649)", "count.record_bytes", "2147483649", "1 to 2147483648"},
      {R"(raw_records("x", "u8", [2147483649]))", "raw_records", "shape [2147483649]", "1 to 2^31 bytes per record"},
  });
  check_errors("", " at line 1, column 1", {
      {R"(lines("x", ranges=65537))", "lines.ranges", "65537", "1 to 65536"},
      {R"(json_lines("x", ranges=65537))", "json_lines.ranges", "65537", "1 to 65536"},
      {R"(json_lines("x", types=["a:f8"]))", "json_lines.types", R"(type "f8")", "one of u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, f16, bf16"},
      {R"(json_lines("x", types=["a:u8", "a:u8"]))", "json_lines.types", R"(field "a" twice)", "one type per field"},
      {R"(tokens("x", type="f32", length=4))", "tokens", "type f32", "a type of whole numbers"},
      {R"(raw_records("x", "f17", [1]))", "raw_records", R"(type "f17")", "one of u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, f16, bf16"},
  });
  CHECK(details_of("raw_records(\"x\", \"u8\", [1,1,1,1,1,1,1])").stage == "shape");
  register_map("throws@1",
               [](const std::string&) -> map_stage { throw std::runtime_error("no luck"); });
  check_error("count(1).map(\"throws@1\")", "throws@1", "no luck at line 1, column 10", "");
  register_map("other@1", [](const std::string& x) { return plain_map("another@1", x); });
  check_error("count(1).map(\"other@1\")", "other@1",
              "a map named \"another@1\" at line 1, column 10", "other@1");
}
// clang-format on

TEST_CASE("all errors of a text are said at once") {
  const auto x =
      details_of("a = counts(1)\n"
                 "b = count(0, 0)\n"
                 "zip(a, b, c, zip(count(\"1\")).take(\"2\")).repeat(0).tke(1).batch(0)");
  CHECK(x.stage == "pipeline text");
  CHECK(x.got == "8 errors:");
  const std::string text = "invalid argument: pipeline text, got ";
  CHECK(
      x.list
      == std::vector<std::string>{
          text + "\"counts\" at line 1, column 5, needed " + known_starts,
          "invalid argument: count, got 0 bytes per record at line 2, column 5, needed at least 1",
          text
              + "\"c\" at line 3, column 11, needed a name that was defined above, as name = ...; "
                "or a call",
          text + "\"1\" at line 3, column 24, needed a whole number as records",
          text + "\"2\" at line 3, column 35, needed a whole number as n",
          "invalid argument: repeat, got 0 times at line 3, column 41, needed at least 1",
          text + "\"tke\" at line 3, column 51, needed " + known_steps,
          "invalid argument: batch, got 0 rows at line 3, column 58, needed at least 1"});
  const auto many = details_of("count(1)" + repeated(".repeat(0)", 30));
  CHECK(many.got == "30 errors:");
  CHECK(many.list.size() == 21);
  CHECK(many.list.back() == "and 10 more");
}

TEST_CASE("texts that are nested, long or large without end are refused") {
  auto lists = [](std::size_t n) { return "count(" + repeated("[", n) + repeated("]", n) + ")"; };
  auto zips = [](std::size_t n) { return repeated("zip(", n) + "count(1)" + repeated(")", n); };
  auto steps = [](std::size_t n) { return "count(1)" + repeated(".take(1)", n); };
  const std::string nested = "brackets nested at most 200 deep";
  check_text_errors({{lists(200), R"("[" at line 1, column 206)", nested},
                     {lists(199), "this list at line 1, column 7", "a whole number as records"},
                     {lists(1'000'000), R"("[" at line 1, column 206)", nested},
                     {zips(1'000'000), R"("(" at line 1, column 804)", nested}});
  const auto deepest = parse_pipeline(zips(max_nesting - 2));
  CHECK(parse_pipeline(to_string(deepest)) == deepest);
  const std::string much = "at most 10000 operators, 1000 in a chain, and 200 nested brackets";
  const std::string too_large = " on too large an input at line ";
  const auto longest = parse_pipeline(steps(max_tree_size.height - 1));
  CHECK(parse_pipeline(to_string(longest)) == longest);
  auto doubled = [](int n) {
    std::string text = "x0 = count(1)\n";
    for (int i = 0; i < n; ++i) {
      const auto x = "x" + std::to_string(i);
      text += "x" + std::to_string(i + 1) + " = zip(" + x + ", " + x + ")\n";
    }
    return text + "x" + std::to_string(n);
  };
  CHECK(parse_pipeline(doubled(12)).root().inputs.size() == 2);
  check_text_errors({{zips(max_nesting - 1), "\"zip\"" + too_large + "1, column 1", much},
                     {steps(max_tree_size.height), "\"take\"" + too_large + "1, column 8002", much},
                     {doubled(24), "\"zip\"" + too_large + "14, column 7", much}});
}

namespace {

/// Random trees of all operators, with values that are hard to print.
class tree_maker {
public:
  explicit tree_maker(unsigned seed) : random_(seed) {}

  pipeline tree(int height) {
    if (height == 0 || below(6) == 0)
      return source();
    if (below(4) > 0)
      return step(tree(height - 1));
    std::vector<pipeline> inputs;
    for (auto n = 1 + below(3); n > 0; --n)
      inputs.push_back(tree(height - 1));
    return join(std::move(inputs));
  }

  pipeline root() {
    constexpr std::uint64_t rows[] = {1, 6, 24};
    auto fields = some_texts(0);
    std::sort(fields.begin(), fields.end());
    fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
    return tree(6).batch(
        rows[below(3)] * 6,
        {.lanes = below(2) * 6, .end = static_cast<epoch_end>(below(4)), .fields = fields});
  }

  /// The text with other white space and comments.
  std::string spaced(const std::string& text) {
    std::string result;
    pipeline_lexer lexer{text};
    for (auto x = lexer.next(); x.kind != token_kind::end; x = lexer.next()) {
      constexpr const char* spaces[] = {"", "", " ", "\n", "\t ", "# \"(.\n", "\r\n  "};
      result += std::string{x.raw} + spaces[below(7)];
    }
    return result;
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool coin() { return below(2) == 0; }

  std::uint64_t number() { return random_() >> below(64); }

  std::string text() {
    constexpr const char* parts[] = {"a",    "B_7", "=",        ",",    " ",    "\"", "\\",
                                     "\n",   "\t",  "\xc3\xa4", "\xff", "\x01", "1",  "0.5",
                                     "true", "x=1", "[",        "#",    ")"};
    std::string x;
    for (auto n = below(5); n > 0; --n)
      x += parts[below(std::size(parts))];
    return x;
  }

  texts some_texts(std::size_t least) {
    texts xs(least + below(3));
    for (auto& x : xs)
      x = text();
    return xs;
  }

  std::string parameters() {
    std::string x;
    for (auto n = below(4); n > 0; --n)
      x += (x.empty() ? "" : " ") + std::string{"abc"[n - 1]} + "=" + text();
    return x;
  }

  stream_options streaming() {
    return {.order = coin() ? file_order::stored : file_order::shuffled, .seed = number()};
  }

  line_options line_streaming() {
    const auto drawn = streaming();
    return {.ranges = 1 + below(1000), .order = drawn.order, .seed = drawn.seed};
  }

  line_options typed(line_options x) {
    for (const auto* type : {"bytes", "u64", "f32"})
      if (coin())
        x.types.emplace(text(), type);
    return x;
  }

  pipeline join(std::vector<pipeline> inputs) {
    switch (below(3)) {
    case 0:
      return zip(std::move(inputs));
    case 1:
      return concat(std::move(inputs));
    default:
      mix_options options{.rule = static_cast<mix_rule>(below(2)),
                          .stop = static_cast<mix_stop>(below(3)),
                          .cost = text(),
                          .seed = number()};
      if (coin())
        options.weights = weights(inputs.size());
      for (std::uint64_t step = 1 + below(9); coin(); step += 1 + below(100))
        options.schedule.push_back({step, weights(inputs.size())});
      return mix(std::move(inputs), std::move(options));
    }
  }

  std::vector<double> weights(std::size_t inputs) {
    std::vector<double> xs(inputs);
    for (auto& x : xs)
      x = static_cast<double>(below(1000)) / (coin() ? 1 : 7);
    xs[below(inputs)] = 1;
    return xs;
  }

  pipeline pack(const pipeline& x) {
    pack_options options{.bins = 1 + below(9), .split = coin(), .delimiter = {}, .pad = number()};
    if (coin())
      options.delimiter = number();
    options.fit = coin() ? pack_fit::first : pack_fit::best;
    if (!options.split)
      options.cut = static_cast<pack_cut>(below(3));
    options.labels = coin();
    if (options.labels && coin())
      options.ignore_index = static_cast<std::int64_t>(number() >> 12) - 5;
    options.cu_seqlens = coin();
    options.segment = coin();
    options.offset = coin();
    return x.pack("f" + text(), 1 + below(1 << 20), options);
  }

  pipeline source() {
    switch (below(14)) {
    case 11:
      return tokens(some_texts(1), static_cast<dtype>(below(8)), 1 + below(9),
                    coin() ? token_options{.stride = below(9), .drop_last = coin()}
                           : token_options{.random_windows = 1 + below(99), .seed = number()});
    case 12:
      return npy(some_texts(1));
    case 13:
      return megatron(some_texts(1));
    case 5:
      return tar_stream(some_texts(1), streaming());
    case 6:
      return lines(some_texts(1), line_streaming());
    case 7:
      return json_lines(some_texts(1), typed(line_streaming()));
    case 8:
      return sequential("crawl@1", 1 + below(1000), no_reader, streaming());
    case 9:
      return standard_input();
    case 10:
      return once("queue@1", no_record);
    case 0:
      return tar_shards(some_texts(1), {.index_dir = text(), .allow_torn = coin()});
    case 1:
      return image_folder("d" + text(), {.index_dir = text()});
    case 2:
      return raw_records(text(), static_cast<dtype>(below(10)), {1 + below(9), 1 + below(9)});
    case 3:
      return parse_pipeline(R"(indexed("numbers@1"))");
    default:
      return count(number(), 1 + below(1000));
    }
  }

  pipeline step(const pipeline& x) {
    switch (below(11)) {
    case 6:
      return x.filter(plain_filter(parameters()));
    case 7:
      return x.flat_map(plain_flat_map(parameters()));
    case 8:
      return x.scan(plain_scan(parameters()));
    case 9:
      return x.shuffle_buffer(2 + number() % 4'294'967'295, number());
    case 10:
      return pack(x);
    case 0:
      return x.shuffle({.seed = number(),
                        .kind = coin() ? shuffle_kind::full : shuffle_kind::none,
                        .window = 1 + below(9)});
    case 1:
      return x.map(plain_map("plain@1", parameters()));
    case 2:
      return x.take(number());
    case 3:
      return x.skip(number());
    case 4:
      return x.repeat(1 + below(1000));
    default:
      return x.enumerate("f" + text());
    }
  }

  std::mt19937_64 random_;
};

} // namespace

TEST_CASE("random trees are printed and read back, in any spacing") {
  register_names();
  for (unsigned seed = 0; seed < 2000; ++seed) {
    tree_maker maker{seed};
    const auto x = maker.root();
    const auto text = to_string(x);
    INFO("seed " << seed << "\n" << text);
    const auto again = parse_pipeline(text);
    REQUIRE(again == x);
    REQUIRE(to_string(again) == text);
    const auto spaced = maker.spaced(text);
    INFO(spaced);
    REQUIRE(parse_pipeline(spaced) == x);
  }
}

TEST_CASE("random trees that differ print differently") {
  register_names();
  for (unsigned seed = 0; seed < 2000; ++seed) {
    INFO("seeds " << seed << " and " << seed + 1);
    const auto a = tree_maker{seed}.tree(1);
    const auto b = tree_maker{seed + 1}.tree(1);
    REQUIRE((a == b) == (to_string(a) == to_string(b)));
  }
}

TEST_CASE("texts with a damaged byte are read or refused") {
  register_names();
  std::size_t refused = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    auto text = to_string(tree_maker{seed}.root());
    std::mt19937_64 random{seed};
    text[random() % text.size()] = "()[],.=\"\\#-9ae \xff"[random() % 16];
    try {
      const auto x = parse_pipeline(text);
      REQUIRE(parse_pipeline(to_string(x)) == x);
    } catch (const error& x) {
      ++refused;
      REQUIRE(x.code() == errc::invalid_argument);
      REQUIRE(has(x.what(), " at line "));
    }
  }
  CHECK(refused > 250);
}

} // namespace leat::pipeline_text_test
