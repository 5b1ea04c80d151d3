#include <leat/functions.hpp>
#include <leat/loader.hpp>
#include <leat/pipeline.hpp>

#include "tools/leat/data_arguments.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include "tools/leat/tokenize/tokenizer_choice.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>

namespace leat::command {

namespace {

struct tokens_options {
  data_arguments data;
  tokenizer_choice by;
  std::string field = "text";
  bool json = false;
};

struct token_counts {
  std::uint64_t documents = 0;
  std::uint64_t bytes = 0;
  std::uint64_t tokens = 0;
  /// Tokens of the longest document.
  std::uint64_t longest = 0;
  bad_counts bad = {};
  double seconds = 0;
};

/// Reads every document once; the order does not matter, so one lane will do for any number of
/// files.
token_counts count_tokens(const tokens_options& x) {
  constexpr std::uint64_t documents_per_batch = 256;
  const auto start = std::chrono::steady_clock::now();
  const std::string into = x.field == "tokens" ? "token_ids" : "tokens";
  const auto data = data_pipeline(x.data)
                        .map(select({x.field}))
                        .map(tokens_by(x.by, x.field, into, true).stage)
                        .batch(documents_per_batch, {.lanes = 1, .end = epoch_end::mask});
  loader from{data,
              {.workers = std::max(1U, std::thread::hardware_concurrency()),
               .bad_samples = bad_sample_policy::mask}};
  token_counts found;
  while (const auto batch = from.next()) {
    found.documents += batch->valid_rows();
    found.bytes += batch->ragged(x.field).values.size();
    const auto tokens = batch->ragged<std::int32_t, 1>(into);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto size = static_cast<std::uint64_t>(tokens[i].extent(0));
      found.tokens += size;
      found.longest = std::max(found.longest, size);
    }
  }
  found.bad = from.stats().bad;
  found.seconds = in_seconds(std::chrono::steady_clock::now() - start);
  return found;
}

double per(std::uint64_t x, double of) {
  return of > 0 ? static_cast<double>(x) / of : 0;
}

void print_counts(const token_counts& x) {
  const auto documents = static_cast<double>(x.documents);
  print_line("documents  " + with_commas(x.documents));
  print_line("bytes      " + with_commas(x.bytes) + " (" + readable_bytes(x.bytes) + ")");
  print_line("tokens     " + with_commas(x.tokens) + ": " + fixed(per(x.tokens, documents), 1)
             + " per document, " + with_commas(x.longest) + " at most");
  print_line("per token  " + fixed(per(x.bytes, static_cast<double>(x.tokens)), 2) + " bytes");
  print_line("speed      " + with_commas(static_cast<std::uint64_t>(per(x.tokens, x.seconds)))
             + " tokens/s");
  if (const auto bad = std::accumulate(x.bad.begin(), x.bad.end(), std::uint64_t{0}); bad > 0)
    print_line("bad        " + with_commas(bad) + " samples, which are not counted");
}

void print_json(const token_counts& x) {
  print_line(nlohmann::json{{"documents", x.documents},
                            {"bytes", x.bytes},
                            {"tokens", x.tokens},
                            {"longest", x.longest},
                            {"bad", bad_to_json(x.bad)},
                            {"seconds", x.seconds}}
                 .dump());
}

} // namespace

void add_tokens_command(CLI::App& app) {
  auto* sub = app.add_subcommand("tokens", "Count the tokens of texts");
  auto x = std::make_shared<tokens_options>();
  add_data_arguments(*sub, x->data);
  add_tokenizer_choice(*sub, x->by);
  sub->add_option("--field", x->field, "The field that holds the text")->capture_default_str();
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] {
    const auto found = count_tokens(*x);
    x->json ? print_json(found) : print_counts(found);
  });
}

} // namespace leat::command
