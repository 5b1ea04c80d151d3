#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"
#include "runtime/sources/piece_source.hpp"
#include "runtime/storage/remote/store_of.hpp"

#include <leat/sources.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

namespace leat {

namespace {

/// Fills `to` with the number, 8 bytes little-endian, repeated and cut.
void fill(std::span<std::byte> to, std::uint64_t number) {
  // Copying one block that stays in the nearest cache runs at the speed of writing.
  constexpr std::size_t block = 4096;
  auto done = std::min(sizeof number, to.size());
  std::memcpy(to.data(), &number, done);
  while (done < to.size()) {
    const auto n = std::min({done, block, to.size() - done});
    std::memcpy(to.data() + done, to.data(), n);
    done += n;
  }
}

class count_source : public source {
public:
  count_source(std::uint64_t records, std::size_t record_bytes)
      : records_(records), dims_{record_bytes} {}

  std::uint64_t size() const override { return records_; }
  void read(std::uint64_t record, sample& into) const override {
    fill({into.make_tensor("value", dtype::u8, dims_), dims_[0]}, record);
  }
  void append_id(std::uint64_t record, std::string& to) const override {
    to += "count/";
    append_number(to, record);
  }
  std::string name() const override { return "count"; }

private:
  std::uint64_t records_;
  shape dims_;
};

class function_source : public source {
public:
  function_source(const std::string& name, std::uint64_t records,
                  std::function<void(std::uint64_t, sample&)> read)
      : name_(name.substr(0, name.rfind('@'))), records_(records), read_(std::move(read)) {}

  std::uint64_t size() const override { return records_; }
  void read(std::uint64_t record, sample& into) const override { read_(record, into); }
  void append_id(std::uint64_t record, std::string& to) const override {
    to += name_;
    to += '/';
    append_number(to, record);
  }
  std::string name() const override { return name_; }

private:
  /// Without its version, so that ids stay the same in a new one.
  std::string name_;
  std::uint64_t records_;
  std::function<void(std::uint64_t, sample&)> read_;
};

class raw_source final : public piece_source {
public:
  raw_source(const std::string& path, dtype type, const shape& dims, std::uint64_t record_bytes,
             const raw_options& options, const store_set& in)
      : piece_source(open_named({path}, "raw_records", in), "value"),
        name_(std::filesystem::path{objects().name(0)}.filename().string()), type_(type),
        dims_(dims), record_bytes_(record_bytes), bytes_(objects().stat(0).size) {
    if (const auto rest = bytes_ % record_bytes_; rest != 0 && !options.drop_last)
      refuse_rest(path, rest);
    add_facts(name_, bytes_, size());
  }

  std::uint64_t size() const override { return bytes_ / record_bytes_; }
  std::span<std::byte> make_room(std::uint64_t, std::size_t size, sample& into) const override {
    return {into.make_tensor("value", type_, dims_), size};
  }
  void append_id(std::uint64_t record, std::string& to) const override {
    to += name_;
    to += '/';
    append_number(to, record);
  }
  std::string name() const override { return "raw"; }

private:
  extent piece(std::uint64_t record) const override {
    return {.file = 0, .offset = record * record_bytes_, .size = record_bytes_};
  }

  [[noreturn]] void refuse_rest(const std::string& path, std::uint64_t rest) const {
    throw_file_error(errc::invalid_argument, "raw_records", path,
                     std::to_string(bytes_) + " bytes: " + std::to_string(size()) + " records of "
                         + std::string{to_string(type_)} + " " + to_string(dims_) + ", and "
                         + std::to_string(rest) + (rest == 1 ? " more byte" : " more bytes"),
                     "a multiple of " + std::to_string(record_bytes_)
                         + " bytes, another dtype or shape, or drop_last=true, which leaves the "
                           "rest out");
  }

  std::string name_;
  dtype type_;
  shape dims_;
  std::uint64_t record_bytes_;
  std::uint64_t bytes_;
};

/// Bytes of one record; throws if there are none, or too many to count.
std::uint64_t bytes_of(dtype type, const shape& dims) {
  std::uint64_t bytes = size_of(type);
  bool fits = true;
  for (std::size_t i = 0; i < dims.rank(); ++i)
    fits = !__builtin_mul_overflow(bytes, std::uint64_t{dims[i]}, &bytes) && fits;
  if (!fits || bytes == 0 || bytes > max_record_bytes)
    refuse_argument("raw_records", "shape " + to_string(dims), "1 to 2^31 bytes per record");
  return bytes;
}

void check_name(const std::string& name, bool has_data) {
  if (name.empty() || !has_data)
    refuse_argument("source \"" + name + '"', name.empty() ? "no name" : "no data",
                    "a name (\"cifar@1\") and data");
}

} // namespace

pipeline count(std::uint64_t records, std::size_t record_bytes) {
  if (record_bytes == 0)
    refuse_argument("count", "0 bytes per record", "at least 1");
  check_range("count.record_bytes", record_bytes, 1, max_record_bytes);
  return source_pipeline(
      "count", {{"records", records}, {"bytes", std::uint64_t{record_bytes}}},
      [=] { return std::make_shared<const count_source>(records, record_bytes); });
}

pipeline indexed(std::string name, std::shared_ptr<const source> data) {
  check_name(name, data != nullptr);
  return source_pipeline("indexed", {{"name", std::move(name)}},
                         [data = std::move(data)] { return data; });
}

pipeline from_function(std::string name, std::uint64_t records,
                       std::function<void(std::uint64_t, sample&)> read) {
  check_name(name, read != nullptr);
  auto data = std::make_shared<const function_source>(name, records, std::move(read));
  return indexed(std::move(name), std::move(data));
}

pipeline raw_records(std::string path, dtype type, shape dims, raw_options options) {
  const auto record_bytes = bytes_of(type, dims);
  const auto remote = std::exchange(options.remote, {});
  std::vector<std::uint64_t> extents;
  for (std::size_t i = 0; i < dims.rank(); ++i)
    extents.push_back(dims[i]);
  return source_pipeline(
      "raw_records",
      {{"path", path},
       {"type", std::string{to_string(type)}},
       {"dims", extents},
       {"drop_last", options.drop_last}},
      [=](const store_set& in) {
        return std::make_shared<const raw_source>(path, type, dims, record_bytes, options, in);
      },
      remote);
}

namespace {

shape shape_of(const std::vector<std::uint64_t>& xs) {
  shape dims;
  for (auto i = xs.size(); i-- > 0;)
    dims = dims.behind(xs[i]);
  return dims;
}

} // namespace

operator_type count_operator() {
  return {.word = "count",
          .role = operator_role::source,
          .options = {in_facts(plain("records", option_type::number)),
                      written_as("record_bytes", {"bytes", option_type::number, std::uint64_t{8}})},
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                return count(call.get<std::uint64_t>("records"), call.get<std::uint64_t>("bytes"));
              },
          .traits = {.only_field = "value"}};
}

operator_type raw_records_operator() {
  return {.word = "raw_records",
          .role = operator_role::source,
          .options = {in_facts(plain("path", option_type::text)),
                      written_as("dtype", {"type", option_type::text}),
                      written_as("shape", {"dims", option_type::numbers}),
                      {"drop_last", option_type::flag, false}},
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                return raw_records(call.get<std::string>("path"),
                                   parse_dtype(call.get<std::string>("type"), call.op),
                                   shape_of(call.get<std::vector<std::uint64_t>>("dims")),
                                   {.drop_last = call.get<bool>("drop_last")});
              },
          .traits = {.only_field = "value"}};
}

operator_type indexed_operator() {
  return {.word = "indexed",
          .role = operator_role::source,
          .options = {plain("name", option_type::text)},
          .make = [](const operator_node& call, const std::vector<pipeline>&) {
            const auto& name = call.get<std::string>("name");
            return indexed(name, registered_source(name));
          }};
}

} // namespace leat
