#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sources/piece_source.hpp"
#include "runtime/sources/records_in_files.hpp"
#include "runtime/sources/tokens/megatron_index.hpp"
#include "runtime/sources/tokens/token_source.hpp"
#include "runtime/storage/read_now.hpp"

#include <string_view>
#include <utility>

namespace leat {

namespace {

constexpr std::string_view index_ending = ".idx";
constexpr std::string_view data_ending = ".bin";

std::string without_ending(std::string name) {
  for (const auto ending : {index_ending, data_ending})
    if (name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      break;
    }
  return name;
}

/// The names of other files of the same data sets.
std::vector<std::string> with_ending(std::vector<std::string> names, std::string_view ending) {
  for (auto& x : names)
    x = without_ending(std::move(x)).append(ending);
  return names;
}

class megatron_source final : public piece_source {
public:
  explicit megatron_source(file_set indexes)
      : piece_source(
          indexes.store->open(with_ending(indexes.paths, data_ending), read_pattern::random),
          "tokens", std::move(indexes.others)),
        in_files_(with_ending(std::move(indexes.names), {})) {
    const auto stored = indexes.store->open(indexes.paths);
    stored->expect_stats();
    objects().expect_stats();
    for (std::size_t i = 0; i < indexes.paths.size(); ++i) {
      const megatron_files files{.index = indexes.paths[i],
                                 .index_bytes = stored->stat(i).size,
                                 .data = objects().name(i),
                                 .data_bytes = objects().stat(i).size};
      indexes_.emplace_back(files,
                            [&](auto offset, auto into) { read_now(*stored, i, offset, into); });
      check_type(files.index);
      in_files_.add(indexes_[i].size(), "megatron");
      add_facts(in_files_.names()[i], files.data_bytes, indexes_[i].size());
    }
  }

  std::uint64_t size() const override { return in_files_.size(); }
  std::span<std::byte> make_room(std::uint64_t, std::size_t size, sample& into) const override {
    const auto type = indexes_[0].type();
    return {into.make_ragged("tokens", type, size / size_of(type), {}), size};
  }
  void append_id(std::uint64_t record, std::string& to) const override {
    in_files_.append_id(record, to);
  }
  std::vector<std::uint64_t> records_per_file() const override { return in_files_.counts(); }
  std::string name() const override { return "megatron"; }

private:
  extent piece(std::uint64_t record) const override {
    const auto [file, number] = in_files_.place_of(record);
    const auto x = indexes_[file].document(number);
    return {.file = file, .offset = x.offset, .size = x.tokens * size_of(indexes_[file].type())};
  }

  void check_type(const std::string& file) const {
    if (indexes_.back().type() != indexes_.front().type())
      throw_file_error(errc::invalid_argument, "megatron", file,
                       "tokens of type " + std::string{to_string(indexes_.back().type())},
                       std::string{to_string(indexes_.front().type())} + ", as in the first file");
  }

  records_in_files in_files_;
  std::vector<megatron_index> indexes_;
};

} // namespace

std::shared_ptr<const stored_source> open_megatron_source(file_set indexes) {
  return std::make_shared<const megatron_source>(std::move(indexes));
}

pipeline megatron(std::string prefix, const remote_options& remote) {
  return megatron(std::vector{std::move(prefix)}, remote);
}

pipeline megatron(std::vector<std::string> prefixes, const remote_options& remote) {
  return source_pipeline(
      "megatron", {{"patterns", prefixes}},
      [prefixes](const store_set& in) {
        return open_megatron_source(
            find_files(with_ending(prefixes, index_ending), "megatron", file_kinds::plain, in));
      },
      remote);
}

operator_type megatron_operator() {
  return {.word = "megatron",
          .role = operator_role::source,
          .options = {in_facts(plain("patterns", option_type::listed_texts))},
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                return megatron(call.get<std::vector<std::string>>("patterns"));
              },
          .traits = {.only_field = "tokens"}};
}

} // namespace leat
