#pragma once

#include "runtime/base/xxh3.hpp"
#include "runtime/storage/object_store.hpp"
#include "runtime/storage/passed_over.hpp"

#include <leat/sample.hpp>
#include <leat/source_facts.hpp>
#include <leat/stored_source.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// A source whose records are pieces of files, and have one field: those bytes, as they are stored.
class piece_source : public stored_source, public passing_over {
public:
  void locate(std::uint64_t record, std::vector<extent>& into) const final {
    into.push_back(piece(record));
  }
  void decode(std::uint64_t record, std::span<const std::byte> bytes, sample& into) const final {
    if (into.has(field_) && into.bytes(field_).data() == bytes.data())
      return;
    const auto room = make_room(record, bytes.size(), into);
    std::copy(bytes.begin(), bytes.end(), room.begin());
  }
  source_facts facts() const final {
    return {.files = files_,
            .records = size(),
            .bytes = bytes_,
            .digest = hash_.digest128(),
            .versions = versions_of(objects(), static_cast<std::size_t>(files_))};
  }
  const passed_over& what_is_passed_over() const final { return others_; }

protected:
  piece_source(std::shared_ptr<stored_objects> objects, std::string_view field,
               passed_over others = {})
      : stored_source(std::move(objects)), field_(field), others_(std::move(others)) {}

  virtual extent piece(std::uint64_t record) const = 0;

  /// Adds the next file to the facts. `count` is a part of its identity: its records or tokens.
  void add_facts(std::string_view name, std::uint64_t bytes, std::uint64_t count) {
    ++files_;
    bytes_ += bytes;
    hash_.add(name);
    hash_.add(bytes);
    hash_.add(count);
  }

private:
  std::string_view field_;
  passed_over others_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  hash_stream hash_;
};

} // namespace leat
