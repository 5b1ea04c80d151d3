#pragma once

#include <leat/export.hpp>
#include <leat/sample.hpp>
#include <leat/source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat {

class stored_objects;

/// A range of bytes of a stored file.
struct extent {
  /// Its number among the source's files.
  std::size_t file = 0;
  /// Offset of the first byte.
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  friend bool operator==(const extent&, const extent&) = default;
};

/// A source whose records lie in files: it says where each lies, and makes a sample from the bytes;
/// leat reads them.
class LEAT_API stored_source : public source {
public:
  ~stored_source() override;

  /// Appends where the record's bytes lie: as few extents as possible, since each may be a request.
  /// Bytes between two extents that are at most 64 KiB apart are better read than left out.
  /// May be called once more, before the record is read, so that its bytes are near by then.
  virtual void locate(std::uint64_t record, std::vector<extent>& into) const = 0;

  /// Sets the fields of one record in an empty sample. `bytes` are those of its extents, one after
  /// the other; they live as long as the record's row, so fields may borrow them.
  /// Throws `bad_sample` for bad content.
  virtual void decode(std::uint64_t record, std::span<const std::byte> bytes,
                      sample& into) const = 0;

  /// Where `read` puts the bytes, `size` in all: by default in the sample's scratch buffer. A
  /// source whose bytes are already a tensor makes that tensor here, and finds `bytes` in it when
  /// it decodes.
  virtual std::span<std::byte> make_room(std::uint64_t record, std::size_t size,
                                         sample& into) const;

  /// Locates a record, reads its bytes and decodes them.
  /// Throws what these throw, and `leat::error` (not_found, io, torn_file) for a failing store.
  void read(std::uint64_t record, sample& into) const final;

  /// The files that the numbers in extents refer to.
  stored_objects& objects() const noexcept { return *objects_; }

protected:
  /// Reads local files by their paths; they are opened when they are first needed, few at a time.
  explicit stored_source(std::vector<std::string> files);
  explicit stored_source(std::shared_ptr<stored_objects> objects);

private:
  std::shared_ptr<stored_objects> objects_;
};

} // namespace leat
