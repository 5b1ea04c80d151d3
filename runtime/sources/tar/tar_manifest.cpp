#include "runtime/sources/tar/tar_manifest.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/framed_bytes.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

constexpr std::string_view manifest_magic = "leatman1";
/// The checksum covers what follows it.
constexpr std::size_t manifest_checked_from = 16;
/// A million shards have less.
constexpr std::uint64_t most_of_manifest_head = std::uint64_t{256} << 20;
constexpr std::size_t most_of_shard_name = 4096;
constexpr std::size_t most_of_shard_tag = 1024;
/// Of an entry, besides its texts: their lengths, and numbers.
constexpr std::size_t least_of_manifest_entry = 2 * 4 + 5 * 8 + 16;

constexpr std::uint64_t aligned(std::uint64_t x) noexcept {
  return (x + 7) / 8 * 8;
}

std::string_view chars_of(std::span<const std::byte> x) noexcept {
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

void append_text(std::string& to, std::string_view text) {
  append_little_endian(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

/// Takes fields from the front of a head; stops at the first that is not there.
class manifest_fields {
public:
  explicit manifest_fields(std::string_view from) : from_(from) {}

  template <class T>
  T number() {
    if (!has(sizeof(T)))
      return {};
    const auto x = little_endian_at<T>(from_, 0);
    from_.remove_prefix(sizeof(T));
    return x;
  }
  std::string text(std::size_t most) {
    const auto size = number<std::uint32_t>();
    is_good_ = is_good_ && size <= most;
    if (!has(size))
      return {};
    std::string x{from_.substr(0, size)};
    from_.remove_prefix(size);
    return x;
  }
  bool is_good() const noexcept { return is_good_; }

private:
  bool has(std::size_t bytes) noexcept { return is_good_ = is_good_ && bytes <= from_.size(); }

  std::string_view from_;
  bool is_good_ = true;
};

void append_entry(std::string& to, const manifest_entry& x) {
  append_text(to, x.name);
  append_text(to, x.version.tag);
  append_little_endian(to, x.version.size);
  append_little_endian(to, x.version.mtime_ns);
  append_little_endian(to, x.records);
  append_little_endian(to, x.digest.low);
  append_little_endian(to, x.digest.high);
  append_little_endian(to, x.begin);
  append_little_endian(to, x.bytes);
}

manifest_entry take_entry(manifest_fields& from) {
  manifest_entry x;
  x.name = from.text(most_of_shard_name);
  x.version.tag = from.text(most_of_shard_tag);
  x.version.size = from.number<std::uint64_t>();
  x.version.mtime_ns = from.number<std::int64_t>();
  x.records = from.number<std::uint64_t>();
  x.digest.low = from.number<std::uint64_t>();
  x.digest.high = from.number<std::uint64_t>();
  x.begin = from.number<std::uint64_t>();
  x.bytes = from.number<std::uint64_t>();
  return x;
}

std::uint64_t bytes_of_entry(const manifest_shard& x) {
  return least_of_manifest_entry + x.name.size() + x.version.tag.size();
}

void check_manifest_texts(const manifest_shard& x, const std::string& manifest) {
  if (x.name.size() > most_of_shard_name || x.version.tag.size() > most_of_shard_tag)
    throw_file_error(errc::invalid_argument, "manifest", manifest,
                     "a shard whose name or version is longer than a manifest takes",
                     std::to_string(most_of_shard_name) + " bytes of a name at most, and "
                         + std::to_string(most_of_shard_tag) + " of an ETag");
}

/// Up to its last "/", without it.
std::string_view folder_of_manifest(std::string_view name) noexcept {
  return name.substr(0, std::min(name.rfind('/'), name.size()));
}

bool is_whole_name(std::string_view x) noexcept {
  return x.starts_with('/') || !scheme_of(x).empty();
}

} // namespace

std::uint64_t manifest_head_bytes(std::span<const std::byte> prefix, std::uint64_t all) {
  const auto text = chars_of(prefix);
  if (text.size() < manifest_prefix_bytes || !text.starts_with(manifest_magic))
    return 0;
  const auto head = little_endian_at<std::uint64_t>(text, manifest_checked_from);
  const bool is_possible = head >= manifest_prefix_bytes && head % 8 == 0 && head <= all
                           && head <= most_of_manifest_head;
  return is_possible ? head : 0;
}

std::optional<std::vector<manifest_entry>> read_manifest_head(std::span<const std::byte> head,
                                                              std::uint64_t all) {
  const auto size = manifest_head_bytes(head, all);
  if (size == 0 || size != head.size())
    return {};
  const auto text = chars_of(head);
  if (little_endian_at<std::uint64_t>(text, manifest_magic.size())
      != xxh3_64(head.subspan(manifest_checked_from)))
    return {};
  manifest_fields from{text.substr(manifest_checked_from + sizeof(std::uint64_t))};
  const auto whole = from.number<std::uint64_t>();
  const auto count = from.number<std::uint64_t>();
  if (whole != all || count > size / least_of_manifest_entry)
    return {};
  std::vector<manifest_entry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  auto end = size;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto x = take_entry(from);
    if (!from.is_good() || x.name.empty() || x.begin != end || x.bytes > all - end
        || aligned(x.bytes) > all - end)
      return {};
    end += aligned(x.bytes);
    entries.push_back(std::move(x));
  }
  return end == all ? std::optional{std::move(entries)} : std::nullopt;
}

std::vector<std::byte> write_manifest(std::span<const manifest_shard> shards,
                                      const std::string& name) {
  std::uint64_t head_bytes = manifest_prefix_bytes;
  for (const auto& x : shards) {
    check_manifest_texts(x, name);
    head_bytes += bytes_of_entry(x);
  }
  head_bytes = aligned(head_bytes);
  auto end = head_bytes;
  std::string entries;
  for (const auto& x : shards) {
    append_entry(entries, {.name = x.name,
                           .version = x.version,
                           .records = x.records,
                           .digest = xxh3_128(x.index),
                           .begin = end,
                           .bytes = x.index.size()});
    end += aligned(x.index.size());
  }
  if (end > most_put_bytes || head_bytes > most_of_manifest_head)
    throw_file_error(errc::invalid_argument, "manifest", name,
                     std::to_string(end) + " bytes of indexes",
                     "at most " + std::to_string(most_put_bytes)
                         + " in one manifest: make one for each part of the data");
  std::string checked;
  append_little_endian(checked, head_bytes);
  append_little_endian(checked, end);
  append_little_endian(checked, static_cast<std::uint64_t>(shards.size()));
  checked += entries;
  checked.resize(static_cast<std::size_t>(head_bytes) - manifest_checked_from);
  std::string all{manifest_magic};
  append_little_endian(all, xxh3_64(std::as_bytes(std::span{checked})));
  all += checked;
  std::vector<std::byte> bytes(static_cast<std::size_t>(end));
  std::transform(all.begin(), all.end(), bytes.begin(),
                 [](char x) { return static_cast<std::byte>(x); });
  auto at = static_cast<std::ptrdiff_t>(head_bytes);
  for (const auto& x : shards) {
    std::copy(x.index.begin(), x.index.end(), bytes.begin() + at);
    at += static_cast<std::ptrdiff_t>(aligned(x.index.size()));
  }
  return bytes;
}

std::string name_in_manifest(const std::string& shard, const std::string& manifest) {
  const auto folder = std::string{folder_of_manifest(manifest)} + "/";
  const auto below = std::string_view{shard}.substr(std::min(folder.size(), shard.size()));
  // A name that would be read as a whole one stays whole.
  return shard.starts_with(folder) && !below.empty() && !is_whole_name(below) ? std::string{below}
                                                                              : shard;
}

std::string name_by_manifest(const std::string& entry, const std::string& manifest) {
  return is_whole_name(entry) ? entry : std::string{folder_of_manifest(manifest)} + "/" + entry;
}

} // namespace leat
