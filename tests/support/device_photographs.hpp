#pragma once

#include "tests/support/files.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/png_writer.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>
#include <leat/row_index.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Images for loaders that decode on a device that is made up, and what a trainer sees of them.

namespace leat::test {

/// A stream of CUDA's own: the legacy default stream.
inline void* const default_stream = reinterpret_cast<void*>(1);

inline std::string content_text(const std::vector<std::byte>& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

/// Files of all kinds that the processor decodes, half of them plain; with some that are damaged
/// after they were indexed, so that only who decodes them knows.
class photographs {
public:
  static constexpr std::size_t num_images = 48;

  /// `is_indexed`: with a row index.
  /// `spoiled`: the files that are damaged.
  explicit photographs(bool is_indexed = true,
                       std::span<const std::size_t> spoiled = photographs::damaged) {
    for (std::size_t shard = 0; shard < 2; ++shard) {
      tar_writer tar;
      for (std::size_t i = 0; i < num_images / 2; ++i) {
        const auto n = shard * num_images / 2 + i;
        const auto key = "image" + std::to_string(100 + n);
        tar.file(key + ".jpg", file(n)).file(key + ".cls", std::to_string(n % 10));
      }
      const auto path = shard_at(shard);
      tar.end().save(path);
      const auto time = std::filesystem::last_write_time(path);
      if (is_indexed)
        (void)build_row_index(source());
      auto bytes = content_of(path);
      for (const auto n : spoiled)
        if (const auto at = bytes.find("image" + std::to_string(100 + n) + ".jpg");
            at != std::string::npos)
          for (const std::size_t beyond : {5'003, 5'507, 6'011}) // of the header
            bytes[at + beyond] = static_cast<char>(bytes[at + beyond] ^ 0x55);
      if (const auto at = bytes.find("image141.jpg"); at != std::string::npos)
        bytes.replace(at + 4'500, 2, "\xFF\xD9"); // ends in the middle of its scan
      write_content(path, bytes);
      std::filesystem::last_write_time(path, time);
    }
  }

  pipeline source() const { return tar_shards(directory_ / "part-*.tar"); }

  static constexpr std::size_t damaged[] = {4, 17, 30, 41};

private:
  std::string shard_at(std::size_t x) const {
    return directory_ / ("part-" + std::to_string(x) + ".tar");
  }

  static std::string file(std::size_t n) {
    const auto seed = static_cast<std::uint32_t>(n);
    const auto width = 150 + 7 * n % 90, height = 120 + 11 * n % 100;
    const auto jpeg = [&](const jpeg_kind& kind) {
      return content_text(write_jpeg(width, height, kind, seed));
    };
    switch (n % 12) {
    case 1:
      return jpeg({.components = 1});
    case 2:
      return jpeg({.horizontal = 2, .vertical = 2});
    case 3:
      return jpeg({.progressive = true});
    case 5:
      return jpeg({.horizontal = 2, .quality = 60});
    case 6: {
      const auto png = write_png(width, height, {}, seed);
      return {reinterpret_cast<const char*>(png.data()), png.size()};
    }
    case 7:
      return jpeg({.restart = 8});
    case 8:
      return jpeg({.optimized = true});
    case 9:
      return jpeg({.components = 4});
    case 10: {
      auto torn = jpeg({});
      torn.resize(torn.size() / 3);
      return torn;
    }
    case 11:
      return jpeg({.rgb = true});
    default:
      return jpeg({});
    }
  }

  temporary_directory directory_;
};

/// Whether an id is that of a damaged one.
inline bool is_damaged(const std::string& id) {
  const auto number = std::stoul(id.substr(id.size() - 3)) - 100;
  return std::find(std::begin(photographs::damaged), std::end(photographs::damaged), number)
         != std::end(photographs::damaged);
}

inline const photographs& indexed_photographs() {
  static const photographs all;
  return all;
}

struct chosen_images {
  image_options image = {.size = 64};
  bool reads_pixels = false;
  const photographs& of = indexed_photographs();
  std::vector<map_stage> more = {};
  bool in_order = false;
};

inline pipeline images(const chosen_images& x = {}) {
  auto all = x.of.source();
  if (x.in_order)
    all = all.skip(1); // so that the first row of a batch is damaged
  else
    all = all.shuffle({.seed = 5});
  all = all.map(train_image("jpg", x.image)).map(int_label("cls"));
  // Of a length of its own: what takes a bad sample's row has another one.
  all = all.map("note@1", [](sample& s, context&) {
    const auto n = static_cast<std::size_t>(s.get<std::int64_t>("label"));
    s.set("note", std::string(3 * n, 'n') + s.id());
  });
  if (x.reads_pixels)
    all = all.map("mean@1", [](sample& s, context& in) {
      if (in.position() % 3 == 0) // not of all
        s.set("first", static_cast<double>(s.view<float, 3>("image")(0, 0, 0)));
      else
        s.set("first", 0.0);
    });
  for (const auto& stage : x.more)
    all = all.map(stage);
  return all.batch(8, {.end = epoch_end::mask});
}

/// `is_last`: colours are adjusted after all other steps before the tensor.
inline pipeline adjusted_images(bool has_noise, bool is_last,
                                const photographs& of = indexed_photographs()) {
  std::vector<image_transform> steps{
      random_resized_crop({48, 56}), color_jitter(0.4, 0.3, 0.5, 0.1), random_horizontal_flip(0.5),
      normalize({0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}),
      random_erasing({.p = 0.7, .value = {1, 2, 3}, .noise = has_noise})};
  if (is_last)
    std::swap(steps[1], steps[2]);
  return of.source()
      .shuffle({.seed = 2})
      .map(decode_image("jpg", steps))
      .map("note@1", [](sample& s, context&) { s.set("note", s.id()); })
      .batch(8, {.end = epoch_end::mask});
}

/// All that a trainer can see of a batch, with its pixels as they lie on the device.
struct seen_batch {
  std::vector<std::string> ids;
  std::vector<std::uint8_t> valid;
  hash128 digest;
  std::string snapshot;
  std::vector<std::byte> pixels;
  std::vector<std::string> notes;
  std::vector<hash128> content;
  std::vector<std::pair<std::string, std::string>> bad;

  bool operator==(const seen_batch&) const = default;
};

inline std::vector<std::byte> bytes_at(const void* from, std::size_t n) {
  const auto* at = static_cast<const std::byte*>(from);
  return {at, at + n};
}

inline seen_batch look(lease& x) {
  seen_batch all{.ids = x->ids(),
                 .valid = {x->valid().begin(), x->valid().end()},
                 .digest = x->digest(),
                 .snapshot = x->snapshot(),
                 .pixels = {},
                 .notes = {},
                 .content = x->content_hashes(),
                 .bad = {}};
  const auto notes = x->ragged("note");
  for (std::size_t i = 0; i < x->size(); ++i)
    all.notes.emplace_back(notes.text(i));
  for (const auto& y : x->bad())
    all.bad.emplace_back(y.id, y.text + " " + y.substitute.value_or(""));
  if (x->is_on_device("image")) {
    x.on_device(default_stream);
    x.on_device_for_all(); // memory of the device is the host's here
    const auto there = x->device_field("image").values;
    std::size_t n = size_of(there.type);
    for (std::size_t d = 0; d < there.rank; ++d)
      n *= static_cast<std::size_t>(there.shape[d]);
    all.pixels = bytes_at(there.data, n);
  } else {
    const auto host = x->field("image").bytes();
    all.pixels.assign(host.begin(), host.end());
  }
  return all;
}

inline std::vector<seen_batch> batches_of(loader& from, std::size_t most = SIZE_MAX) {
  std::vector<seen_batch> all;
  while (all.size() < most) {
    auto x = from.next();
    if (!x)
      break;
    all.push_back(look(x));
  }
  return all;
}

inline loader_options decoding_options(const std::string& decoder, std::size_t workers,
                                       bad_sample_policy policy = bad_sample_policy::mask) {
  loader_options x{.workers = workers, .epochs = 2, .bad_samples = policy};
  if (decoder != "none") {
    x.device = "cuda";
    x.decoder = decoder;
  }
  return x;
}

inline std::uint64_t images_of(const decoder_stats& x, std::string_view why) {
  for (const auto& [reason, n] : x.on_cpu)
    if (reason == why)
      return n;
  return 0;
}

} // namespace leat::test
