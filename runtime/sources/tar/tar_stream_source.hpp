#pragma once

#include "runtime/sample/stream_source.hpp"
#include "runtime/sources/stream_opener.hpp"
#include "runtime/storage/passed_over.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// The samples of tar files, found by reading their headers. A unit is a file. For uncompressed
/// files only headers are read ahead; records of others carry their content.
class tar_stream_source final : public stream_source, public passing_over {
public:
  /// Throws as `find_files` does.
  explicit tar_stream_source(const std::vector<std::string>& patterns,
                             std::size_t pool_bytes = stream_pool::default_limit_bytes);
  /// Throws `errc::not_found`, `errc::io`.
  explicit tar_stream_source(file_set files,
                             std::size_t pool_bytes = stream_pool::default_limit_bytes);

  std::uint64_t units() const override { return opener_.files().size(); }
  using stream_source::open;
  std::unique_ptr<unit_reader> open(std::uint64_t unit, const stream_place& from,
                                    const reader_options& options) const override;
  bool is_unpacked(std::uint64_t unit) const override { return opener_.is_unpacked(unit); }
  stored_objects* locate(const stream_record& record, std::vector<extent>& into) const override;
  void read(const stream_record& record, sample& into) const override;
  payload_ptr read_content(const stream_record& record, const std::stop_token& stop) const override;
  void append_id(const stream_record& record, std::string& to) const override;
  source_facts facts() const override { return opener_.files().facts(); }
  std::string name() const override { return "tar_stream"; }
  std::string file_of_unit(std::uint64_t unit) const override {
    return opener_.files().path(static_cast<std::size_t>(unit));
  }
  /// Only among what patterns match: members are known when they have been read.
  const passed_over& what_is_passed_over() const override { return opener_.files().others(); }

private:
  /// Sets the fields of a sample from a record's bytes.
  void decode(const stream_record& record, std::span<const std::byte> bytes, sample& into) const;
  void check(std::uint64_t unit, const stream_place& from, restart_point restart) const;
  /// Where unpacking begins for a record, once it is clear that it can lie in its file.
  restart_point checked_restart(const stream_record& record) const;

  stream_opener opener_;
  /// Whether a notice has said what is passed over in a file.
  mutable std::atomic<bool> others_told_ = false;
};

} // namespace leat
