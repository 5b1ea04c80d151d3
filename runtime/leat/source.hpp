#pragma once

#include <leat/export.hpp>
#include <leat/sample.hpp>
#include <leat/source_facts.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// Records that are numbered 0 .. size()-1 and can be read in any order.
/// All members are const and called by many threads at once.
class LEAT_API source {
public:
  virtual ~source();

  /// Number of records.
  virtual std::uint64_t size() const = 0;

  /// Sets the fields of one record in an empty sample. Throws `bad_sample` for bad content,
  /// `leat::error` (io, torn_file) for a failing store.
  virtual void read(std::uint64_t record, sample& into) const = 0;

  /// Appends the record's id: unique in the source, the same on every machine; leat makes it UTF-8.
  /// By default "name()/record".
  virtual void append_id(std::uint64_t record, std::string& to) const;

  /// Records of each stored file in stored order: what a windowed shuffle works on.
  /// By default one file that holds all.
  virtual std::vector<std::uint64_t> records_per_file() const;

  /// By default one file of size() records, and a digest over name() and size().
  virtual source_facts facts() const;

  /// Short name of the kind of data: "count", "cifar".
  virtual std::string name() const = 0;
};

} // namespace leat
