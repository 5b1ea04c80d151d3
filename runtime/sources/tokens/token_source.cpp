#include "runtime/sources/tokens/token_source.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sources/piece_source.hpp"
#include "runtime/sources/tokens/npy_header.hpp"
#include "runtime/sources/tokens/token_windows.hpp"
#include "runtime/storage/read_now.hpp"

#include <utility>

namespace leat {

namespace {

bool is_whole_type(dtype x) {
  return x <= dtype::i64;
}

/// A file, and where its tokens lie.
struct token_file {
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;
  std::uint64_t tokens = 0;
};

token_file open_raw_tokens(const std::string& file, std::uint64_t bytes, dtype type) {
  if (bytes % size_of(type) != 0)
    throw_file_error(errc::invalid_argument, "tokens", file, std::to_string(bytes) + " bytes",
                     "a multiple of " + std::to_string(size_of(type)) + ", the bytes of a "
                         + std::string{to_string(type)} + ", or another type");
  return {.bytes = bytes, .begin = 0, .tokens = bytes / size_of(type)};
}

token_file open_token_array(const std::string& file, const npy_header& x, std::uint64_t bytes,
                            dtype type) {
  if (x.dims.rank() > 0 || x.type != type)
    throw_file_error(errc::invalid_argument, "tokens", file,
                     "an array of " + std::string{to_string(x.type)} + " and rank "
                         + std::to_string(x.dims.rank() + 1),
                     "one of " + std::string{to_string(type)}
                         + " and rank 1; npy reads arrays of any rank by their rows");
  return {.bytes = bytes, .begin = x.begin, .tokens = x.records};
}

std::vector<token_file> open_files_of(stored_objects& objects, std::size_t count, dtype type) {
  std::vector<token_file> files;
  objects.expect_stats();
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = objects.name(i);
    const auto bytes = objects.stat(i).size;
    const auto read = [&](auto offset, auto into) { read_now(objects, i, offset, into); };
    // numpy.tofile writes no header, whatever its file is called.
    if (name.ends_with(".npy") && has_npy_header(bytes, read))
      files.push_back(
          open_token_array(name, read_npy_header("tokens", name, bytes, read), bytes, type));
    else
      files.push_back(open_raw_tokens(name, bytes, type));
  }
  return files;
}

std::vector<std::uint64_t> tokens_of(const std::vector<token_file>& files) {
  std::vector<std::uint64_t> counts;
  counts.reserve(files.size());
  for (const auto& x : files)
    counts.push_back(x.tokens);
  return counts;
}

class token_source final : public piece_source {
public:
  token_source(file_set files, dtype type, std::uint64_t length, const token_options& options)
      : piece_source(files.store->open(files.paths, read_pattern::random), "tokens",
                     std::move(files.others)),
        type_(type), dims_{length}, is_dense_(options.drop_last),
        files_(open_files_of(objects(), files.paths.size(), type)),
        windows_(std::move(files.names), tokens_of(files_), length, options) {
    for (std::size_t i = 0; i < files_.size(); ++i)
      add_facts(windows_.names()[i], files_[i].bytes, files_[i].tokens);
  }

  std::uint64_t size() const override { return windows_.size(); }
  std::span<std::byte> make_room(std::uint64_t, std::size_t size, sample& into) const override {
    return {is_dense_ ? into.make_tensor("tokens", type_, dims_)
                      : into.make_ragged("tokens", type_, size / size_of(type_), {}),
            size};
  }
  void append_id(std::uint64_t record, std::string& to) const override {
    windows_.append_id(record, to);
  }
  std::vector<std::uint64_t> records_per_file() const override { return windows_.per_file(); }
  std::string name() const override { return "tokens"; }

private:
  extent piece(std::uint64_t record) const override {
    const auto x = windows_.at(record);
    return {.file = x.file,
            .offset = files_[x.file].begin + x.begin * size_of(type_),
            .size = x.length * size_of(type_)};
  }

  dtype type_;
  shape dims_;
  /// All windows have the same length.
  bool is_dense_;
  std::vector<token_file> files_;
  token_windows windows_;
};

void check_tokens(dtype type, std::uint64_t length, const token_options& options) {
  if (!is_whole_type(type))
    refuse_argument("tokens", "type " + std::string{to_string(type)}, "a type of whole numbers");
  check_range("tokens.length", length, 1, max_record_bytes / size_of(type));
  check_range("tokens.stride", options.stride, 0, std::uint64_t{1} << 62);
  check_range("tokens.random_windows", options.random_windows, 0, std::uint64_t{1} << 62);
  if (options.random_windows > 0 && (options.stride > 0 || !options.drop_last))
    refuse_argument("tokens",
                    "random_windows with "
                        + std::string{options.stride > 0 ? "a stride" : "drop_last=false"},
                    "one of them: windows that are drawn begin anywhere, and all are whole");
}

} // namespace

std::shared_ptr<const stored_source>
open_token_source(file_set files, dtype type, std::uint64_t length, const token_options& options) {
  return std::make_shared<const token_source>(std::move(files), type, length, options);
}

pipeline tokens(std::string pattern, dtype type, std::uint64_t length, token_options options) {
  return tokens(std::vector{std::move(pattern)}, type, length, std::move(options));
}

pipeline tokens(std::vector<std::string> patterns, dtype type, std::uint64_t length,
                token_options options) {
  check_tokens(type, length, options);
  const auto remote = std::exchange(options.remote, {});
  return source_pipeline(
      "tokens",
      {{"patterns", patterns},
       {"type", std::string{to_string(type)}},
       {"length", length},
       {"stride", options.stride},
       {"drop_last", options.drop_last},
       {"random_windows", options.random_windows},
       {"seed", options.seed}},
      [=](const store_set& in) {
        return open_token_source(find_files(patterns, "tokens", file_kinds::plain, in), type,
                                 length, options);
      },
      remote);
}

operator_type tokens_operator() {
  return {.word = "tokens",
          .role = operator_role::source,
          .options = {in_facts(plain("patterns", option_type::listed_texts)),
                      written_as("dtype", {"type", option_type::text}),
                      {"length", option_type::number},
                      {"stride", option_type::number, std::uint64_t{0}},
                      {"drop_last", option_type::flag, true},
                      {"random_windows", option_type::number, std::uint64_t{0}},
                      {"seed", option_type::number, std::uint64_t{0}}},
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                const auto number = [&](const char* name) { return call.get<std::uint64_t>(name); };
                return tokens(call.get<std::vector<std::string>>("patterns"),
                              parse_dtype(call.get<std::string>("type"), call.op), number("length"),
                              {.stride = number("stride"),
                               .drop_last = call.get<bool>("drop_last"),
                               .random_windows = number("random_windows"),
                               .seed = number("seed")});
              },
          .traits = {.only_field = "tokens"}};
}

} // namespace leat
