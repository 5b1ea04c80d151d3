#include "runtime/lending/content_sample.hpp"

#include "runtime/base/value_bytes.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/lending/files_below.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sample/stored_sample.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/file_set.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace leat {

namespace {

/// For each source: as many reads as a slow disk makes in a moment.
constexpr std::uint64_t most_files = 16;
constexpr std::size_t stretch = 4096;

/// Up to `most_files` of n, the first and the last among them.
void for_some(std::uint64_t n, const std::function<void(std::uint64_t)>& visit) {
  const auto some = std::min(n, most_files);
  for (std::uint64_t i = 0; i < some; ++i)
    visit(some == 1 ? 0 : i * (n - 1) / (some - 1));
}

void add_file(hash_stream& to, const std::string& path) {
  object_version version;
  const auto file = file_descriptor::open(path, &version);
  std::array<std::byte, stretch> bytes{};
  const auto last = version.size - std::min<std::uint64_t>(version.size, stretch);
  for (const auto offset : {std::uint64_t{0}, last / 2, last})
    to.add_raw(std::span{bytes}.first(read_at(file, path, offset, bytes)));
}

void add_record(hash_stream& to, const source& from, std::uint64_t record) {
  to.add(bytes_written_by([&](value_writer& bytes) {
    sample found;
    try {
      from.read(record, found);
      stored_sample::of(found)->write(bytes);
    } catch (const bad_sample& problem) {
      stored_sample::of(problem)->write(bytes);
    }
  }));
}

void add_source(hash_stream& to, const operator_node& node) {
  for (const auto& option : node.options)
    if (option.name == "path") {
      add_file(to, std::get<std::string>(option.value));
    } else if (option.name == "patterns") {
      const auto files = files_of_patterns(node);
      for_some(files.size(), [&](std::uint64_t i) { add_file(to, files[i]); });
    } else if (option.name == "directory" && node.data) {
      const auto data = node.data->get();
      for_some(data->size(), [&](std::uint64_t i) { add_record(to, *data, i); });
    }
}

/// Other names are those of servers, or mean something else elsewhere: nobody else reads these.
bool is_local(const operator_node& node) {
  return std::all_of(node.options.begin(), node.options.end(), [](const node_option& x) {
    if (x.name == "path" || x.name == "directory")
      return std::get<std::string>(x.value).starts_with('/');
    if (x.name != "patterns")
      return true;
    const auto& patterns = std::get<std::vector<std::string>>(x.value);
    return std::all_of(patterns.begin(), patterns.end(),
                       [](const std::string& each) { return each.starts_with('/'); });
  });
}

} // namespace

hash128 content_sample(const pipeline& x) {
  hash_stream to;
  for_each_operator(x.root(), [&](const operator_node& node) {
    if (!node.is_source() || !is_local(node))
      return;
    try {
      add_source(to, node);
    } catch (const std::exception&) {
      to.add("not read");
    }
  });
  return to.digest128();
}

} // namespace leat
