#pragma once

#include "runtime/base/xxh3.hpp"
#include "runtime/sample/hinted_source.hpp"
#include "runtime/sources/tokens/records_in_files.hpp"
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
class piece_source : public stored_source, public hinted_source, public passing_over {
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
  void expect(std::uint64_t record) const final {
    const auto x = piece(record);
    objects().expect(x.file, x.offset, x.size);
  }
  const passed_over& what_is_passed_over() const final { return others_; }

protected:
  piece_source(std::shared_ptr<stored_objects> objects, std::string_view field, passed_over others)
      : stored_source(std::move(objects)), field_(field), others_(std::move(others)) {}

  virtual extent piece(std::uint64_t record) const = 0;

private:
  std::string_view field_;
  passed_over others_;
};

/// What the facts about a source are made of.
struct facts_of_file {
  /// Its size.
  std::uint64_t bytes = 0;
  /// What else belongs to its identity: a number of records, or of tokens.
  std::uint64_t count = 0;
};

/// `records`: of all files.
inline source_facts facts_of(const records_in_files& names, const std::vector<facts_of_file>& files,
                             std::uint64_t records) {
  source_facts x{.files = files.size(), .records = records, .bytes = 0, .digest = {}};
  hash_stream hash;
  for (std::size_t i = 0; i < files.size(); ++i) {
    hash.add(names.names()[i]);
    hash.add(files[i].bytes);
    hash.add(files[i].count);
    x.bytes += files[i].bytes;
  }
  x.digest = hash.digest128();
  return x;
}

} // namespace leat
