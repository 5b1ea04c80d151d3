#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace leat {

/// What stands at the end of a temporary file's name.
inline constexpr std::string_view temporary_suffix = ".tmp";

/// A name for a temporary file beside `file` that no other writer on any machine has. Throws
/// `errc::io`.
std::filesystem::path temporary_name(const std::filesystem::path& file);

/// Writes a file so that it is there whole, also after a power cut, or not at all: into
/// `file` + ".tmp", fsync, rename, fsync of the directory. Replaces an older file, or a link; no
/// link that somebody put in the place of either leads the bytes elsewhere.
/// Throws `errc::io` with the file and the system's words; the temporary file is removed then.
/// One writer for each file at a time. `mode` is that of the new file.
void write_durably(const std::filesystem::path& file, std::string_view bytes, mode_t mode = 0644);

/// Makes a file that no other process on any machine makes: false where it is there already. It is
/// there whole, also after a power cut, or not at all; what a killed process leaves behind is a
/// file of another name that ends in ".tmp". Throws as `write_durably`, and on file systems without
/// hard links.
bool create_durably(const std::filesystem::path& file, std::string_view bytes, mode_t mode = 0644);

/// Writes an output that a user names. A plain file is replaced as a whole, through symbolic links,
/// or made, with its mode kept; anything else is written to. `option` stands in errors. Throws
/// as `write_durably` and `place_of_output`.
void write_output(const std::filesystem::path& file, std::string_view bytes,
                  const std::string& option);

/// A file that is written piece by piece, and is there whole, also after a power cut, or not at
/// all. Until then it has a temporary name of its own beside it, `file` + ".PROCESS.NUMBER.tmp",
/// so that several may write one file: the last to commit stays. All errors are `errc::io` with the
/// file and the system's words.
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

/// Removes what a process that died left of a `durable_file`, by its temporary name; nothing if
/// this process is writing it. A writer in another process would fail to commit. Throws
/// `errc::io`.
void remove_leftover(const std::filesystem::path& temporary);

/// Makes a directory with its parents, each entered durably. It may exist, or be made by another
/// process meanwhile. `mode` is that of the last one if it is new. Throws `errc::io`.
void make_directory_durably(const std::filesystem::path& directory, mode_t mode = 0755);

/// Removes a file, which may be gone already. Throws `errc::io`.
void remove_file(const std::filesystem::path& file);

} // namespace leat
