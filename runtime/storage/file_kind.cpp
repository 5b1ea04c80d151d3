#include "runtime/storage/file_kind.hpp"

#include "runtime/base/utf8.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <array>
#include <filesystem>

namespace leat {

namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

/// The first bytes of a kind of file, its name, and what to use instead: NAME stands for the file.
struct kind_mark {
  std::string_view bytes;
  std::string_view what;
  std::string_view instead;
};

constexpr auto to_tables =
    "tar shards, JSON lines or raw records made of it, or a source of your own (indexed)"sv;
constexpr auto to_parquet =
    "parquet(\"NAME\") in a program that reads such files: leat.parquet in Python"sv;
constexpr auto to_arrow =
    "arrow(\"NAME\") in a program that reads such files: leat.arrow in Python"sv;
constexpr auto to_unpack =
    "the decompressed file, or one compressed with gzip or zstd, which tar_stream, lines and "
    "json_lines read"sv;
constexpr auto to_image_sources =
    "image_folder of the directory above its class folder, or tar shards of images"sv;
constexpr auto to_arrays =
    "npy(\"NAME\"), whose records lie along the first axis, or tokens for windows of it"sv;
constexpr auto to_megatron = "megatron(\"NAME\"), with the .bin file beside it"sv;

constexpr std::array first_bytes_of_kinds{
    kind_mark{"PAR1", "a Parquet file", to_parquet},
    kind_mark{"ARROW1", "an Arrow file", to_arrow},
    kind_mark{"ORC", "an ORC file", to_tables},
    kind_mark{"Obj\x01", "an Avro file", to_tables},
    kind_mark{"SQLite format 3"sv, "an SQLite database", to_tables},
    kind_mark{"\x89HDF\r\n", "an HDF5 file", to_tables},
    kind_mark{"\x93NUMPY", "a NumPy array", to_arrays},
    kind_mark{"MMIDIDX\0"sv, "an index of Megatron-LM's tokens", to_megatron},
    kind_mark{"\xfd\x37zXZ", "an xz file", to_unpack},
    kind_mark{"BZh", "a bzip2 file", to_unpack},
    kind_mark{"\x04\x22\x4d\x18", "an lz4 file", to_unpack},
    kind_mark{"7z\xbc\xaf\x27\x1c", "a 7z archive", to_unpack},
    kind_mark{
        "PK\x03\x04", "a zip archive",
        "tar shards (tar cf SHARD.tar --sort=name -C FOLDER .), or image_folder of the extracted "
        "files"},
    kind_mark{"\xff\xd8\xff", "a JPEG image", to_image_sources},
    kind_mark{"\x89PNG\r\n", "a PNG image", to_image_sources},
    kind_mark{"leatsnap", "a snapshot of leat", "leat inspect NAME, or restore of a loader"},
    kind_mark{"leattar", "an index file that leat keeps beside a shard", "the shard itself"},
    kind_mark{"leatdir", "an index file that leat keeps beside a class folder",
              "the folder itself"},
};

/// Kinds that have no first bytes of their own.
constexpr std::array endings_of_kinds{
    kind_mark{".tfrecord", "a TFRecord file", to_tables},
    kind_mark{".tfrecords", "a TFRecord file", to_tables},
    kind_mark{".beton", "an FFCV file", to_tables},
    kind_mark{".mds", "a shard of MosaicML Streaming", to_tables},
    kind_mark{".parquet", "a Parquet file", to_parquet},
    kind_mark{".pt", "a PyTorch file", to_tables},
    kind_mark{".pkl", "a Python pickle", to_tables},
};

/// Addresses that leat does not read.
constexpr std::array address_marks{
    kind_mark{"az://", "an address in Azure's storage", ""},
    kind_mark{"abfs://", "an address in Azure's storage", ""},
    kind_mark{"hdfs://", "an address in HDFS", ""},
    kind_mark{"file://", "an address", ""},
};

constexpr std::size_t tar_magic_at = 257;

std::string lower_case(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The name as errors show it and as it is written in a call.
std::string quoted_name(const std::string& path) {
  return '"' + as_utf8(path) + '"';
}

file_kind filled_in(const kind_mark& x, const std::string& path) {
  file_kind kind{file_kind::form::other, std::string{x.what}, std::string{x.instead}};
  if (const auto at = kind.instead.find("NAME"); at != std::string::npos)
    kind.instead.replace(at, 4, path);
  return kind;
}

/// Whether there are no control characters except those that occur in texts.
bool holds_text(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](unsigned char c) {
    return c == 0x7f || (c < ' ' && "\t\n\v\f\r"sv.find(static_cast<char>(c)) == std::string::npos);
  });
}

/// Whether these are the first bytes of that kind of file. A text may begin with the same letters,
/// but in files of these kinds no text follows them, except perhaps in a short bzip2 file, which is
/// known by the mark of its first block.
bool is_of(const kind_mark& kind, std::string_view bytes) {
  constexpr auto bzip2_block = "1AY&SY"sv;
  const bool is_letters = std::all_of(kind.bytes.begin(), kind.bytes.end(),
                                      [](unsigned char c) { return c >= ' ' && c < 0x7f; });
  return bytes.starts_with(kind.bytes)
         && (!is_letters || !holds_text(bytes)
             || bytes.substr(std::min<std::size_t>(bytes.size(), 4)).starts_with(bzip2_block));
}

file_kind kind_of_packed(const std::string& path, std::string_view packer,
                         std::string_view ending) {
  file_kind kind{file_kind::form::other, "a file compressed by " + std::string{packer}};
  const auto call = [&](const char* source) {
    return std::string{source} + "(" + quoted_name(path) + "), which decompresses while it reads";
  };
  const bool says_so = lower_case(path).ends_with(ending);
  const auto read_as = reading_of(path);
  if (!says_so && (read_as == reading::json_lines || read_as == reading::lines)) {
    kind.instead =
        "a name that says so, by which it is decompressed: " + path + std::string{ending};
    return kind;
  }
  switch (read_as) {
  case reading::tar_stream:
    kind.instead = call("tar_stream") + "; or the decompressed shard";
    break;
  case reading::json_lines:
    kind.instead = call("json_lines");
    break;
  case reading::lines:
    kind.instead = call("lines");
    break;
  default: {
    const std::string e{ending};
    kind.instead = "a name that says what is in it: *.tar" + e + " for tar_stream, *.jsonl" + e
                   + " for json_lines, *.txt" + e + " for lines, which all decompress";
  }
  }
  return kind;
}

/// Text in UTF-16 with a byte order mark.
bool is_utf16(std::string_view bytes) {
  return bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
}

file_kind kind_of_text(const std::string& path, std::string_view text) {
  const auto begin = text.find_first_not_of("\t\n\v\f\r ");
  const auto name = quoted_name(path);
  if (begin == std::string_view::npos)
    return {};
  if (text[begin] == '{')
    return {file_kind::form::text, "JSON", "json_lines(" + name + ") if each line is an object"};
  if (const auto head = lower_case(text.substr(begin, 14));
      head.starts_with("<!doctype html") || head.starts_with("<html"))
    return {file_kind::form::text, "a page of HTML",
            "the file itself: a server may have answered a download with this page"};
  if (text[begin] == '[')
    return {file_kind::form::text, "a JSON array",
            "JSON lines, one object per line (jq -c '.[]'), which json_lines reads"};
  return {file_kind::form::text, "text", "lines(" + name + ")"};
}

} // namespace

reading reading_of(std::string_view name) {
  auto text = lower_case(name);
  if (text.ends_with(".tgz") || text.ends_with(".tzst"))
    return reading::tar_stream;
  const bool is_packed = text.ends_with(".gz") || text.ends_with(".zst");
  if (is_packed)
    text.resize(text.rfind('.'));
  if (text.ends_with(".tar"))
    return is_packed ? reading::tar_stream : reading::tar_shards;
  if (text.ends_with(".jsonl") || text.ends_with(".ndjson"))
    return reading::json_lines;
  if (text.ends_with(".txt") || text.ends_with(".text"))
    return reading::lines;
  if (!is_packed && text.ends_with(".npy"))
    return reading::npy;
  if (!is_packed && text.ends_with(".idx"))
    return reading::megatron;
  return reading::unknown;
}

file_kind kind_of_file(const std::string& path, std::span<const std::byte> first) {
  // A name can be wrong, so its ending counts only if the bytes match nothing.
  const auto bytes = as_text(first.first(std::min(first.size(), kind_bytes)));
  if (bytes.substr(std::min(bytes.size(), tar_magic_at)).starts_with("ustar"))
    return {file_kind::form::tar, "a tar archive",
            "tar_shards(" + quoted_name(path) + "), or tar_stream if it is compressed"};
  if (bytes.starts_with("\x1f\x8b"))
    return kind_of_packed(path, "gzip", ".gz");
  if (bytes.starts_with("\x28\xb5\x2f\xfd"))
    return kind_of_packed(path, "zstd", ".zst");
  for (const auto& x : first_bytes_of_kinds)
    if (is_of(x, bytes))
      return filled_in(x, path);
  if (holds_text(bytes))
    return kind_of_text(path, bytes);
  if (is_utf16(bytes))
    return {file_kind::form::text, "text in UTF-16", "UTF-8: iconv -f UTF-16 -t UTF-8"};
  const auto name = lower_case(path);
  for (const auto& x : endings_of_kinds)
    if (name.ends_with(x.bytes))
      return filled_in(x, path);
  return {};
}

file_kind kind_of_path(const std::string& path) try {
  for (const auto& x : address_marks)
    if (path.starts_with(x.bytes))
      return {file_kind::form::other, std::string{x.what},
              "a path of this machine: a mounted store, or a copy (a program may stream into "
              "\"-\", standard input)"};
  std::error_code ignored;
  const auto type = fs::status(path, ignored).type();
  if (type == fs::file_type::directory)
    return {file_kind::form::other, "a directory",
            "files in it (\"" + path + "/*.tar\"), or image_folder if it holds class folders"};
  if (type == fs::file_type::fifo || type == fs::file_type::character
      || type == fs::file_type::block || type == fs::file_type::socket)
    return {file_kind::form::other, "a pipe or device",
            "a plain file; what comes once is read by standard_input, lines and json_lines"};
  if (type != fs::file_type::regular)
    return {};
  std::array<std::byte, kind_bytes> first{};
  const auto file = file_descriptor::open(path);
  return kind_of_file(path, std::span{first}.first(read_at(file, path, 0, first)));
} catch (const error&) {
  return {};
}

} // namespace leat
