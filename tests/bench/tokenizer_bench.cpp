// Texts to tokens: the bare tokenizer in one thread, warm and on its first megabyte, beside jobs
// that read the same texts from JSON lines and make the tokens, with nothing after that, with
// length_bucket, with token_budget, and with a buffer and packs of 4,096: CPU time of one thread,
// and for the last one wall-clock time with two workers, which says something only on a machine
// with nothing else to do. LEAT_BENCH_TOKENIZER names a tokenizer.json, and LEAT_BENCH_TEXTS a file
// of JSON lines with a field "text"; without them both are made up.

#include "tests/bench/harness.hpp"

#include <leat/leat.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leat::bench {

namespace {

constexpr std::size_t made_documents = 12'000;
constexpr std::size_t made_words = 20'000;
constexpr std::uint64_t pack_length = 4096;
constexpr std::uint64_t rows_per_batch = 32;

std::string some_word(rng& random) {
  constexpr std::string_view letters = "etaoinshrdlucmfwypvbgkjqxz";
  std::string word;
  for (auto n = 2 + random.below(8); n > 0; --n)
    word += letters[std::min(random.below(26), random.below(26))];
  return word;
}

/// Documents of words that are as frequent as words are, with numbers, commas and lines.
void write_texts(const std::string& path) {
  rng random{1, 2};
  std::vector<std::string> words;
  for (std::size_t i = 0; i < made_words; ++i)
    words.push_back(some_word(random));
  std::ofstream out{path};
  for (std::size_t i = 0; i < made_documents; ++i) {
    std::string text;
    for (auto n = 50 + random.below(700); n > 0; --n) {
      const auto rank = std::exp(std::log(static_cast<double>(made_words)) * random.uniform());
      text += words[static_cast<std::size_t>(rank) % made_words];
      const auto what = random.below(40);
      text += what == 0 ? ".\n" : what == 1 ? ", " : what == 2 ? " 1998 " : " ";
    }
    out << nlohmann::json{{"text", text}}.dump() << '\n';
  }
}

/// Bytes, and the beginnings of the most frequent words, each of which is a token and a letter.
void write_tokenizer(const std::string& path, const std::vector<std::string>& texts) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& text : texts)
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find(' ', at + 1), text.size());
      ++counts[text.substr(at, end - at)];
      at = end;
    }
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [word, count] : counts)
    order.emplace_back(count, word);
  std::sort(order.rbegin(), order.rend());
  auto vocabulary = nlohmann::json::object();
  auto merges = nlohmann::json::array();
  const auto written = [](const std::string& word) {
    std::string text;
    for (const auto c : word)
      text += c == ' ' ? "\u0120" : c == '\n' ? "\u010a" : std::string(1, c);
    return text;
  };
  for (char c = '!'; c <= '~'; ++c)
    vocabulary[std::string(1, c)] = vocabulary.size();
  for (const auto* c : {" ", "\n"})
    vocabulary[written(c)] = vocabulary.size();
  for (const auto& [count, word] : order)
    for (std::size_t n = 2; n <= word.size() && vocabulary.size() < 30'000; ++n)
      if (const auto text = written(word.substr(0, n)); !vocabulary.contains(text)) {
        merges.push_back(written(word.substr(0, n - 1)) + ' ' + written(word.substr(n - 1, 1)));
        vocabulary[text] = vocabulary.size();
      }
  const nlohmann::json file{
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
  std::ofstream{path} << file.dump();
}

std::vector<std::string> texts_of(const std::string& path) {
  std::vector<std::string> texts;
  std::ifstream in{path};
  for (std::string line; std::getline(in, line);)
    texts.push_back(nlohmann::json::parse(line).at("text").get<std::string>());
  return texts;
}

/// Megabytes per second of CPU time.
double bare(const token_encoder& by, const std::vector<std::string>& texts, std::size_t most) {
  std::size_t bytes = 0;
  const auto seconds = seconds_of(
      [&] {
        for (const auto& text : texts) {
          if (bytes >= most)
            break;
          bytes += text.size();
          if (by.encode(text).empty() && !text.empty())
            throw std::logic_error("no tokens");
        }
      },
      thread_seconds);
  return 1e-6 * static_cast<double>(bytes) / seconds;
}

double of_job(const pipeline& job, double megabytes, std::size_t workers) {
  loader x{job, {.workers = workers}};
  return megabytes / seconds_of([&] { take_all(x); }, workers == 0 ? thread_seconds : wall_seconds);
}

std::string given(const char* variable, const std::string& otherwise) {
  const auto* const value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}

bench_case texts_to_packs(const std::string& folder) {
  return {"tokenizer",
          {{"bare tokenizer, one thread", "MB/s"},
           {"  its first megabyte", "MB/s"},
           {"JSON lines, tokens, one thread", "MB/s"},
           {"  length_bucket", "MB/s"},
           {"  token_budget", "MB/s"},
           {"  buffer, packs of 4,096", "MB/s"},
           {"  two workers", "MB/s"},
           {"  of two bare tokenizers", ""}},
          [folder] {
            const auto lines = given("LEAT_BENCH_TEXTS", folder + "/texts.jsonl");
            if (lines.starts_with(folder))
              write_texts(lines);
            const auto texts = std::make_shared<const std::vector<std::string>>(texts_of(lines));
            const auto file = given("LEAT_BENCH_TOKENIZER", folder + "/tokenizer.json");
            if (file.starts_with(folder))
              write_tokenizer(file, *texts);
            double megabytes = 0;
            for (const auto& x : *texts)
              megabytes += 1e-6 * static_cast<double>(x.size());
            const auto tokens =
                json_lines(lines, {.ranges = 8}).map(select({"text"})).map(tokenize(file));
            const auto batches = [](const pipeline& x) {
              return x.batch(rows_per_batch, {.end = epoch_end::mask});
            };
            const auto bucketed = batches(tokens.length_bucket(
                "tokens", {128, 256, 512, 1024, 2048}, {.group = rows_per_batch, .window = 1000}));
            const auto budgeted = batches(
                tokens.token_budget("tokens", rows_per_batch * 2048, {.rows = rows_per_batch}));
            const auto packed =
                batches(tokens.shuffle_buffer(1000).pack("tokens", pack_length, {.split = true}));
            const auto warm = std::make_shared<token_encoder>(file);
            return [=](int) -> std::vector<double> {
              const auto first = bare(token_encoder{file}, *texts, 1'000'000);
              const auto speed = bare(*warm, *texts, SIZE_MAX);
              const auto two = of_job(packed, megabytes, 2);
              return {speed,
                      first,
                      of_job(batches(tokens), megabytes, 0),
                      of_job(bucketed, megabytes, 0),
                      of_job(budgeted, megabytes, 0),
                      of_job(packed, megabytes, 0),
                      two,
                      two / (2 * speed)};
            };
          }};
}

} // namespace

std::vector<bench_case> tokenizer_cases(const std::string& folder) {
  return {texts_to_packs(folder)};
}

} // namespace leat::bench
