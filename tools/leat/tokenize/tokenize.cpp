#include <leat/functions.hpp>
#include <leat/loader.hpp>
#include <leat/pipeline.hpp>

#include "tools/leat/data_arguments.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include "tools/leat/tokenize/token_files.hpp"
#include "tools/leat/tokenize/tokenizer_choice.hpp"
#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace leat::command {

namespace {

struct tokenize_arguments {
  data_arguments data;
  tokenizer_choice by;
  std::string field = "text";
  std::string out;
  std::string format = "megatron";
  std::string type = "u16";
  std::optional<std::uint64_t> end_token;
  std::optional<std::uint64_t> workers;
  /// After so many megabytes of tokens the place is stored from which another process resumes.
  std::uint64_t store_every = 64;
  bool resumes = false;
};

token_format format_of(const tokenize_arguments& x) {
  token_format format{.is_megatron = x.format == "megatron",
                      .type = x.type == "u16"   ? dtype::u16
                              : x.type == "i32" ? dtype::i32
                                                : dtype::u32};
  if (x.end_token)
    format.end_token = static_cast<std::uint32_t>(*x.end_token);
  if (format.is_megatron && format.type == dtype::u32)
    throw CLI::ValidationError("--dtype", "Megatron-LM's files have no u32: needed u16 or i32");
  return format;
}

void run_tokenize(const tokenize_arguments& x) {
  constexpr std::uint64_t documents_per_batch = 256;
  constexpr std::uint64_t megabyte = 1'000'000;
  const std::string into = x.field == "tokens" ? "token_ids" : "tokens";
  const auto format = format_of(x);
  auto [tokens_of, last_token] = tokens_by(x.by, x.field, into, false);
  check_room(format, last_token);
  const auto data = data_pipeline(x.data)
                        .map(select({x.field}))
                        .map(std::move(tokens_of))
                        .batch(documents_per_batch, {.lanes = 1, .end = epoch_end::mask});
  token_files files{x.out, format, x.resumes};
  loader from{data,
              {.workers = x.workers ? static_cast<std::size_t>(*x.workers) : automatic,
               .bad_samples = bad_sample_policy::mask}};
  if (!files.resumed_from().empty()) {
    from.restore_parts({files.resumed_from()});
    print_notice("tokenize", "resumes after " + with_commas(files.sums().documents) + " documents, "
                                 + with_commas(files.sums().tokens) + " tokens");
  }
  while (const auto batch = from.next()) {
    const auto tokens = batch->ragged<std::int32_t, 1>(into);
    for (std::size_t row = 0; row < tokens.size(); ++row)
      if (batch->valid()[row] != 0)
        files.append(tokens[row].flat());
    if (files.bytes_at_risk() >= x.store_every * megabyte)
      files.store(from.snapshot(*batch));
  }
  files.store(from.snapshot());
  files.finish();
  print_line("documents  " + with_commas(files.sums().documents));
  print_line("tokens     " + with_commas(files.sums().tokens));
  const auto bad = from.stats().bad;
  if (const auto all = std::accumulate(bad.begin(), bad.end(), std::uint64_t{0}); all > 0)
    print_line("bad        " + with_commas(all)
               + " samples, which are not there: " + bad_to_json(bad).dump());
}

} // namespace

void add_tokenize_command(CLI::App& app) {
  auto* sub = app.add_subcommand("tokenize", "Write the tokens of texts into files");
  auto x = std::make_shared<tokenize_arguments>();
  add_data_arguments(*sub, x->data);
  add_tokenizer_choice(*sub, x->by);
  sub->add_option("--out", x->out, "The directory, for tokens.bin and tokens.idx")->required();
  sub->add_option("--field", x->field, "The field that holds the text")->capture_default_str();
  sub->add_option("--format", x->format,
                  "megatron: with an index of documents; raw: tokens, one after the other")
      ->check(CLI::IsMember({"megatron", "raw"}))
      ->capture_default_str();
  sub->add_option("--dtype", x->type, "The type of a token: u16, i32, or u32 for raw files")
      ->check(CLI::IsMember({"u16", "i32", "u32"}))
      ->capture_default_str();
  whole_number(sub->add_option("--end-token", x->end_token, "The token after each document"), 0,
               INT32_MAX);
  whole_number(sub->add_option("--workers", x->workers, "Threads; as many as help, if not given"),
               0, 4096);
  whole_number(sub->add_option("--store-every", x->store_every,
                               "Megabytes of tokens after which the place is stored from which "
                               "--resume continues"),
               0);
  sub->add_flag("--resume", x->resumes, "Continue what another process has begun there");
  sub->callback([x] { run_tokenize(*x); });
}

} // namespace leat::command
