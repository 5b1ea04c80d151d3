#pragma once

#include "runtime/sample/located_records.hpp"
#include "runtime/sources/records_in_files.hpp"
#include "runtime/sources/tables/block_cache.hpp"
#include "runtime/storage/file_set.hpp"
#include "runtime/storage/passed_over.hpp"

#include <leat/source.hpp>
#include <leat/tables.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat {

class far_tables;

/// The rows of files that are stored in blocks, each decoded as a whole.
class table_source final : public source, public located_records, public passing_over {
public:
  /// Opens all files. `format` is the operator's name. Throws what the reader throws, and
  /// `errc::invalid_argument` for files whose columns differ.
  table_source(std::string format, file_set files, table_options options,
               std::shared_ptr<const table_reader> reader);
  ~table_source() override;

  std::uint64_t size() const override { return in_files_.size(); }
  void read(std::uint64_t record, sample& into) const override;
  stored_objects* locate(std::uint64_t record, std::vector<extent>& into) const override;
  void append_id(std::uint64_t record, std::string& to) const override {
    in_files_.append_id(record, to);
  }
  /// The records of each block: blocks count as files.
  std::vector<std::uint64_t> records_per_file() const override { return in_blocks_.counts(); }
  source_facts facts() const override;
  std::string name() const override { return format_; }
  const passed_over& what_is_passed_over() const override { return others_; }

private:
  /// The file of a block, and its number there.
  struct block_place {
    std::size_t file = 0;
    std::uint64_t block = 0;
    /// What is read of it, of a file that is not on this machine; empty: nobody knows.
    std::vector<table_range> ranges = {};
  };

  void open_all(const std::vector<std::string>& names);
  std::uint64_t bytes_of(std::size_t file) const;
  table_file open(std::size_t file, const table_options& options) const;
  /// Columns may lie in another order there.
  table_file open_like_first(std::size_t file) const;
  cached_block decode(std::uint64_t block) const;
  [[noreturn]] void refuse_null(const table_column& x, std::uint64_t block,
                                std::uint64_t row) const;
  /// Says once that blocks are decoded again and again for a few rows.
  void notice_waste() const;

  std::string format_;
  std::vector<std::string> paths_;
  passed_over others_;
  table_options options_;
  std::shared_ptr<const table_reader> reader_;
  /// Null: the files are on this machine.
  std::unique_ptr<far_tables> far_;
  records_in_files in_files_;
  records_in_files in_blocks_{{}};
  std::vector<block_place> blocks_;
  /// Its columns are those of all files.
  table_file first_;
  source_facts facts_;
  std::optional<block_cache> cache_;
  mutable std::atomic<std::uint64_t> rows_read_ = 0;
  mutable std::atomic<bool> was_noticed_ = false;
};

} // namespace leat
