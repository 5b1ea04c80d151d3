#pragma once

#include "runtime/sources/index_sections.hpp"
#include "runtime/sources/indexed_places.hpp"
#include "runtime/sources/tar/tar_reader.hpp"
#include "runtime/storage/object_store.hpp"
#include "runtime/storage/passed_over.hpp"
#include "runtime/storage/remote/store_of.hpp"

#include <leat/sources.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

class far_indexes;

/// One field of a record, as the index file stores it.
struct tar_field {
  /// Where the content begins, in blocks of 512 bytes.
  std::uint64_t block : 40;
  /// Number of the field's name.
  std::uint64_t name : 24;
  /// Bytes of content.
  std::uint64_t size;

  std::uint64_t offset() const noexcept { return block * tar_reader::block_size; }
};

/// The records of one tar shard: keys, and where their fields lie. A view of index bytes, which it
/// keeps alive; copies share them. A query costs O(1), and adopting one pass over the bytes.
///
/// A record is a run of members with one key: the member's path, without a leading "./", up to the
/// first dot of its basename. What follows the dot, in lower case, is the field's name. Members
/// other than plain files, hidden ones (is_hidden_entry), and those whose basename has no dot, or
/// nothing after it, are passed over and do not end a run. A name that the record already has
/// begins the next record.
class tar_index {
public:
  /// Takes bytes that `build_tar_index` made for a shard of this size and time. Empty for all
  /// others, and for damaged ones; no byte of them is trusted.
  static std::optional<tar_index> adopt(const index_bytes& bytes, const object_version& shard);
  /// The index stored in a file; empty if it is not one of this shard.
  static std::optional<tar_index> load(const std::string& path, const object_version& shard);

  /// Number of records.
  std::uint64_t size() const noexcept { return records_.size() - 1; }
  std::string_view key(std::uint64_t record) const noexcept {
    return blob_.substr(records_[record].key,
                        records_[record + 1].key - std::uint64_t{records_[record].key});
  }
  /// In stored order.
  std::span<const tar_field> fields(std::uint64_t record) const noexcept {
    const auto first = records_[record].field;
    return fields_.subspan(first, records_[record + 1].field - first);
  }
  /// Lives as long as the index.
  std::string_view name(const tar_field& x) const noexcept {
    return blob_.substr(names_[x.name], names_[x.name + 1] - std::uint64_t{names_[x.name]});
  }
  /// What is known of fields that are JPEGs, by `number_of`. Lives as long as this index.
  const indexed_places& places() const noexcept { return places_; }
  /// `x` is one of all_fields().
  std::size_t number_of(const tar_field& x) const noexcept {
    return static_cast<std::size_t>(&x - fields_.data());
  }
  /// The headers that lay before the field's content when the shard was indexed. `x` is one of
  /// all_fields().
  const tar_header_mark& header(const tar_field& x) const noexcept {
    return headers_[number_of(x)];
  }
  /// True if the shard's images have been surveyed; perhaps when nothing but rows was looked for.
  bool has_rows() const noexcept { return places_.has(place_kind::rows); }
  /// Fields of all records, in stored order.
  std::span<const tar_field> all_fields() const noexcept { return fields_; }

  /// The bytes of this index with these places: one entry of each kind for each of all_fields().
  std::vector<std::byte> with_places(const surveyed_places& of_fields) const;
  /// The bytes of this index without any.
  std::vector<std::byte> without_places() const;

  /// The version of the shard that the index belongs to.
  const object_version& shard() const noexcept { return shard_; }
  /// The error that ended the walk of a torn shard; empty for a whole one.
  std::string_view tear() const noexcept { return tear_; }
  /// Says that members of one key are not neighbours; empty if they all are.
  std::string_view apart() const noexcept { return apart_; }
  /// The members that belong to no record, and the rest after the end mark.
  const passed_over& others() const noexcept { return others_; }

private:
  friend class tar_index_builder;
  /// Where a record's key and fields begin; they end where the next one's begin.
  struct record {
    std::uint32_t key;
    std::uint32_t field;
  };

  static std::optional<tar_index> from(std::optional<index_sections> found,
                                       const object_version& shard);
  bool within_bounds() const noexcept;
  index_writer begun() const;

  std::optional<index_sections> sections_;
  object_version shard_;
  std::span<const tar_field> fields_;
  /// One for each field.
  std::span<const tar_header_mark> headers_;
  /// One more than there are records.
  std::span<const record> records_;
  /// Where each field name begins; one more than there are names.
  std::span<const std::uint32_t> names_;
  /// Keys and field names, one after the other.
  std::string_view blob_;
  std::string_view tear_;
  std::string_view apart_;
  passed_over others_;
  indexed_places places_;
};

/// What somebody does with the content of records while a shard is walked: `read` gives it from
/// `offset` on, each byte once.
using tar_field_visitor =
    std::function<void(std::uint64_t offset, std::uint64_t size, const byte_reader& read)>;
/// Called for each field of a record, in stored order.
using on_tar_field = std::function<void(const tar_member&)>;

/// Walks a shard's headers and makes its index. With `allow_torn`, the walk ends before the record
/// that a tear cuts, or, where only the end mark is missing, with the last member; otherwise, and
/// for members that are not supported, throws what `tar_reader::next` throws.
std::vector<std::byte> build_tar_index(tar_reader members, const object_version& shard,
                                       bool allow_torn, const on_tar_field& found = {});

/// A shard's index: a stored one, preferably one that knows all places, or a new one, stored if
/// possible. Several processes may do this at once. An index of a torn shard is only used with
/// `allow_torn`.
tar_index open_tar_index(const std::string& shard, const tar_options& options);
/// The same for an object of this store. Where this machine has no index, `far` is asked, if it is
/// null for one beside the shard. A new one is made by reading a shard that is not on this machine
/// from its beginning to its end: to ask for each header would take far longer.
tar_index open_tar_index(const object_store& store, stored_objects& objects, std::size_t number,
                         const tar_options& options, const far_indexes* far = nullptr);

/// A stored index of an object, as open_tar_index finds it; nothing where it would make one.
std::optional<tar_index> find_tar_index(stored_objects& objects, std::size_t number,
                                        const tar_options& options, const far_indexes& far);
/// A new index of an object that is not on this machine, and is read once, from its beginning to
/// its end: `visit` is called for each field meanwhile; for a torn shard also for some that the
/// index does not have, the last ones. It is not stored. Throws as build_tar_index.
tar_index visited_tar_index(stored_objects& objects, std::size_t number, bool allow_torn,
                            const tar_field_visitor& visit);

/// Opens the indexes of many shards, in parallel on the machine's cores. Throws the error of the
/// first shard in order that has one.
std::vector<tar_index> open_tar_indexes(const std::vector<std::string>& shards,
                                        const tar_options& options);
/// The same for objects of this store, which are these shards; their versions are those of a
/// manifest, if `index_dir` names one that has them. `in`: where `index_dir` may lie.
std::vector<tar_index> open_tar_indexes(const object_store& store, stored_objects& objects,
                                        const std::vector<std::string>& shards,
                                        const tar_options& options,
                                        const store_set& in = *process_stores());

/// All bytes of the index that open_tar_index found or made: with places, if this machine has them.
std::vector<std::byte> whole_tar_index(const std::string& shard, const tar_index& index,
                                       const tar_options& options);

/// How many threads open indexes, at least 1, in a process that may have that many descriptors.
std::size_t opening_threads(std::size_t shards, std::size_t cores, std::uint64_t descriptors);

} // namespace leat
