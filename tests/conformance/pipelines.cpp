#include "tests/conformance/pipelines.hpp"

namespace leat::test {

// clang-format off
const std::vector<registered_pipeline>& registered_pipelines() {
  static const std::vector<registered_pipeline> all{
    // Indexed sources, and operators that stay indexed forms over them.
    {"count", R"(count(240))"},
    {"tar_shards", R"(tar_shards("shard-*.tar").shuffle(seed=1))"},
    {"image_folder", R"(image_folder("images").shuffle(seed=2))"},
    {"raw_records", R"(raw_records("values.f32", dtype="f32", shape=[2]))"},
    {"tokens", R"(tokens("tokens-*.bin", dtype="u16", length=9, stride=8).shuffle(seed=5, kind="windowed", window=2))"},
    {"tokens: ragged", R"(tokens("tokens-*.bin", dtype="u16", length=8, drop_last=false))"},
    {"tokens: drawn", R"(tokens("tokens-*.bin", dtype="u16", length=20, random_windows=240, seed=6))"},
    {"npy", R"(npy("rows.npy").shuffle(seed=7))"},
    {"megatron", R"(megatron("docs-{a,b}").shuffle(seed=8))"},
    {"indexed", R"(indexed("numbers@1").shuffle(seed=3, kind="windowed", window=2))"},
    {"indexed: map", R"(count(240).map("pad@1", field="value", length=12).map("rename@1", from="value", to="padded"))"},
    {"indexed: take, skip, repeat", R"(count(59).shuffle(seed=4).repeat(5).skip(17).take(270).enumerate())"},
    {"indexed: zip, concat", R"(zip(concat(count(60), count(69)).repeat(2), raw_records("values.f32", dtype="f32", shape=[2]).map("rename@1", from="value", to="other")))"},

    // Streams.
    {"tar_stream", R"(tar_stream("shard-*.tar"))"},
    {"tar_stream: gzip", R"(tar_stream("shard-*.tar.gz", file_order="shuffled", seed=5))"},
    {"tar_stream: zstd", R"(tar_stream("shard-*.tar.zst", file_order="shuffled"))"},
    {"lines", R"(lines("page-*.txt", file_order="shuffled"))"},
    {"lines: packed", R"(lines("page-*.txt.gz"))"},
    {"lines: ranges", R"(lines("book-*.txt", ranges=8, file_order="shuffled", seed=6))"},
    {"lines: empty lanes", R"(lines("gap.txt", ranges=30))"},
    {"json_lines", R"(json_lines("docs-*.jsonl", ranges=8))"},
    {"json_lines: bad ones", R"(json_lines("odd.jsonl", ranges=24).filter("field_between@1", field="n", min=20))"},
    {"sequential", R"(sequential("walk@1", units=24, file_order="shuffled"))"},
    {"sequential: without save", R"(sequential("march@1", units=26))"},
    {"standard_input", R"(standard_input())"},
    {"once", R"(once("queue@1").shuffle_buffer(96, seed=7))"},
    {"once: several", R"(zip(standard_input(), once("queue@1").filter("field_hash@1", field="number", keep=80)).shuffle_buffer(50))"},

    // Operators that do not probe content.
    {"filter: by id", R"(count(340).shuffle(seed=8).filter("key_hash@1", keep=70))"},
    {"filter: by pattern", R"(tar_stream("shard-*.tar").filter("key_matches@1", pattern="*[02468]"))"},
    {"sample", R"(count(340).shuffle(seed=8).sample(0.7, seed=2))"},
    {"sample: of content, twice", R"(tar_stream("shard-*.tar", file_order="shuffled").filter("field_hash@1", field="txt", keep=80).sample(0.8).shuffle_buffer(48).sample(0.75).repeat(3))"},
    {"flat_map: counted", R"(lines("book-0.txt", ranges=24).flat_map("copies@1", n=3))"},
    {"shuffle_buffer", R"(count(240).shuffle(seed=9).shuffle_buffer(100, seed=9))"},
    {"shuffle_buffer: of packed files", R"(tar_stream("shard-*.tar.gz").shuffle_buffer(120))"},
    {"shuffle_buffer: of readers without save", R"(sequential("march@1", units=24).shuffle_buffer(60))"},
    {"shuffle_buffer: twice", R"(lines("page-*.txt").shuffle_buffer(48).shuffle_buffer(72, seed=10))"},
    {"zip", R"(zip(lines("book-*.txt", ranges=8), count(300).shuffle(seed=11), tar_stream("shard-*.tar")))"},
    {"concat", R"(concat(count(50), lines("book-1.txt", ranges=24), tar_stream("shard-*.tar.zst"), count(30)).enumerate("at"))"},
    {"repeat", R"(tar_stream("shard-*.tar", file_order="shuffled").filter("key_hash@1", keep=50).repeat(2))"},
    {"take, skip", R"(lines("book-*.txt", ranges=8).skip(77).take(203).enumerate())"},
    {"repeat: of take and skip", R"(lines("book-*.txt", ranges=8, file_order="shuffled").skip(50).take(130).enumerate().repeat(3))"},
    {"map", R"(json_lines("docs-*.jsonl", ranges=8).map("select@1", fields=["n", "tokens"]).map("pad@1", field="tokens", length=16).map("rename@1", from="n", to="m"))"},
    {"map: ragged", R"(json_lines("docs-*.jsonl", ranges=8).map("select@1", fields=["n", "tokens"]).map("ragged@1", field="tokens"))"},
    {"mix: deficit", R"(mix(count(150).shuffle(seed=12), lines("book-0.txt", ranges=24), weights=[3, 2]))"},
    {"mix: random", R"(mix(lines("book-0.txt", ranges=24), count(100), weights=[2, 1], rule="random", seed=13))"},
    {"mix: first", R"(mix(lines("book-0.txt", ranges=24), count(120), stop="first"))"},
    {"mix: random, first", R"(mix(count(120), lines("book-*.txt", ranges=8), rule="random", stop="first"))"},
    {"mix: cycle", R"(mix(lines("book-0.txt", ranges=24, file_order="shuffled"), count(100).shuffle(), weights=[1, 2], stop="cycle"))"},
    {"mix: random, cycle", R"(mix(lines("book-0.txt", ranges=24), count(50).shuffle(), rule="random", stop="cycle", seed=14))"},

    {"mix: cycle, few repeats", R"(mix(lines("book-0.txt", ranges=24, file_order="shuffled").take(30), count(100).shuffle(), weights=[2, 1], stop="cycle", max_repeats=1))"},
    {"mix: random, cycle, few repeats", R"(mix(lines("book-0.txt", ranges=24), count(50).shuffle(), weights=[1, 5], rule="random", stop="cycle", seed=14, max_repeats=2).repeat(2))"},
    {"mix: schedule", R"(mix(lines("book-0.txt", ranges=24), count(200).shuffle(seed=12), weights=[0.7, 0.3], schedule=["2:1,3", "5:0,1", "9:1,1"]))"},
    {"mix: schedule, random, cycle, buffer", R"(mix(lines("book-0.txt", ranges=24), count(50).shuffle(), rule="random", stop="cycle", seed=14, schedule=["3:5,1", "4:0.5,1.5", "7:1,2"]).shuffle_buffer(60))"},

    // Operators that probe content: one round each.
    {"filter: by content", R"(lines("book-*.txt", ranges=8).filter("field_hash@1", field="text", keep=60))"},
    {"filter: by size", R"(tar_shards("shard-*.tar").shuffle(seed=15).filter("bytes_between@1", field="txt", min=5))"},
    {"filter: of packed files", R"(tar_stream("shard-*.tar.zst").filter("field_between@1", field="num", max=250))"},
    {"filter: passes little", R"(count(2600).filter("field_hash@1", field="value", keep=9))"},
    {"flat_map: looked", R"(lines("book-0.txt", ranges=24).flat_map("split@1", field="text", at=32))"},
    {"flat_map: chunks", R"(json_lines("docs-*.jsonl", ranges=8).map("select@1", fields=["n", "tokens"]).map("ragged@1", field="tokens").flat_map("chunks@1", field="tokens", length=6, overlap=2).map("truncate@1", field="tokens", length=5))"},
    {"map: fields", R"(json_lines("docs-*.jsonl", ranges=8).map("select@1", fields=["n", "tokens"]).map("ragged@1", field="tokens").map("concat_fields@1", fields=["tokens", "tokens"], into="twice", between=7).map("drop_fields@1", fields=["tokens", "none"]))"},
    {"map: tokens", R"(json_lines("docs-*.jsonl", ranges=8).map("select@1", fields=["n", "tokens"]).map("ragged@1", field="tokens").map("add_tokens@1", field="tokens", begin=[1, 2], end=[3]).map("loss_mask@1", field="tokens", begin=[2], end=[3]).filter("length_between@1", field="tokens", min=5))"},
    {"map: text", R"(lines("book-*.txt", ranges=8).map("normalize_text@1", field="text", spaces="all", lower=true).map("default_field@1", field="n", value=7).map("default_field@1", field="title", value="of%20no%20name").filter("text_quality@1", field="text", min_words=2, max_repeated_lines=0.5))"},
    {"map: tokenize", R"(json_lines("docs-*.jsonl", ranges=8).map("select@1", fields=["n", "text"]).map("tokenize@1", tokenizer="tokenizer.json", dtype="u16", add_special_tokens=true).filter("length_between@1", field="tokens", min=3))"},
    {"map: tokenize, buffer, pack", R"(lines("book-*.txt", ranges=8, file_order="shuffled", seed=19).map("tokenize@1", tokenizer="tokenizer.json", add_special_tokens=true).shuffle_buffer(60).pack("tokens", 24, bins=3, labels=true))"},
    {"map: sentencepiece", R"(json_lines("docs-*.jsonl", ranges=8).map("select@1", fields=["n", "text"]).map("sentencepiece@1", model="pieces.model", begin=true, end=true).filter("length_between@1", field="tokens", min=4))"},
    {"map: sentencepiece, buffer, pack", R"(lines("book-*.txt", ranges=8, file_order="shuffled", seed=19).map("sentencepiece@1", model="pieces.model", keep_text=true).shuffle_buffer(60).map("drop_fields@1", fields=["text"]).pack("tokens", 24, bins=3, labels=true))"},
    {"deduplicate", R"(lines("book-*.txt", ranges=8).flat_map("windows@1", field="text", length=2).deduplicate(["text"], keys=400))"},
    {"deduplicate: set, of a buffer", R"(json_lines("docs-*.jsonl", ranges=8).map("ragged@1", field="tokens").flat_map("copies@1", n=3).shuffle_buffer(96, seed=4).deduplicate(["tokens", "n"], keys=24000, kind="set").repeat(2))"},
    {"flat_map: windows, ragged", R"(json_lines("docs-*.jsonl", ranges=8).map("ragged@1", field="tokens").flat_map("windows@1", field="tokens", length=5).filter("bytes_between@1", field="tokens", min=20))"},
    {"flat_map: windows", R"(json_lines("docs-*.jsonl", ranges=8).flat_map("windows@1", field="tokens", length=9))"},
    {"scan: count", R"(lines("book-*.txt", ranges=8).scan("running_count@1", into="before"))"},
    {"scan: sum", R"(json_lines("docs-*.jsonl", ranges=8).scan("running_sum@1", field="n", into="sum"))"},
    {"mix: cost", R"(mix(json_lines("docs-1.jsonl", ranges=24), json_lines("docs-*.jsonl", ranges=8).filter("key_hash@1", keep=50), cost="tokens", weights=[1, 3]))"},
    {"mix: cost, cycle", R"(mix(json_lines("docs-1.jsonl", ranges=24), json_lines("docs-0.jsonl", ranges=24), cost="tokens", weights=[2, 3], stop="cycle"))"},
    {"mix: cost, schedule by cost", R"(mix(json_lines("docs-1.jsonl", ranges=24), json_lines("docs-0.jsonl", ranges=24), cost="tokens", weights=[3, 1], schedule=["400:1,3", "900:0,1"], schedule_by="cost"))"},
    {"mix: cost, schedule by cost, cycle, pack", R"(mix(json_lines("docs-1.jsonl", ranges=24), json_lines("docs-0.jsonl", ranges=24), cost="tokens", stop="cycle", max_repeats=2, schedule=["250:1,4"], schedule_by="cost").shuffle_buffer(50).pack("tokens", 24, bins=3))"},
    {"mix: cost, schedule", R"(mix(json_lines("docs-1.jsonl", ranges=24).filter("field_hash@1", field="tokens", keep=80), json_lines("docs-0.jsonl", ranges=24), cost="tokens", stop="cycle", temperature=2, weights=[4, 1], schedule=["2:1,9", "6:1,2"]).repeat(2))"},
    {"pack", R"(json_lines("docs-*.jsonl", ranges=8).pack("tokens", 24, bins=3))"},
    {"pack: of megatron, mixed", R"(mix(megatron("docs-a").shuffle(seed=9), megatron("docs-b").shuffle(seed=10), weights=[3, 1]).pack("tokens", 24, bins=3, split=true))"},
    {"pack: delimiter", R"(json_lines("docs-*.jsonl", ranges=8, file_order="shuffled").pack("tokens", 24, delimiter=[1], pad=7))"},
    {"pack: split", R"(json_lines("docs-*.jsonl", ranges=8).pack("tokens", 17, split=true, delimiter=[0]))"},
    {"pack: for a language model", R"(json_lines("docs-*.jsonl", ranges=8).pack("tokens", 11, bins=3, fit="best", cut="above", delimiter=[1], labels=true, cu_seqlens=true))"},
    {"pack: labels across cuts", R"(json_lines("docs-*.jsonl", ranges=8).pack("tokens", 17, cut="always", labels=true, ignore_index=-1, cu_seqlens=true).filter("field_between@1", field="longest", min=3))"},
    {"pack: without segments", R"(json_lines("docs-*.jsonl", ranges=8).pack("tokens", 17, split=true, segment=false, cu_seqlens=true))"},
    {"pack: with nothing but tokens", R"(json_lines("docs-*.jsonl", ranges=8).pack("tokens", 24, segment=false, offset=false))"},
    {"pack: bytes", R"(lines("book-*.txt", ranges=8).pack("text", 40, split=true))"},

    {"length_bucket", R"(json_lines("docs-*.jsonl", ranges=8).length_bucket("tokens", [4, 9], group=48, window=120))"},
    {"length_bucket: of pairs, small window", R"(lines("book-*.txt", ranges=8).filter("field_hash@1", field="text", keep=80).length_bucket("text", [3, 5, 8], group=48, window=53))"},
    {"length_bucket: twice", R"(lines("book-*.txt", ranges=8).length_bucket("text", [6], group=24, window=96).shuffle_buffer(60).length_bucket("text", [4, 12], group=72, window=72).pack("text", 30, bins=2))"},
    {"read_files", R"(lines("page-names.txt", ranges=24).read_files("lines"))"},
    {"read_files: tar", R"(json_lines("shard-names.jsonl", ranges=24, file_order="shuffled", seed=18).read_files("tar", field="file").shuffle_buffer(60))"},
    {"read_files: as they come", R"(once("names@1").read_files("lines", field="name", folder=".").filter("key_hash@1", keep=80))"},

    // Rounds below rounds.
    {"three rounds", R"(lines("book-*.txt", ranges=8).flat_map("split@1", field="text", at=32).filter("bytes_between@1", field="text", min=2).shuffle_buffer(60).pack("text", 30, bins=2))"},
    {"three rounds with passes", R"(json_lines("docs-0.jsonl", ranges=24).filter("field_hash@1", field="text", keep=95).repeat(2).flat_map("windows@1", field="tokens", length=9).repeat(2).scan("running_sum@1", field="n", into="sum"))"},
    {"repeat: of content", R"(tar_stream("shard-*.tar", file_order="shuffled").filter("field_hash@1", field="txt", keep=40).shuffle_buffer(48, seed=16).repeat(3))"},
    {"zip: of content", R"(zip(lines("book-*.txt", ranges=8).filter("field_hash@1", field="text", keep=60), tar_stream("shard-*.tar").filter("field_hash@1", field="txt", keep=80)))"},
    {"concat: of content", R"(concat(lines("book-0.txt", ranges=24).filter("field_hash@1", field="text", keep=50), lines("book-1.txt", ranges=24).flat_map("windows@1", field="text", length=9)).repeat(2))"},
    {"take: of content", R"(lines("book-*.txt", ranges=8).filter("field_hash@1", field="text", keep=80).skip(30).take(200).enumerate())"},
    {"mix: cycle over content", R"(mix(lines("book-0.txt", ranges=24, file_order="shuffled").filter("field_hash@1", field="text", keep=90).shuffle_buffer(48), lines("book-1.txt", ranges=24).flat_map("windows@1", field="text", length=15), stop="cycle").repeat(2))"},
    {"mix: of mixes", R"(mix(mix(lines("book-2.txt", ranges=24), lines("book-1.txt", ranges=24), stop="cycle").filter("field_hash@1", field="text", keep=50), lines("page-*.txt").filter("bytes_between@1", field="text", min=4), rule="random"))"},
    {"once: filter, pack", R"(standard_input().filter("field_hash@1", field="text", keep=90).flat_map("split@1", field="text", at=32).shuffle_buffer(50).pack("text", 12, bins=4))"},
    {"streams, filter, buffer, mix, pack", R"(
      a = json_lines("docs-*.jsonl", ranges=8, file_order="shuffled", seed=17).filter("field_hash@1", field="tokens", keep=70).shuffle_buffer(120, seed=1)
      b = json_lines("docs-*.jsonl", ranges=8).filter("field_hash@1", field="tokens", keep=50).shuffle_buffer(48, seed=2)
      mix(a, b, weights=[2, 1]).pack("tokens", 16, bins=4))"},
  };
  return all;
}
// clang-format on

} // namespace leat::test
