#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace leat {

/// What stands at the end of a temporary file's name.
inline constexpr std::string_view temporary_suffix = ".tmp";

/// Writes a file so that it is there whole, also after a power cut, or not at all: into
/// `file` + ".tmp", fsync, rename, fsync of the directory. Replaces an older file.
/// Throws `errc::io` with the file and the system's words; the temporary file is removed then.
/// One writer for each file at a time.
void write_durably(const std::filesystem::path& file, std::string_view bytes);

/// Writes an output that a user names. A plain file is replaced as a whole, through symbolic links,
/// or made, with its mode kept; anything else is written to. `option` stands in errors. Throws
/// as `write_durably` and `place_of_output`.
void write_output(const std::filesystem::path& file, std::string_view bytes,
                  const std::string& option);

/// Makes a directory with its parents, each entered durably. It may exist, or be made by another
/// process meanwhile. Throws `errc::io`.
void make_directory_durably(const std::filesystem::path& directory);

/// Removes a file, which may be gone already. Throws `errc::io`.
void remove_file(const std::filesystem::path& file);

} // namespace leat
