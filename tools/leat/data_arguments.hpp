#pragma once

#include <leat/pipeline.hpp>
#include <leat/remote_options.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace leat::command {

/// The data set that DATA... of the command line names.
struct data_arguments {
  std::vector<std::string> data = {};
  /// Directory for the indexes of tar shards and folders; empty: the library's choice.
  std::string index_dir = {};
  /// Whether to use the complete samples before a tear in a shard.
  bool allow_torn = false;
  /// Parts that each text file is cut into.
  std::uint64_t ranges = 1;
  remote_options remote = {};
};

/// Adds DATA..., --index-dir, --allow-torn, --ranges and the options for servers.
void add_data_arguments(CLI::App& app, data_arguments& to);

enum class data_kind : std::uint8_t {
  /// "count:N" or "count:N:BYTES": virtual records.
  count,
  /// A directory with one subfolder per class; an address that ends with "/".
  folder,
  /// "-": the lines of standard input.
  standard_input,
  /// *.txt, also compressed
  lines,
  /// *.jsonl, also compressed
  json_lines,
  /// *.npy
  npy,
  /// *.idx, with the .bin file next to it
  megatron,
  /// *.tar.gz and the like: compressed tar archives.
  tar_stream,
  /// Anything else: paths, braces and globs of tar shards.
  tar,
};

/// What one argument names, by its ending. Checks the file system for directories.
data_kind kind_of(const std::string& argument);

/// The data set as the first operator of a pipeline. Opens nothing. Throws `errc::invalid_argument`
/// if kinds are mixed, there are several folders or counts, a count is not a number, or ranges are
/// given for data without lines.
pipeline data_pipeline(const data_arguments& x);

/// True for data that is read in sequence, in its stored order.
bool is_sequential(const data_arguments& x);

/// True if the records are images: record 0 has a field "jpg" or "jpeg". `data` is what
/// `data_pipeline` made of the arguments; this opens it.
bool holds_images(const data_arguments& x, const pipeline& data);

} // namespace leat::command
