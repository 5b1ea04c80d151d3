#include "tests/support/command.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/piece_model_writer.hpp"
#include "tests/support/tar_members.hpp"
#include "tests/support/tar_writer.hpp"

#include <png.h>
#include <sys/stat.h>

// What scripts rely on: exit codes, JSON, orders of every kind, audits that find each fault, and
// pixels that any reader of PNGs can check.
namespace leat::test::command_test {
namespace {

/// Ids of an order one after the other.
std::vector<std::string> ids_of(const batch_table& order) {
  std::vector<std::string> ids;
  for (const auto& [key, rows] : order)
    for (const auto& row : rows)
      ids.push_back(row.id);
  return ids;
}

TEST_CASE("command: help exits with 0, bad usage with 2 and one line that says what") {
  command_bench x;
  x.make_photos(x.at / "data", 20, 2);
  std::filesystem::create_directories(x.at / "folder/cat");
  for (const auto& verb :
       words_of("make-data index tokens tokenize order run replay inspect verify bench graph")) {
    CAPTURE(verb);
    REQUIRE(contains(x.succeed({verb, "--help"}), "Usage: leat"));
    x.says({verb, "count:10", "--no-such-option"}, 2, {"leat " + verb + ": "});
  }
  words refused{"",
                "no-such-subcommand",
                "run",
                "graph",
                "run DIR/folder DIR/data/*.tar",
                "run DIR/folder DIR/folder",
                "order count:100 count:200",
                "replay count:100",
                "replay count:100 --step 1",
                "verify DIR/order",
                "order count:100 --workers 2"};
  for (const auto* rest :
       {"0", "ten", "100:0", "100 DIR/data/*.tar", "100 --lanes 7", "100 --global-batch 0",
        "100 --global-batch -4", "100 --shuffle some", "100 --end cycle", "100 --dispatch anyone",
        "100 --transform crop", "100 --bad-sample ignore", "100 --world-size 2 --rank 2",
        "100 --resize 3", "100 --fault slow:1", "100 --fault melt:1", "100 --resume"})
    refused.push_back(std::string{"run count:"} + rest);
  // There is one endless epoch, so there is no other one to print.
  x.pipeline(R"(count(5).scan("running_count@1", into="c").batch(1))");
  for (const std::string data : {" count:100 --end cycle", " --pipeline DIR/job.leat"})
    for (const auto* what : {"run --steps 2", "order --steps 2", "replay --step 1"})
      refused.push_back(what + data + " --epoch 1");
  for (const auto& line : refused)
    REQUIRE_FALSE(x.says(words_of(x.filled_in(line)), 2).errors.empty());
}

TEST_CASE("command: failures exit with 1 and name the file") {
  command_bench x;
  for (const auto& [line, name] : std::vector<std::pair<std::string, std::string>>{
           {"run DIR/none.tar", "none.tar"},
           {"run DIR/none-*.tar", "none-*.tar"},
           {"index DIR/none.tar", "none.tar"},
           {"run count:63", "empty epoch"},
           {"order count:63", "empty epoch"},
           {"inspect DIR/none", "none"},
           {"verify DIR/none DIR/log", "none"},
           {"run count:100 --log DIR/none/log", "none/log"},
           {"run count:100 --stats DIR/none/stats", "none/stats"},
           {"graph count:100 --svg DIR/none/graph.svg", "none/graph.svg"}})
    x.says(words_of(x.filled_in(line)), 1, {name});
}

TEST_CASE("command: files of lines and compressed archives work as they are") {
  command_bench x;
  std::string json;
  std::string text;
  tar_writer tar;
  for (int i = 0; i < 50; ++i) {
    const auto number = std::to_string(i);
    json += "{\"n\": " + number + "}\n";
    text += "line " + number + "\n";
    tar.file(number + ".txt", number);
  }
  tar.end();
  const std::vector<std::pair<std::string, std::string>> files{
      {"x.jsonl", json},          {"x.jsonl.gz", gzip(json)},      {"x.jsonl.zst", zstd(json)},
      {"y.JSONL.GZ", gzip(json)}, {"y.txt.Zst", zstd(text)},       {"x.txt", text},
      {"x.txt.gz", gzip(text)},   {"x.tar.gz", gzip(tar.bytes())}, {"x.tzst", zstd(tar.bytes())}};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    const auto file = x.at / name;
    std::ofstream{file, std::ios::binary} << content;
    // One pass, whose remainder is dropped, as for other data.
    REQUIRE(x.order({file, "--global-batch", "8"}, 1, x.at / "order").size() == 6);
    REQUIRE(x.ask({"run", file, "--global-batch", "8", "--log", x.at / (name + ".log")})["samples"]
            == 48);
    const auto report = x.verify({x.at / "order", x.at / (name + ".log")});
    REQUIRE(report["rows"] == 48);
    x.succeed({"graph", file});
    x.succeed({"replay", file, "--step", "3", "--global-batch", "8"});
    REQUIRE(x.ask({"index", file})["records"].is_null());
    // Data that is read in sequence has no such order.
    x.says({"order", file, "--shuffle", "full"}, 2);
  }
  // A notice about the single lane, with one remedy.
  const words job{"run", x.at / "x.jsonl", "--global-batch", "8"};
  x.says(job, 0, {"ranges=N"});
  x.says(job + words{"--world-size", "2"}, 2);
  const auto cut = x.says(job + words{"--ranges", "4", "--world-size", "2", "--json"}, 0);
  REQUIRE_FALSE(contains(cut.errors, "lane"));
  REQUIRE(json_lines(cut.output).back()["samples"] == 48);
}

TEST_CASE("command: a seed reaches the augmentation of compressed archives, and does not change "
          "the order") {
  command_bench x;
  x.make_photos(x.at / "data", 12, 1);
  const auto packed = x.at / "x.tar.gz";
  std::ofstream{packed, std::ios::binary} << gzip(read_file(x.at / "data/train-000000.tar"));
  const auto pixels_of = [&](const words& options) {
    const auto log = x.at / "log";
    std::filesystem::remove(log);
    x.order(words{packed, "--global-batch", "4"} + options, 1, x.at / "order");
    x.succeed(words{"run", packed, "--global-batch", "4", "--log", log} + options);
    REQUIRE(x.verify({x.at / "order", log})["rows"] == 12);
    std::vector<json> pixels;
    for (const auto& line : json_lines(read_file(log)))
      if (line.contains("pixels"))
        pixels.push_back({line["ids"], line["pixels"]});
    return pixels;
  };
  const auto plain = pixels_of({});
  REQUIRE(plain == pixels_of({"--seed", "0"}));
  const auto other = pixels_of({"--seed", "5"});
  REQUIRE(other == pixels_of({"--seed", "5"}));
  REQUIRE(other.size() == 3);
  for (std::size_t i = 0; i < other.size(); ++i) {
    REQUIRE(other[i][0] == plain[i][0]);
    REQUIRE(other[i][1] != plain[i][1]);
  }
}

TEST_CASE("command: data that cannot be read are a failure, not a wrong use") {
  command_bench x;
  x.write("x.parquet", "PAR1 and what is in it\x01");
  x.write("digits", "12345");
  x.write("cut", R"(raw_records("DIR/digits", type="u16", dims=[]).batch(1))");
  x.write("both", R"(zip(raw_records("DIR/digits", type="u16", dims=[]),
                         tar_shards("DIR/none.tar")).batch(1))");
  for (const auto& [line, text] : std::vector<std::pair<std::string, std::string>>{
           {"run DIR/x.parquet", "a Parquet file"},
           {"run DIR/x.parquet DIR/x.parquet", "twice"},
           {"order --pipeline DIR/cut", "drop_last=true"},
           {"order --pipeline DIR/both", "none.tar"},
           {"order --pipeline DIR", "got a directory"}})
    REQUIRE_FALSE(contains(x.says(words_of(x.filled_in(line)), 1, {text}).errors, "--help"));
}

TEST_CASE("command: the JSON of run is alone on its stream, with all that scripts read") {
  command_bench x;
  x.make_photos(x.at / "data", 96, 4);
  auto summary = x.ask(words{"run", x.at / "data/*.tar", "--snapshot-dir", x.at / "snapshots"}
                       + words_of("--global-batch 12 --epochs 2 --snapshot-every 3 --resume"));
  CAPTURE(summary);
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator{x.at / "data"})
    bytes += file.path().extension() == ".tar" ? file.file_size() : 0;
  REQUIRE(summary["samples"] == 192);
  REQUIRE(summary["seconds"] > 0);
  const double rate = summary["samples_per_second"];
  REQUIRE(std::abs(rate * summary["seconds"].get<double>() - 192) < 1);
  REQUIRE(summary["first_batch_seconds"] > 0);
  REQUIRE(summary["first_batch_seconds"] < 10);
  REQUIRE(summary["snapshot_bytes"] > 0);
  REQUIRE(summary["snapshot_bytes"] <= 2048);
  REQUIRE(summary["resident_bytes"] > 1'000'000);
  REQUIRE(summary["resident_bytes"] < 1'000'000'000);
  REQUIRE(summary["bytes_read"] > bytes); // in two epochs, of nearly whole shards
  REQUIRE(summary["bytes_read"] <= 2 * bytes);
  REQUIRE(summary["bad"] == json::object());

  auto state = x.ask({"inspect", x.at / "snapshots"});
  check_members(state, {{"epoch", 2}, {"step", 0}, {"digest", summary["digest"]}});
  auto part = x.ask({"inspect", x.at / "snapshots/epoch-1-step-7.rank-0-of-1"});
  check_members(part, {{"epoch", 1}, {"step", 7}});

  const auto short_bench =
      words{"bench", x.at / "data/*.tar"} + words_of("--workers 1 --rounds 1 --samples 64");
  auto bench = x.ask(short_bench);
  REQUIRE(bench["bare"] > 0);
  REQUIRE(bench["loader"] > 0);
  REQUIRE(bench["plain_ratio"] > 0);
  REQUIRE(bench["rounds"][0]["plain"] == bench["plain"]);
  REQUIRE(bench["decoding"]["images"] == bench["decoding"]["own"]);
  REQUIRE(bench["decoding"]["parts"].size() == 9);
  for (const auto& way : bench["decoding"]["ways"])
    REQUIRE(way["rate"] > 0);
  const auto shorter = x.ask(short_bench + words{"--no-plain", "--no-decode"});
  REQUIRE(!shorter.contains("plain"));
  REQUIRE(!shorter.contains("decoding"));
}

TEST_CASE("command: a snapshot's pipeline is printed as a file that means the same order") {
  command_bench x;
  x.make_photos(x.at / "data", 40, 2);
  const words job{x.at / "data/*.tar", "--global-batch", "12", "--lanes", "4", "--seed", "3"};
  x.succeed(words{"run"} + job + words{"--snapshot-dir", x.at / "snapshots"});
  const auto text = x.succeed({"inspect", x.at / "snapshots", "--pipeline"});
  CAPTURE(text);
  REQUIRE(text.substr(0, 11) == "tar_shards(");
  REQUIRE(contains(text, ".map(\"train_image@1\", field=\"jpg;jpeg\", size=224"));
  std::ofstream{x.at / "again"} << text;
  REQUIRE(ids_of(x.order({"--pipeline", x.at / "again"}, 2, x.at / "a"))
          == ids_of(x.order(job, 2, x.at / "b")));
  x.says({"inspect", x.at / "snapshots", "--pipeline", "--json"}, 2);
}

TEST_CASE("command: inspect shows what each round keeps, and steps that are left out") {
  command_bench x;
  std::string documents;
  for (int i = 0; i < 4000; ++i)
    documents += "document " + std::to_string(i * 7919 % 4001) + '\n';
  x.write("docs.txt", documents);
  const auto job = x.pipeline(R"(lines("DIR/docs.txt", ranges=4)
      .shuffle_buffer(400).filter("field_hash@1", field="text", keep=90)
      .pack("text", 64).batch(4, lanes=4))");
  x.succeed(words_of("run --steps 100 --world-size 2 --leave-out 20..22") + job
            + words{"--snapshot-dir", x.at / "snapshots"});
  const auto shown = x.ask({"inspect", x.at / "snapshots"});
  CAPTURE(shown);
  REQUIRE(shown["left_out"] == json{{20, 22}});
  const auto& state = shown["state"];
  // The buffer, the filter's place, open samples.
  const auto rounds = state["rounds"].get<std::vector<std::uint64_t>>();
  REQUIRE(rounds.size() == 3);
  REQUIRE(rounds[0] > 4 * 98);
  REQUIRE(rounds[0] < 400 * 64);
  REQUIRE(rounds[0] > rounds[1]);
  REQUIRE(rounds[1] > 0);
  REQUIRE(rounds[2] > 0);
  REQUIRE(state["bytes"] == rounds[0] + rounds[1] + rounds[2]);
  REQUIRE(state["largest_lane"] < state["bytes"]);
  REQUIRE(4 * state["largest_lane"].get<std::uint64_t>() >= state["bytes"]);
}

TEST_CASE("command: what the inputs of a mix gave, through a resume in another world, and tokens") {
  command_bench x;
  for (const std::string name : {"a", "b"}) {
    std::ofstream out{x.at / (name + ".txt")};
    for (int i = 0; i < 400; ++i)
      out << name << i % 37 << '\n';
  }
  const auto job = words{"run", "--snapshot-dir", x.at / "snapshots"}
                   + x.pipeline(R"(mix(lines("DIR/a.txt", ranges=4), lines("DIR/b.txt", ranges=4),
      weights=[3, 1], cost="text").pack("text", 16).batch(4, lanes=4))");
  const auto mixes_at = [&](const words& more) {
    const auto summary = x.ask(job + more);
    CAPTURE(summary);
    REQUIRE(summary["tokens"].get<std::uint64_t>() == 16 * summary["samples"].get<std::uint64_t>());
    REQUIRE(summary["tokens_per_second"] > 0);
    const auto shown = x.ask({"inspect", x.at / "snapshots"});
    REQUIRE(shown["mixes"] == summary["mixes"]);
    return shown["mixes"];
  };
  const auto before = mixes_at({"--steps", "8", "--world-size", "2"});
  const auto after = mixes_at({"--steps", "20", "--resume"});
  REQUIRE(after[0]["cost"] == "text");
  const auto input = [](const json& mixes, std::size_t i) { return mixes[0]["inputs"][i]; };
  REQUIRE(input(after, 0)["name"] == x.at / "a.txt");
  for (std::size_t i = 0; i < 2; ++i)
    REQUIRE(input(after, i)["cost"] > input(before, i)["cost"]);
  REQUIRE(std::abs(input(after, 0)["share"].get<double>() - 0.75) < 0.05);

  std::filesystem::remove_all(x.at / "snapshots");
  REQUIRE(mixes_at({"--steps", "20"}) == after);
  const auto text = x.succeed({"inspect", x.at / "snapshots"});
  REQUIRE(contains(text, "\nmix           " + (x.at / "a.txt") + ": 7"));
}

TEST_CASE("command: the stored order, lanes and steps") {
  command_bench x;
  const words job{"count:1000", "--global-batch", "60"};
  auto stored = ids_of(x.order(job + words{"--shuffle", "none", "--lanes", "12"}, 1, x.at / "a"));
  REQUIRE(stored.size() == 960);
  for (std::size_t p = 0; p < stored.size(); ++p)
    REQUIRE(stored[p] == "count/" + std::to_string(p));
  const auto full = x.order(job, 2, x.at / "order");
  auto epochs = std::pair{ids_of(batch_table{full.begin(), full.lower_bound({1, 0})}),
                          ids_of(batch_table{full.lower_bound({1, 0}), full.end()})};
  REQUIRE(std::set<std::string>{epochs.first.begin(), epochs.first.end()}.size() == 960);
  REQUIRE(epochs.first != epochs.second);
  REQUIRE(epochs.first != ids_of(x.order(job + words{"--seed", "1"}, 1, x.at / "b")));
  REQUIRE(epochs.first == ids_of(x.order(job + words{"--seed", "0"}, 1, x.at / "b")));
  const auto some = x.order(job + words{"--steps", "3"}, 1, x.at / "b");
  REQUIRE(some == batch_table{full.begin(), full.find({0, 3})});
  auto late = x.ask(words{"run"} + job + words{"--epoch", "1", "--log", x.at / "log"});
  REQUIRE(late["samples"] == 960);
  REQUIRE(check_sequence(batches_of(x.at / "log"), full, {1, 0}, 1) == full.end());
  // Steps count from epoch 0, whatever the epoch to begin with.
  late = x.ask(words{"run"} + job + words{"--epoch", "1", "--steps", "20", "--log", x.at / "late"});
  REQUIRE(check_sequence(batches_of(x.at / "late"), full, {1, 0}, 1)->first == step_key{1, 4});
}

TEST_CASE("command: shards in the order given, braces as written, globs by bytes") {
  command_bench x;
  for (const std::string name : {"b", "a", "c10", "c9"}) {
    tar_writer tar;
    for (int i = 0; i < 3; ++i)
      tar.file(std::to_string(i) + ".txt", name);
    tar.end().save(x.at / (name + ".tar"));
  }
  auto shards = [&](const words& data) {
    auto ids = ids_of(
        x.order(data + words{"--shuffle", "none", "--global-batch", "1"}, 1, x.at / "order"));
    words names;
    for (const auto& id : ids) {
      auto shard = id.substr(0, id.find(".tar/"));
      if (names.empty() || names.back() != shard)
        names.push_back(shard);
    }
    return names;
  };
  REQUIRE(shards({x.at / "b.tar", x.at / "a.tar"}) == words{"b", "a"});
  REQUIRE(shards({x.at / "{c9,a}.tar", x.at / "b.tar"}) == words{"c9", "a", "b"});
  REQUIRE(shards({x.at / "c{9..10}.tar"}) == words{"c9", "c10"});
  REQUIRE(shards({x.at / "c*.tar"}) == words{"c10", "c9"});
  REQUIRE(shards({x.at / "?.tar", x.at / "c9.tar"}) == words{"a", "b", "c9"});

  // Windowed: files as a whole, each record once, the same from all ranks and workers.
  const auto windowed =
      words{x.at / "*.tar"} + words_of("--shuffle windowed --window 2 --global-batch 4");
  const auto due = x.order(windowed, 2, x.at / "order");
  REQUIRE(due.size() == 6);
  x.succeed(words_of("run --epochs 2 --world-size 3 --workers 2") + windowed
            + words{"--log", x.at / "log"});
  REQUIRE(check_sequence(batches_of(x.at / "log"), due, {0, 0}, 3) == due.end());
}

struct rgb_picture {
  std::size_t width;
  std::size_t height;
  std::vector<std::uint8_t> pixels;
};

rgb_picture read_png(const std::string& file) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&info, file.c_str()) != 0);
  REQUIRE(info.format == PNG_FORMAT_RGB);
  rgb_picture result{info.width, info.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(info))};
  REQUIRE(png_image_finish_read(&info, nullptr, result.pixels.data(), 0, nullptr) != 0);
  return result;
}

/// The 224 x 224 pixels that begin there.
std::vector<std::uint8_t> part_of(const rgb_picture& x, std::size_t left, std::size_t top) {
  std::vector<std::uint8_t> part;
  for (std::size_t row = top; row < top + 224; ++row) {
    const auto begin = x.pixels.begin() + static_cast<std::ptrdiff_t>(3 * (row * x.width + left));
    part.insert(part.end(), begin, begin + std::ptrdiff_t{3} * 224);
  }
  return part;
}

/// The row's bytes as a trainer got them: uint8 [height, width, 3], then the int64 label.
std::string trained_bytes(const rgb_picture& x, std::int64_t label) {
  return std::string{x.pixels.begin(), x.pixels.end()}
         + little_endian(static_cast<std::uint64_t>(label));
}

/// Writes the same job with unnormalized pixels to a file.
std::string unnormalized(const command_bench& x, const words& job) {
  x.succeed(words{"run"} + job + words{"--steps", "1", "--snapshot-dir", x.at / "form"});
  auto text = x.succeed({"inspect", x.at / "form", "--pipeline"});
  for (const auto& [from, to] :
       {std::pair{"type=\"f32\"", "type=\"u8\""}, {"layout=\"nchw\"", "layout=\"nhwc\""}}) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::strlen(from), to);
  }
  std::ofstream{x.at / "form.leat"} << text;
  return x.at / "form.leat";
}

using label_function = std::function<std::int64_t(const std::string& id)>;

/// Replays a step of a run, and makes the pixel hashes of its log from the pictures.
void check_replay(const command_bench& x, const words& job, const std::string& log, step_key at,
                  const label_function& label) {
  const auto rows = table_of(batches_of(log)).at(at);
  const auto directory = x.at / ("images-" + std::to_string(at.first));
  auto replayed =
      x.ask(words{"replay"} + job
            + words{"--epoch", std::to_string(at.first), "--step", std::to_string(at.second),
                    "--images", directory, "--sheet", x.at / "sheet.png"});
  const auto sheet = read_png(x.at / "sheet.png");
  REQUIRE(sheet.width == std::min<std::size_t>(8, rows.size()) * 226 + 2);
  REQUIRE(sheet.height == (rows.size() + 7) / 8 * 226 + 2);
  const logged_batch line{replayed};
  REQUIRE(line.rows.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i]);
    REQUIRE(line.rows[i].position == rows[i].position);
    REQUIRE(line.rows[i].id == rows[i].id);
    const auto picture = read_png(directory + "/" + std::to_string(rows[i].position) + ".png");
    REQUIRE(picture.width == 224);
    REQUIRE(picture.height == 224);
    REQUIRE(part_of(sheet, i % 8 * 226 + 2, i / 8 * 226 + 2) == picture.pixels);
    REQUIRE(hash_sum{}
                .add(little_endian(rows[i].position) + trained_bytes(picture, label(rows[i].id)))
                .text()
            == rows[i].pixels);
  }
  REQUIRE(
      static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{directory}, {}))
      == rows.size());
}

TEST_CASE("command: replayed pictures are the pixels of the log of a run without normalize") {
  for (const std::string transform : {"train224", "eval224"}) {
    CAPTURE(transform);
    command_bench x;
    x.make_photos(x.at / "data", 40, 2);
    const auto job = words{x.at / "data/*.tar"}
                     + words_of("--global-batch 12 --seed 11 --transform " + transform);
    x.succeed(words_of("run --epochs 2 --world-size 2 --workers 2 --pipeline")
              + words{unnormalized(x, job), "--log", x.at / "log"});
    const auto label = [&](const std::string& id) {
      const auto slash = id.find('/');
      for (const auto& [name, content] :
           members_of(read_file(x.at / ("data/" + id.substr(0, slash)))))
        if (name == id.substr(slash + 1) + ".cls")
          return std::stoll(content);
      throw std::out_of_range(id);
    };
    check_replay(x, job, x.at / "log", {0, 2}, label);
    check_replay(x, job, x.at / "log", {1, 1}, label);
  }
}

TEST_CASE("command: index finds rows of JPEGs once, and pixels stay as they were") {
  command_bench x;
  x.make_photos(x.at / "data", 40, 2);
  const words job{x.at / "data/*.tar", "--index-dir", x.at / "index", "--global-batch", "8"};
  auto pixels = [&](const std::string& log) {
    x.succeed(words{"run"} + job + words{"--workers", "2", "--log", log});
    std::vector<std::string> hashes;
    for (const auto& batch : batches_of(log))
      for (const auto& row : batch.rows)
        hashes.push_back(row.pixels);
    return hashes;
  };
  const words index{"index", x.at / "data/*.tar", "--index-dir", x.at / "index"};
  REQUIRE(x.ask(index + words{"--no-row-index"}).contains("images") == false);
  const auto before = pixels(x.at / "before");
  const auto built = x.ask(index);
  CAPTURE(built);
  check_members(built, {{"images", 40}, {"images_indexed", 40}});
  REQUIRE(built["row_index_bytes"] > 0);
  REQUIRE(built["row_index_gain"] > 0);
  REQUIRE(built["work_places_bytes"] > 0);
  REQUIRE(built["row_index_completed"] == 0);
  REQUIRE(x.ask(index)["row_index_bytes"] == built["row_index_bytes"]);
  const auto shown = x.succeed(index);
  REQUIRE(contains(shown, "rows     40 of 40 JPEGs, "));
  REQUIRE(contains(shown, "% of theirs), for decoding on a GPU\n"));
  REQUIRE(before.size() == 40);
  REQUIRE(pixels(x.at / "after") == before);
}

TEST_CASE("command: a folder of images, with classes in bytewise order") {
  command_bench x;
  std::uint32_t number = 0;
  const std::vector<std::string> classes{"Zebra", "ant", "bee"};
  for (const auto& name : classes)
    for (int i = 0; i < 5; ++i) {
      std::filesystem::create_directories(x.at / ("folder/" + name));
      const auto photo = write_jpeg(300, 260, {}, ++number);
      tar_writer::write(x.at / ("folder/" + name + "/" + std::to_string(i) + ".jpg"),
                        {reinterpret_cast<const char*>(photo.data()), photo.size()});
    }
  const words job{x.at / "folder", "--global-batch", "4", "--end", "mask"};
  const auto due = x.order(job, 1, x.at / "order");
  const auto ids = ids_of(due);
  const std::set<std::string> unique{ids.begin(), ids.end()};
  REQUIRE(unique.size() == 15);
  REQUIRE(unique.contains("Zebra/0.jpg"));
  REQUIRE(x.ask({"index", x.at / "folder"})["classes"] == json(classes));
  REQUIRE(contains(x.succeed({"index", x.at / "folder"}), "classes  3: 0 Zebra, 1 ant, 2 bee\n"));
  x.succeed(words{"run"} + job + words{"--world-size", "2", "--log", x.at / "log"});
  REQUIRE(check_sequence(batches_of(x.at / "log"), due, {0, 0}, 2) == due.end());
  x.succeed({"run", "--pipeline", unnormalized(x, job), "--end", "mask", "--log", x.at / "pixels"});
  check_replay(x, job, x.at / "pixels", {0, 3}, [&](const std::string& id) {
    auto name = id.substr(0, id.find('/'));
    return std::find(classes.begin(), classes.end(), name) - classes.begin();
  });
}

TEST_CASE("command: transform none hands over the fields as they are") {
  command_bench x;
  tar_writer tar;
  const std::string text(1000, 'x');
  for (int i = 0; i < 8; ++i)
    tar.file("s" + std::to_string(i) + ".cls", std::to_string(i))
        .file("s" + std::to_string(i) + ".txt", text.substr(static_cast<std::size_t>(i) * 50));
  tar.end().save(x.at / "a.tar");
  x.succeed({"run", x.at / "a.tar", "--global-batch", "4", "--log", x.at / "log"});
  std::size_t rows = 0;
  for (const auto& batch : batches_of(x.at / "log"))
    for (const auto& row : batch.rows) {
      ++rows;
      const auto number = row.id.back() - '0';
      REQUIRE(row.pixels
              == hash_sum{}
                     .add(little_endian(row.position) + std::to_string(number)
                          + text.substr(static_cast<std::size_t>(number) * 50))
                     .text());
    }
  REQUIRE(rows == 8);
}

TEST_CASE("command: ranks in processes of their own hand over what ranks of one process do") {
  command_bench x;
  const words job{"count:500:12", "--global-batch", "50"};
  const auto due = x.order(job, 1, x.at / "order");
  words logs;
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::string joined;
    for (int rank = 0; rank < 3; ++rank) {
      const auto log = x.at / ("log-" + std::to_string(attempt) + std::to_string(rank));
      x.succeed(words_of("run --world-size 3 --rank " + std::to_string(rank)
                         + (attempt == 0 ? " --steps 4" : " --epochs 1 --resume"))
                + job + words{"--log", log, "--snapshot-dir", x.at / "snapshots"});
      joined += (joined.empty() ? "" : ",") + log;
    }
    logs.push_back(joined);
  }
  REQUIRE(std::filesystem::exists(x.at / "snapshots/epoch-1-step-0.rank-2-of-3"));
  auto verdict = x.verify(words{x.at / "order"} + logs);
  check_members(verdict, {{"attempts", 2}, {"rows", 500}});
  REQUIRE(x.ask({"inspect", x.at / "snapshots"})["digest"] == verdict["digest"]);
}

TEST_CASE("command: verify counts each kind of fault, which command_audit_test has one by one") {
  command_bench x;
  const words job{"count:100:12", "--global-batch", "20"};
  x.order(job, 1, x.at / "order");
  x.succeed(words{"run"} + job + words{"--log", x.at / "log"});
  auto lines = json_lines(read_file(x.at / "log")); // a header, and the steps from 0 on
  std::swap(lines.at(2)["ids"][3], lines.at(2)["ids"][4]);
  lines.at(3)["ids"][5] = "count/1000";
  lines.at(4)["ids"][6] = lines.at(5)["ids"][7];
  std::ofstream out{x.at / "tampered"};
  for (const auto& line : lines)
    out << line << '\n';
  out.close();
  const auto verdict = x.verify({x.at / "order", x.at / "tampered"});
  // The digests of three steps are changed.
  check_members(verdict,
                {{"lost", 2}, {"repeated", 1}, {"moved", 2}, {"changed", 3}, {"extra", 1}});
}

TEST_CASE("command: a slow worker gets few rows on demand, and its equal share in turn") {
  command_bench x;
  const words job{"count:600:12", "--global-batch", "20"};
  const auto due = x.order(job, 1, x.at / "order");
  std::map<std::string, std::vector<json>> workers;
  for (const auto& policy : policy_names) {
    x.succeed(words_of("run --workers 4 --fault slow:2,4 --dispatch " + policy) + job
              + words{"--stats", x.at / policy, "--log", x.at / (policy + ".log")});
    REQUIRE(check_sequence(batches_of(x.at / (policy + ".log")), due, {0, 0}, 1) == due.end());
    const auto stats = json::parse(read_file(x.at / policy));
    std::uint64_t rows = 0;
    for (const auto& worker : stats["workers"]) {
      check_members(worker, {{"rank", 0}, {"worker", workers[policy].size()}});
      rows += worker["rows_done"].get<std::uint64_t>();
      workers[policy].push_back(worker);
    }
    REQUIRE(workers[policy].size() == 4);
    REQUIRE(rows == 600);
  }
  auto done = [&](const char* policy, std::size_t n) {
    return workers[policy][n]["rows_done"].get<int>();
  };
  auto busy = [&](const char* policy, std::size_t n) {
    return workers[policy][n]["busy_seconds"].get<double>();
  };
  for (const auto* policy : {"round_robin", "by_lane"}) {
    REQUIRE(done(policy, 2) == 150);
    REQUIRE(busy(policy, 2) > 0.5); // 150 rows of 4 ms
    for (std::size_t other : {0, 1, 3})
      REQUIRE(busy(policy, other) < busy(policy, 2) / 5);
  }
  REQUIRE(done("on_demand", 2) < 75);
}

TEST_CASE("command: tokens counts documents, bytes and tokens of texts") {
  command_bench x;
  const auto model = x.at / "a.model";
  // A unigram model: an unknown piece, a space, "a", "b", and "ab", which is better than both.
  tar_writer::write(model, piece("<unk>", 0, 2) + piece("\u2581", -3, 1) + piece("a", -2, 1)
                               + piece("b", -2, 1) + piece("ab", -1, 1) + unigram());
  tar_writer::write(x.at / "a.txt", "ab\n\naab b\n");
  tar_writer::write(x.at / "b.txt", "\xff\n");
  const auto text = x.ask({"tokens", x.at / "a.txt", "--tokenizer", model});
  // A space is before each text that is not empty.
  check_members(
      text,
      {{"documents", 3}, {"bytes", 7}, {"tokens", 7}, {"longest", 5}, {"bad", json::object()}});
  tar_writer::write(x.at / "a.jsonl", "{\"a\": \"ab\", \"b\": 1}\n{\"a\": \"b\"}\n{\"b\": 1}\n");
  const auto lines = x.ask({"tokens", x.at / "a.jsonl", "--tokenizer", model, "--field", "a"});
  check_members(lines, {{"documents", 2}, {"tokens", 4}});
  CHECK(lines["bad"]["missing_field"] == 1);
  CHECK(x.ask({"tokens", x.at / "?.txt", "--tokenizer", model})["bad"]["corrupt"] == 1);
  CHECK(contains(x.succeed({"tokens", x.at / "a.txt", "--tokenizer", model}),
                 "tokens     7: 2.3 per document, 5 at most"));
  x.says({"tokens", x.at / "a.txt", "--tokenizer", x.at / "a.txt"}, 1, {"a.txt"});
}

TEST_CASE("command: files of ranks without an encoding are refused with the names of encodings") {
  command_bench x;
  tar_writer::write(x.at / "a.txt", "ab\n");
  for (const auto* name : {"a.tiktoken", "tokenizer.model", "a.json"}) {
    tar_writer::write(x.at / name, "IQ== 0\nYWI= 1\n");
    x.says({"tokens", x.at / "a.txt", "--tokenizer", x.at / name}, 1,
           {name, "a file of ranks", "--encoding", "cl100k_base, o200k_base"});
  }
}

TEST_CASE("command: a job reads a pipe from its first byte") {
  command_bench x;
  std::string lines;
  for (int i = 0; i < 3000; ++i)
    lines += "line " + std::to_string(i) + "\n";
  const auto job = [&](const std::string& name) {
    return x.pipeline("lines(\"" + name + "\").batch(100, end=\"mask\")");
  };
  tar_writer::write(x.at / "x.txt", lines);
  tar_writer::write(x.at / "x.txt.gz", gzip(lines));
  for (const std::string file : {"x.txt", "x.txt.gz"})
    for (const auto* workers : {"0", "2"}) {
      CAPTURE(file, workers);
      const auto log = x.at / "log";
      std::filesystem::remove(log);
      x.succeed(words{"run"} + job(x.at / file) + words{"--workers", workers, "--log", log});
      const auto due = batches_of(log);
      std::filesystem::remove(log);
      const auto pipe = x.at / ("pipe" + file.substr(1));
      std::filesystem::remove(pipe);
      REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
      x.says(words{"run"} + job(pipe) + words{"--workers", workers, "--log", log}, 0, {},
             "cat '" + (x.at / file) + "' > '" + pipe + "' &");
      const auto got = batches_of(log);
      REQUIRE(got.size() == 30);
      REQUIRE(due.size() == 30);
      const auto line_of = [](const logged_row& row) { return row.id.substr(row.id.rfind('/')); };
      for (std::size_t i = 0; i < got.size(); ++i) {
        REQUIRE(got[i].rows.size() == due[i].rows.size());
        for (std::size_t k = 0; k < got[i].rows.size(); ++k) {
          REQUIRE(line_of(got[i].rows[k]) == line_of(due[i].rows[k]));
          REQUIRE(got[i].rows[k].pixels == due[i].rows[k].pixels);
        }
      }
    }
}

TEST_CASE("command: synthetic data is the same for the same options") {
  command_bench x;
  for (const auto* line : {"DIR/a --seed 5", "DIR/b --seed 5", "DIR/c --seed 6"})
    x.succeed(words_of("make-data --samples 20 --shards 2 " + x.filled_in(line)));
  const auto shard = read_file(x.at / "a/train-000001.tar");
  REQUIRE_FALSE(shard.empty());
  REQUIRE(read_file(x.at / "b/train-000001.tar") == shard);
  REQUIRE(read_file(x.at / "c/train-000001.tar") != shard);
  auto index = x.ask({"index", x.at / "a/*.tar"});
  check_members(index, {{"records", 20}, {"files", 2}});
}

} // namespace
} // namespace leat::test::command_test
