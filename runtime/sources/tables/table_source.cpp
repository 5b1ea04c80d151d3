#include "runtime/sources/tables/table_source.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/sources/tables/far_tables.hpp"

#include <leat/bad_sample.hpp>
#include <leat/notice.hpp>
#include <leat/sample.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace leat {

namespace {

std::size_t element_bytes(const table_column& x) {
  return size_of(x.type) * x.dims.elements();
}

/// Whether a column has values for so many rows: damaged files can hold any offsets.
bool is_sound(const table_column& x, std::uint64_t rows) {
  const auto elements = x.values.size() / std::max<std::size_t>(element_bytes(x), 1);
  if (!x.nulls.empty() && x.nulls.size() != rows)
    return false;
  if (x.kind == column_kind::dense)
    return elements >= rows || element_bytes(x) == 0;
  return x.offsets.size() == rows + 1 && x.offsets.front() >= 0
         && std::is_sorted(x.offsets.begin(), x.offsets.end())
         && static_cast<std::uint64_t>(x.offsets.back()) <= elements;
}

void copy(std::span<const std::byte> from, std::byte* to) {
  if (!from.empty())
    std::memcpy(to, from.data(), from.size());
}

void set_field(const table_column& x, std::uint64_t row, sample& into) {
  const auto one = element_bytes(x);
  if (x.kind == column_kind::dense)
    return copy(x.values.subspan(row * one, one), into.make_tensor(x.name, x.type, x.dims));
  const auto begin = static_cast<std::size_t>(x.offsets[row]);
  const auto length = static_cast<std::size_t>(x.offsets[row + 1]) - begin;
  const auto values = x.values.subspan(begin * one, length * one);
  copy(values, x.kind == column_kind::bytes ? into.make_bytes(x.name, length).data()
                                            : into.make_ragged(x.name, x.type, length, x.dims));
}

/// Of one block of a file that has so many bytes, as far as they can be.
std::vector<table_range> ranges_of(const table_file& file, std::uint64_t block,
                                   std::uint64_t bytes) {
  if (block >= file.ranges_per_block.size())
    return {};
  auto all = file.ranges_per_block[block];
  std::erase_if(all, [&](const table_range& x) {
    return x.size == 0 || x.offset > bytes || x.size > bytes - x.offset;
  });
  return all;
}

} // namespace

table_source::table_source(std::string format, file_set files, table_options options,
                           std::shared_ptr<const table_reader> reader)
    : format_(std::move(format)), paths_(std::move(files.paths)), others_(std::move(files.others)),
      options_(std::move(options)), reader_(std::move(reader)),
      far_(files.store->is_near() ? nullptr : std::make_unique<far_tables>(*files.store, paths_)),
      in_files_(files.names) {
  open_all(files.names);
  cache_.emplace(blocks_.size(), options_.cache_bytes,
                 [this](std::uint64_t block) { return decode(block); });
}

table_source::~table_source() = default;

source_facts table_source::facts() const {
  auto x = facts_;
  if (far_)
    x.versions = far_->versions();
  return x;
}

std::uint64_t table_source::bytes_of(std::size_t file) const {
  if (far_)
    return far_->at(file).size();
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(paths_[file], failure);
  if (failure)
    throw_file_error(errc::io, format_, paths_[file], failure.message(), "a file that can be read");
  return bytes;
}

table_file table_source::open(std::size_t file, const table_options& options) const {
  return far_ ? reader_->open_far(far_->at(file), options) : reader_->open(paths_[file], options);
}

void table_source::open_all(const std::vector<std::string>& names) {
  hash_stream hash;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const auto file = i == 0 ? open(i, options_) : open_like_first(i);
    if (i == 0)
      first_ = file;
    const auto bytes = bytes_of(i);
    hash.add(names[i]);
    hash.add(bytes);
    facts_.bytes += bytes;
    std::uint64_t rows = 0;
    for (std::uint64_t block = 0; block < file.rows_per_block.size(); ++block) {
      const auto n = file.rows_per_block[block];
      rows += n;
      in_blocks_.add(n, format_);
      blocks_.push_back({i, block, ranges_of(file, block, bytes)});
      hash.add(n);
    }
    in_files_.add(rows, format_);
  }
  if (far_)
    far_->drop_ends();
  hash.add(first_.columns);
  facts_.files = paths_.size();
  facts_.records = size();
  facts_.digest = hash.digest128();
}

table_file table_source::open_like_first(std::size_t number) const {
  auto file = open(number, options_);
  if (file.columns != first_.columns
      && std::is_permutation(file.names.begin(), file.names.end(), first_.names.begin(),
                             first_.names.end())) {
    auto by_name = options_;
    by_name.columns = first_.names;
    file = open(number, by_name);
  }
  if (file.columns != first_.columns)
    throw_file_error(errc::invalid_argument, format_, paths_[number], "the columns " + file.columns,
                     first_.columns + ", as in " + paths_[0]
                         + "; types=[\"NAME:i64\"], in Python {\"NAME\": \"i64\"}, gives a column "
                           "one type in all files, and columns= leaves others out");
  return file;
}

void table_source::read(std::uint64_t record, sample& into) const {
  const auto at = in_blocks_.place_of(record);
  const auto block = cache_->get(at.file);
  ++rows_read_;
  if (!block->damage.empty())
    throw bad_sample(cause::corrupt, block->damage);
  for (const auto& x : block->content.columns) {
    const auto null = x.nulls.empty() ? std::uint8_t{0} : x.nulls[at.record];
    if (null == 0)
      set_field(x, at.record, into);
    else if (null != 1 || options_.nulls != null_policy::no_field)
      refuse_null(x, at.file, at.record);
  }
}

stored_objects* table_source::locate(std::uint64_t record, std::vector<extent>& into) const {
  if (!far_)
    return nullptr;
  const auto block = in_blocks_.place_of(record).file;
  const auto& at = blocks_[block];
  if (!at.ranges.empty() && !cache_->has(block))
    for (const auto& x : at.ranges)
      into.push_back({at.file, x.offset, x.size});
  return &far_->objects();
}

cached_block table_source::decode(std::uint64_t block) const {
  const auto file = blocks_[block].file;
  const auto number = blocks_[block].block;
  notice_waste();
  try {
    cached_block made{far_ ? reader_->read_far(far_->at(file), number, options_)
                           : reader_->read(paths_[file], number, options_),
                      {}};
    const auto rows = in_blocks_.count_of(block);
    const auto& columns = made.content.columns;
    if (made.content.rows == rows
        && std::all_of(columns.begin(), columns.end(),
                       [&](const auto& x) { return is_sound(x, rows); }))
      return made;
    throw bad_sample(cause::corrupt, "it does not have the " + number_text(rows)
                                         + " rows that the file said it has, or its offsets are "
                                           "damaged");
  } catch (const bad_sample& problem) {
    return {{}, paths_[file] + ", block " + number_text(number) + ": " + problem.what()};
  }
}

void table_source::refuse_null(const table_column& x, std::uint64_t block,
                               std::uint64_t row) const {
  const auto& place = blocks_[block];
  auto first = block - place.block;
  std::uint64_t in_file = row;
  for (; first < block; ++first)
    in_file += in_blocks_.count_of(first);
  const bool is_whole = x.nulls[row] == 1;
  throw bad_sample(
      is_whole ? cause::missing_field : cause::unsupported,
      "column " + in_quotes(x.name) + (is_whole ? " is null" : " is a list that contains a null")
          + " in row " + number_text(in_file) + " of " + paths_[place.file] + "; needed: "
          + (is_whole ? "a value, or nulls=\"no_field\", which leaves the field out (and then "
                        "default_field, which sets it), or columns= without it"
                      : "a list without nulls"));
}

void table_source::notice_waste() const {
  constexpr std::uint64_t few = 16;
  const auto again = cache_->decoded_again();
  const auto rows_per_block = size() / std::max<std::uint64_t>(blocks_.size(), 1);
  if (again < 2 * few || rows_read_ * few > again * rows_per_block || was_noticed_.exchange(true))
    return;
  notice(format_ + ": blocks of about " + number_text(rows_per_block) + " rows were decoded "
         + number_text(again) + " times more than once for " + number_text(rows_read_.load())
         + " rows; needed: shuffle(kind=\"windowed\") with few lanes, a larger cache_bytes, or "
           "smaller blocks (docs/operators/"
         + format_ + ".md)");
}

} // namespace leat
