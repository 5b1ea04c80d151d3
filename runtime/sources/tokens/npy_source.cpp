#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sources/piece_source.hpp"
#include "runtime/sources/records_in_files.hpp"
#include "runtime/sources/tokens/npy_header.hpp"
#include "runtime/sources/tokens/token_source.hpp"
#include "runtime/storage/read_now.hpp"

#include <utility>

namespace leat {

namespace {

std::string npy_form_of(const npy_header& x) {
  return std::string{to_string(x.type)} + ' ' + to_string(x.dims);
}

class npy_source final : public piece_source {
public:
  explicit npy_source(file_set files)
      : piece_source(files.store->open(files.paths, read_pattern::random), "value",
                     std::move(files.others)),
        in_files_(std::move(files.names)) {
    objects().expect_stats();
    for (std::size_t i = 0; i < files.paths.size(); ++i) {
      const auto bytes = objects().stat(i).size;
      arrays_.push_back(read_npy_header("npy", files.paths[i], bytes, [&](auto offset, auto into) {
        read_now(objects(), i, offset, into);
      }));
      check_form(files.paths[i]);
      in_files_.add(arrays_[i].records, "npy");
      add_facts(in_files_.names()[i], bytes, arrays_[i].records);
    }
  }

  std::uint64_t size() const override { return in_files_.size(); }
  std::span<std::byte> make_room(std::uint64_t, std::size_t size, sample& into) const override {
    return {into.make_tensor("value", arrays_[0].type, arrays_[0].dims), size};
  }
  void append_id(std::uint64_t record, std::string& to) const override {
    in_files_.append_id(record, to);
  }
  std::vector<std::uint64_t> records_per_file() const override { return in_files_.counts(); }
  std::string name() const override { return "npy"; }

private:
  extent piece(std::uint64_t record) const override {
    const auto [file, row] = in_files_.place_of(record);
    const auto& x = arrays_[file];
    return {.file = file, .offset = x.begin + row * x.record_bytes, .size = x.record_bytes};
  }

  /// All files have records of one type and shape.
  void check_form(const std::string& file) const {
    if (npy_form_of(arrays_.back()) != npy_form_of(arrays_.front()))
      throw_file_error(errc::invalid_argument, "npy", file,
                       "records of " + npy_form_of(arrays_.back()),
                       npy_form_of(arrays_.front()) + ", as in the first file");
  }

  records_in_files in_files_;
  std::vector<npy_header> arrays_;
};

} // namespace

std::shared_ptr<const stored_source> open_npy_source(file_set files) {
  return std::make_shared<const npy_source>(std::move(files));
}

pipeline npy(std::string pattern, const remote_options& remote) {
  return npy(std::vector{std::move(pattern)}, remote);
}

pipeline npy(std::vector<std::string> patterns, const remote_options& remote) {
  return source_pipeline(
      "npy", {{"patterns", patterns}},
      [patterns](const store_set& in) {
        return open_npy_source(find_files(patterns, "npy", file_kinds::plain, in));
      },
      remote);
}

operator_type npy_operator() {
  return {.word = "npy",
          .role = operator_role::source,
          .options = {in_facts(plain("patterns", option_type::listed_texts))},
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                return npy(call.get<std::vector<std::string>>("patterns"));
              },
          .traits = {.only_field = "value"}};
}

} // namespace leat
