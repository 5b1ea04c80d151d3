#include "tests/conformance/data.hpp"

#include "tests/support/megatron_writer.hpp"
#include "tests/support/npy_writer.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/piece_model_writer.hpp"
#include "tests/support/tar_writer.hpp"

#include <leat/notice.hpp>
#include <leat/once.hpp>
#include <leat/pipeline.hpp>
#include <leat/source.hpp>
#include <leat/streams.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat::test {

namespace {

constexpr std::uint64_t records = 240;
constexpr std::uint64_t units = 24;
/// Small, so that reading resumes in the middle of a compressed file.
constexpr std::size_t packed_part = 2000;

/// "07"
std::string two_digits(std::uint64_t i) {
  return {static_cast<char>('0' + i / 10), static_cast<char>('0' + i % 10)};
}

/// 6 to 14 per unit.
std::uint64_t size_of_unit(std::uint64_t unit) {
  return 6 + unit * 7 % 9;
}

/// Words of different lengths, none to four.
std::string words(std::uint64_t i) {
  std::string text;
  for (std::uint64_t word = 0; word < i * 11 % 5; ++word)
    text += (word == 0 ? "" : " ") + std::to_string(i * 37 % 1000 * (word + 1));
  return text;
}

void write(const std::string& name, const std::string& bytes) {
  tar_writer::write(name, bytes);
}

void write_packed(const std::string& name, const std::string& bytes) {
  write(name, bytes);
  write(name + ".gz", pack_in_parts(bytes, packed_part, [](auto x) { return gzip(x); }));
  write(name + ".zst", pack_in_parts(bytes, packed_part, [](auto x) { return zstd(x); }));
}

void write_shards() {
  std::uint64_t number = 0;
  for (std::uint64_t unit = 0; unit < units; ++unit) {
    tar_writer shard;
    for (std::uint64_t i = 0; i < size_of_unit(unit); ++i, ++number)
      shard.file(two_digits(i) + ".txt", words(number))
          .file(two_digits(i) + ".num", std::to_string(number));
    write_packed("shard-" + two_digits(unit) + ".tar", shard.end().bytes());
  }
}

void write_pages() {
  for (std::uint64_t unit = 0; unit < units; ++unit) {
    std::string page;
    for (std::uint64_t i = 0; i < size_of_unit(unit); ++i)
      page += words(unit * 100 + i) + '\n';
    write_packed("page-" + two_digits(unit) + ".txt", page);
  }
}

/// Writes a file with one line that is longer than all others together, so that most ranges of the
/// file have no line.
void write_gap() {
  std::string lines;
  for (std::uint64_t i = 0; i < 80; ++i)
    lines += i == 40 ? std::string(2000, 'x') + '\n' : two_digits(i) + "ab\n";
  write("gap.txt", lines);
}

void write_books() {
  for (const std::string name : {"0", "1", "2"}) {
    std::string book;
    for (std::uint64_t i = 0; i < records / 3; ++i)
      book += name + words(i) + '\n';
    book.pop_back(); // the last line needs no newline
    write("book-" + name + ".txt", book);
  }
  write_gap();
}

/// A JSON object with a text, a number and a list; a blank line may follow.
std::string document(std::uint64_t i) {
  std::string tokens;
  for (std::uint64_t k = 0; k < i * 5 % 14; ++k)
    tokens += (k == 0 ? "" : ",") + std::to_string(i + k);
  return R"({"n":)" + std::to_string(i) + R"(,"text":")" + words(i) + R"(","tokens":[)" + tokens
         + "]}\n"
         + (i % 7 == 3    ? "\n"
            : i % 11 == 5 ? " \r\n"
                          : "");
}

void write_documents() {
  for (std::uint64_t file = 0; file < 3; ++file) {
    std::string text;
    for (std::uint64_t i = 0; i < records / 3; ++i)
      text += document(1000 * file + i);
    write("docs-" + std::to_string(file) + ".jsonl", text);
  }
  std::string odd;
  for (std::uint64_t i = 0; i < records; ++i)
    odd += i % 9 == 4 ? "no object\n" : document(i);
  write("odd.jsonl", odd);
}

/// Lists of files: of pages, and of shards, uncompressed and compressed in turn.
void write_names() {
  std::string pages;
  std::string shards;
  for (std::uint64_t unit = 0; unit < units; ++unit) {
    pages += "page-" + two_digits(unit) + ".txt\n\n"; // blank lines are no names
    const char* const endings[] = {"", ".gz", ".zst"};
    shards += R"({"file":"shard-)" + two_digits(unit) + ".tar" + endings[unit % 3] + "\"}\n";
  }
  write("page-names.txt", pages);
  write("shard-names.jsonl", shards);
}

void write_images() {
  for (std::uint64_t i = 0; i < records; ++i) {
    const auto folder = "images/" + std::string(1, static_cast<char>('a' + i % 3));
    std::filesystem::create_directories(folder);
    write(folder + "/" + std::to_string(i) + ".jpg", "image " + words(i));
  }
}

void write_values() {
  std::string bytes(records * 2 * sizeof(float), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * 7 % 64); // no NaN among them
  write("values.f32", bytes);
}

/// Files of tokens, an array of NumPy, and two data sets of Megatron-LM.
void write_tokens() {
  const auto bytes = [](std::size_t n) {
    std::string x(n, '\0');
    for (std::size_t i = 0; i < n; ++i)
      x[i] = static_cast<char>(i * 11 % 251);
    return x;
  };
  for (std::size_t file = 0; file < 5; ++file)
    write("tokens-" + two_digits(file) + ".bin", bytes(2 * (700 * file % 1100 + 30)));
  write("rows.npy", npy_bytes("<i4", "(240, 3)", bytes(240 * 3 * 4)));
  for (const std::string name : {"a", "b"}) {
    megatron_writer documents{dtype::u16};
    for (std::uint64_t i = 0; i < records / 2; ++i)
      documents.document({bytes(2 * (i * 7 % 23)), bytes(2 * (i * 5 % 4))});
    documents.save("docs-" + name);
  }
}

/// Tokens of digits and spaces, of a few pairs of them, and of an end.
void write_tokenizer() {
  write("tokenizer.json", R"({
    "added_tokens": [{"id": 15, "content": "<end>", "special": true, "normalized": false}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}},
      {"SpecialToken": {"id": "<end>"}}], "special_tokens": {"<end>": {"ids": [15]}}},
    "model": {"type": "BPE", "vocab": {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6,
      "7": 7, "8": 8, "9": 9, "\u0120": 10, "11": 11, "37": 12, "\u01207": 13, "370": 14},
      "merges": ["1 1", "3 7", "\u0120 7", "37 0"]}})");
}

/// Pieces of digits and spaces, of a few pairs of them, and of a beginning and an end.
void write_piece_model() {
  auto model = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3);
  for (const auto* text : {"\u2581", "0", "1", "2", "3", "4", "5", "6", "7", "8"})
    model += piece(text, -4, 1); // a 9 is unknown
  model += piece("11", -5, 1) + piece("37", -6, 1) + piece("\u25817", -5, 1) + piece("370", -7, 1);
  write("pieces.model", model + unigram());
}

/// Has files of unequal length, so that a windowed shuffle has something to do.
class numbers final : public source {
public:
  std::uint64_t size() const override { return records; }
  void read(std::uint64_t record, sample& into) const override { into.set("number", record); }
  std::string name() const override { return "numbers"; }
  std::vector<std::uint64_t> records_per_file() const override {
    std::vector<std::uint64_t> files;
    for (std::uint64_t left = records, i = 0; left > 0; left -= files.back(), ++i)
      files.push_back(std::min(left, size_of_unit(i)));
    return files;
  }
};

/// A reader that can only resume from the beginning.
class march : public sequential_reader {
public:
  explicit march(std::uint64_t unit) : unit_(unit) {}

  bool next(sample& into) override {
    if (at_ == size_of_unit(unit_))
      return false;
    into.set("number", 1000 * unit_ + at_);
    ++at_;
    return true;
  }

protected:
  std::uint64_t unit_;
  std::uint64_t at_ = 0;
};

class walk final : public march {
public:
  using march::march;

  std::optional<std::string> save() const override { return std::to_string(at_); }
  void load(const std::string& state) override { at_ = std::stoull(state); }
};

std::atomic<std::uint64_t> queued = 0;
std::atomic<std::uint64_t> named = 0;

/// queue@1: gives each record once, whoever asks.
bool take_from_queue(sample& into) {
  const auto number = queued.fetch_add(1);
  into.set("number", number);
  return number < records;
}

/// names@1: names of compressed pages.
bool take_name(sample& into) {
  const auto unit = named.fetch_add(1);
  if (unit >= units)
    return false;
  const auto name = "page-" + two_digits(unit) + ".txt.gz";
  into.set("name", std::string_view{name});
  return true;
}

void register_functions() {
  register_source("numbers@1", std::make_shared<numbers>());
  register_sequential("walk@1", [](std::uint64_t unit) { return std::make_unique<walk>(unit); });
  register_sequential("march@1", [](std::uint64_t unit) { return std::make_unique<march>(unit); });
  register_once("queue@1", take_from_queue);
  register_once("names@1", take_name);
  register_map("noise@1", [](const std::string&) {
    const auto draw = [](sample& x, context& c) { x.set("noise", c.rng().bits64()); };
    return map_stage{.name = "noise@1", .make = [draw] { return map_function{draw}; }};
  });
}

} // namespace

conformance_data::conformance_data() : before_(std::filesystem::current_path()) {
  std::filesystem::current_path(at_.path());
  write_shards();
  write_pages();
  write_books();
  write_documents();
  write_names();
  write_images();
  write_values();
  write_tokens();
  write_tokenizer();
  write_piece_model();
  register_functions();
  // These pipelines are meant to resume inside compressed files, so notices would only disturb.
  set_notice_handler([](const std::string&) {});
}

conformance_data::~conformance_data() {
  set_notice_handler({});
  std::filesystem::current_path(before_);
}

once_records::once_records() : input_(pipe_.out()) {
  std::string lines;
  for (std::uint64_t i = 0; i < records; ++i)
    lines += words(i) + '\n';
  pipe_.write(lines); // fewer than a pipe holds
  pipe_.close_in();
  queued = 0;
  named = 0;
}

} // namespace leat::test
