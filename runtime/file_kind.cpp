#include "runtime/file_kind.hpp"

#include "runtime/open_files.hpp"
#include "runtime/utf8.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

namespace leat {

namespace {

namespace fs = std::filesystem;
using form = file_kind::form;
using namespace std::string_view_literals;

/// First bytes, what they mean, and what to do: NAME stands for the file.
struct signature {
  std::string_view bytes;
  std::string_view what;
  std::string_view instead;
};

constexpr auto to_tables =
    "tar shards, JSON lines or raw records made of it, or a source of your own (leat::indexed)"sv;
constexpr auto to_unpack =
    "the file unpacked, or packed with gzip or zstd, which tar_stream, lines and json_lines read"sv;
constexpr auto to_image_sources =
    "image_folder of the directory above its class folder, or tar shards of images"sv;
constexpr auto to_raw = "raw_records of its elements alone, without the header (tofile)"sv;

constexpr std::array signatures{
    signature{"PAR1", "a Parquet file", to_tables},
    signature{"ARROW1", "an Arrow file", to_tables},
    signature{"ORC", "an ORC file", to_tables},
    signature{"Obj\x01", "an Avro file", to_tables},
    signature{"SQLite format 3"sv, "an SQLite database", to_tables},
    signature{"\x89HDF\r\n", "an HDF5 file", to_tables},
    signature{"\x93NUMPY", "a NumPy array", to_raw},
    signature{"\xfd\x37zXZ", "an xz file", to_unpack},
    signature{"BZh", "a bzip2 file", to_unpack},
    signature{"\x04\x22\x4d\x18", "an lz4 file", to_unpack},
    signature{"7z\xbc\xaf\x27\x1c", "a 7z archive", to_unpack},
    signature{"PK\x03\x04", "a zip archive",
              "tar shards (tar cf SHARD.tar --sort=name -C FOLDER .), or image_folder of the files "
              "unpacked"},
    signature{"\xff\xd8\xff", "a JPEG image", to_image_sources},
    signature{"\x89PNG\r\n", "a PNG image", to_image_sources},
    signature{"leatsnap", "a snapshot of leat", "leat inspect NAME, or loader::restore"},
    signature{"leattar", "an index of leat's, which it keeps beside a shard", "the shard itself"},
    signature{"leatdir", "an index of leat's, which it keeps beside a class folder",
              "the folder itself"},
};

/// Kinds that have no first bytes of their own.
constexpr std::array endings{
    signature{".tfrecord", "a TFRecord file", to_tables},
    signature{".tfrecords", "a TFRecord file", to_tables},
    signature{".beton", "an FFCV file", to_tables},
    signature{".mds", "a shard of MosaicML Streaming", to_tables},
    signature{".parquet", "a Parquet file", to_tables},
    signature{".pt", "a file of PyTorch", to_tables},
    signature{".pkl", "a Python pickle", to_tables},
};

constexpr std::array addresses{
    signature{"s3://", "an address in S3 storage", ""},
    signature{"gs://", "an address in Google's storage", ""},
    signature{"gcs://", "an address in Google's storage", ""},
    signature{"az://", "an address in Azure's storage", ""},
    signature{"abfs://", "an address in Azure's storage", ""},
    signature{"hdfs://", "an address in HDFS", ""},
    signature{"hf://", "an address of Hugging Face", ""},
    signature{"http://", "an address of the web", ""},
    signature{"https://", "an address of the web", ""},
    signature{"file://", "an address", ""},
};

constexpr std::size_t tar_magic_at = 257;

std::string lower(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The name as errors show it, and as a call has it.
std::string quoted(const std::string& path) {
  std::string text{'"'};
  append_utf8(fs::path{path}.filename().string(), text);
  return text + '"';
}

file_kind filled_in(const signature& x, const std::string& path) {
  file_kind kind{form::other, std::string{x.what}, std::string{x.instead}};
  if (const auto at = kind.instead.find("NAME"); at != std::string::npos)
    kind.instead.replace(at, 4, fs::path{path}.filename().string());
  return kind;
}

/// Letters and signs, no control characters but those that texts have.
bool is_text(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](unsigned char c) {
    return c == 0x7f || (c < ' ' && "\t\n\v\f\r"sv.find(static_cast<char>(c)) == std::string::npos);
  });
}

file_kind kind_of_packed(const std::string& path, std::string_view packer,
                         std::string_view ending) {
  file_kind kind{form::other, "a file packed by " + std::string{packer}};
  const auto call = [&](const char* source) {
    return std::string{source} + "(" + quoted(path) + "), which unpacks while it reads";
  };
  switch (reading_of(path)) {
  case reading::tar_stream:
    kind.instead = call("tar_stream") + "; or the shard unpacked";
    break;
  case reading::json_lines:
    kind.instead = call("json_lines");
    break;
  case reading::lines:
    kind.instead = call("lines");
    break;
  default: {
    const std::string e{ending};
    kind.instead = "a name that tells what is in it: *.tar" + e + " for tar_stream, *.jsonl" + e
                   + " for json_lines, *.txt" + e + " for lines, which all unpack";
  }
  }
  return kind;
}

file_kind kind_of_text(const std::string& path, std::string_view text) {
  const auto begin = text.find_first_not_of("\t\n\v\f\r ");
  const auto name = quoted(path);
  if (begin == std::string_view::npos)
    return {};
  if (text[begin] == '{')
    return {form::text, "JSON", "json_lines(" + name + ") where each line is an object"};
  if (text[begin] == '[')
    return {form::text, "a JSON array",
            "JSON lines, an object a line (jq -c '.[]'), which json_lines reads"};
  return {form::text, "text", "lines(" + name + ")"};
}

} // namespace

reading reading_of(std::string_view name) {
  auto text = lower(name);
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
  return reading::unknown;
}

file_kind kind_of_file(const std::string& path, std::span<const std::byte> first) {
  const auto bytes = text_of(first.first(std::min(first.size(), kind_bytes)));
  if (bytes.substr(std::min(bytes.size(), tar_magic_at)).starts_with("ustar"))
    return {form::tar, "a tar archive",
            "tar_shards(" + quoted(path) + "), or tar_stream of a packed one"};
  if (bytes.starts_with("\x1f\x8b"))
    return kind_of_packed(path, "gzip", ".gz");
  if (bytes.starts_with("\x28\xb5\x2f\xfd"))
    return kind_of_packed(path, "zstd", ".zst");
  for (const auto& x : signatures)
    if (bytes.starts_with(x.bytes) && !(is_text(x.bytes) && bytes.size() > 64 && is_text(bytes)))
      return filled_in(x, path);
  if (is_text(bytes))
    return kind_of_text(path, bytes);
  const auto name = lower(path);
  for (const auto& x : endings)
    if (name.ends_with(x.bytes))
      return filled_in(x, path);
  return {};
}

file_kind kind_of_path(const std::string& path) try {
  for (const auto& x : addresses)
    if (path.starts_with(x.bytes))
      return {form::other, std::string{x.what},
              "a path of this machine: a mounted store, or a copy (a program may stream into "
              "\"-\", standard input)"};
  std::error_code ignored;
  const auto type = fs::status(path, ignored).type();
  if (type == fs::file_type::directory)
    return {form::other, "a directory",
            "files in it (\"" + path + "/*.tar\"), or image_folder where it holds class folders"};
  if (type == fs::file_type::fifo || type == fs::file_type::character
      || type == fs::file_type::socket)
    return {form::other, "a pipe or device",
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
