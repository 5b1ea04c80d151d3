#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace leat {

/// The suffix of a temporary file's name.
inline constexpr std::string_view temporary_suffix = ".tmp";

/// A name for a temporary file next to `file` that no other writer on any machine uses. Throws
/// `errc::io`.
std::filesystem::path temporary_name(const std::filesystem::path& file);

/// Writes a file so that it is there whole or not at all, even after a power cut: writes `file` +
/// ".tmp", fsync, rename, fsync of the directory. Replaces an older file or a link; no link that
/// somebody put in the place of either diverts the bytes.
/// Throws `errc::io` with the file and the system's words, and then removes the temporary file.
/// One writer per file at a time. `mode` is that of the new file.
void write_durably(const std::filesystem::path& file, std::string_view bytes, mode_t mode = 0644);

/// Creates a file if no process on any machine has created it yet; otherwise returns false. The
/// file is there whole or not at all, even after a power cut; a killed process leaves only a file
/// of another name that ends in ".tmp". Throws as `write_durably`, and on file systems without hard
/// links.
bool create_durably(const std::filesystem::path& file, std::string_view bytes, mode_t mode = 0644);

/// Writes an output that the user names. A plain file is created, or replaced as a whole with its
/// mode kept, through symbolic links; anything else is written to. `option` is named in errors.
/// Throws as `write_durably` and `place_of_output`.
void write_output(const std::filesystem::path& file, std::string_view bytes,
                  const std::string& option);

/// A file that is written piece by piece, and is there whole or not at all, even after a power cut.
/// Until it is committed it has a temporary name of its own, `file` + ".PROCESS.NUMBER.tmp", so
/// that several writers may write the same file: the last to commit wins. All errors are `errc::io`
/// with the file and the system's words.
class durable_file {
public:
  explicit durable_file(std::filesystem::path file);
  /// Removes what was not committed.
  ~durable_file();
  durable_file(durable_file&&) noexcept;
  durable_file& operator=(durable_file&&) noexcept;

  void append(std::string_view bytes);
  /// fsync, rename, fsync of the directory. Nothing may be appended afterwards.
  void commit();

private:
  class content;
  std::unique_ptr<content> content_;
};

/// Removes what a dead process left of a `durable_file`, by its temporary name; does nothing if
/// this process is writing it. A live writer in another process would fail to commit. Throws
/// `errc::io`.
void remove_leftover(const std::filesystem::path& temporary);

/// Creates a directory with its parents, and syncs each entry. It may exist, or be created by
/// another process meanwhile. `mode` applies to the last one if it is new. Throws `errc::io`.
void make_directory_durably(const std::filesystem::path& directory, mode_t mode = 0755);

/// Removes a file if it exists. Throws `errc::io`.
void remove_file(const std::filesystem::path& file);

} // namespace leat
