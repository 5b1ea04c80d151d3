#include "runtime/image/image_maker.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/device/device_decoder.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/host_decoder.hpp"
#include "tests/support/host_kernels.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/test.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

// The decoder alone, as a worker uses it, on a device that is as late as it may be.

namespace leat::device_decoder_test {

using namespace leat::test;

namespace {

using pixels = std::vector<std::byte>;

constexpr std::byte nobodys{0x5A};

struct photograph {
  std::vector<std::byte> file;
  /// By work, and of rows.
  std::vector<std::byte> places;
  std::vector<scan_place> rows;
};

/// Small ones; every third is damaged once its places are found, which only who decodes it knows.
const std::vector<photograph>& photographs() {
  static const auto all = [] {
    std::vector<photograph> made;
    for (std::uint32_t i = 0; i < 15; ++i) {
      jpeg_kind kind{.components = i % 5 == 4 ? 1 : 3};
      if (i % 2 == 1)
        kind.horizontal = kind.vertical = 2;
      photograph x{write_jpeg(40 + 3 * i, 33 + 5 * i, kind, i), {}, {}};
      plane_decoder decoder;
      decoder.open(x.file, no_limit);
      std::vector<work_place> places;
      x.rows = decoder.survey(&places);
      if (i % 3 == 2)
        for (const std::size_t part : {3, 4, 5})
          x.file[x.file.size() * part / 6] ^= std::byte{0x55};
      x.places = write_work_places(x.file, places);
      made.push_back(std::move(x));
    }
    return made;
  }();
  return all;
}

image_chain chain_of(std::size_t field) {
  const std::size_t side = field == 0 ? 16 : 12;
  std::vector<image_transform> steps{random_resized_crop({side, side}),
                                     random_horizontal_flip(0.5)};
  if (field != 0)
    steps.push_back(normalize({0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}));
  return read_transforms(steps, "test");
}

std::shared_ptr<const batch_layout> layout() {
  return std::make_shared<batch_layout>(
      std::vector<field_layout>{{"a", false, dtype::u8, {3, 16, 16}},
                                {"b", false, dtype::f32, {3, 12, 12}},
                                {"c", false, dtype::i64, {}}});
}
constexpr std::size_t num_fields = 2;

/// What the processor makes of a photograph; nothing: it is bad.
std::optional<pixels> wanted(std::size_t photo, std::size_t field, std::uint64_t draw) {
  image_maker maker{chain_of(field), {}};
  rng random{1, draw};
  pixels to(layout()->fields()[field].row_bytes());
  const auto& x = photographs()[photo];
  try {
    maker.make(x.file, x.rows, random, [&](const shape&) { return to.data(); });
  } catch (const bad_sample&) {
    return std::nullopt;
  }
  return to;
}

/// One schedule, with all that it draws.
class schedule {
public:
  explicit schedule(std::uint32_t seed)
      : random_(seed), device_(std::make_shared<fake_device>(seed, one_of(3) ? fake_order::random
                                                                             : fake_order::lazy)) {
    define_kernels(*device_);
    host_ = std::make_shared<pinned_memory>(device_);
    job_ = std::make_shared<device_decoding>(
        device_, host_, (std::size_t{128} << 10) << random_() % 4, one_of(3), true);
    keeps_files_ = one_of(2);
    decoder_ = std::make_unique<device_decoder>(job_, keeps_files_);
    for (std::size_t i = 0; i < num_fields; ++i)
      makers_.emplace_back(chain_of(i), decode_options{});
  }

  void run() {
    const auto wants_failure = one_of(4);
    const auto rows = 8 + random_() % (one_of(4) ? 200 : 40);
    rows_.resize(rows);
    places_.resize(rows);
    slot_ = std::make_shared<batch_slot>(
        layout(), rows,
        tensor_memory{.from = host_, .device = device_, .made_there = {true, true, false}});
    open_rows(*slot_, rows);
    decoder_->keep(one_of(2) ? slot_ : nullptr);
    if (wants_failure) {
      constexpr fake_call calls[] = {fake_call::copy,      fake_call::launch,
                                     fake_call::copy_back, fake_call::record,
                                     fake_call::wait_here, fake_call::is_reached};
      device_->fail(calls[random_() % std::size(calls)], 1 + random_() % 4);
      may_fail_ = true;
    }
    const auto dies = one_of(6);
    std::size_t first = 0;
    while (first < rows && !(dies && one_of(8))) {
      if (one_of(3))
        decoder_->flush();
      while (decoder_->is_busy() && (one_of(3) || (decoder_->is_full() && !one_of(4))))
        finish();
      if (one_of(4) && decoder_->is_busy() && decoder_->is_oldest_done())
        finish();
      const auto n = std::min<std::size_t>(rows - first, one_of(3) ? 1 + random_() % 64 : 1);
      for (auto i = first; i < first + n; ++i)
        begin(i, n == 1 ? single_ : places_[i]);
      for (auto i = first; i < first + n; ++i) // as maps that take several samples do
        if (n > 1 && one_of(4))
          go_on_with(i);
      for (auto i = first; i < first + n; ++i)
        end(i);
      first += n;
    }
    if (first == rows) {
      decoder_->flush();
      while (decoder_->is_busy())
        finish();
      CHECK_FALSE(decoder_->has_rows());
      CHECK(std::all_of(rows_.begin(), rows_.end(), [](const row& x) { return x.is_over; }));
    }
    decoder_ = nullptr; // others may have the rows of a worker that dies
    for (std::size_t i = 0; i < rows; ++i)
      give_away(i);
    device_->finish();
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t f = 0; f < num_fields; ++f) {
        const auto there = on_device(i, f);
        CHECK(std::count(there.begin(), there.end(), nobodys)
              == static_cast<std::ptrdiff_t>(there.size()));
      }
    slot_ = nullptr;
    job_ = nullptr;
    host_ = nullptr;
    CHECK(device_->problems().empty());
    const auto left = device_->counts();
    CHECK(left.device_bytes == 0);
    CHECK(left.pinned_bytes == 0);
    CHECK(left.streams + left.events == 0);
  }

  std::uint64_t decoded = 0;
  std::uint64_t told = 0;
  std::uint64_t failed = 0;

private:
  struct field_state {
    std::size_t photo = 0;
    std::uint64_t draw = 0;
    bool is_late = false;
    /// It was made on the host, and well.
    bool is_made = false;
  };
  struct row {
    field_state fields[num_fields];
    bool is_bad = false;
    bool waits = false;
    bool is_over = false;
  };

  bool one_of(std::uint32_t n) { return random_() % n == 0; }

  std::span<std::byte> on_device(std::size_t i, std::size_t f) {
    const auto bytes = layout()->fields()[f].row_bytes();
    return {const_cast<std::byte*>(slot_->memory().on_device(f)) + i * bytes, bytes};
  }
  std::span<const std::byte> on_host(std::size_t i, std::size_t f) {
    return slot_->memory().row_of(f, i);
  }

  void take(std::size_t i, std::size_t f) {
    auto& x = rows_[i].fields[f];
    x = {random_() % photographs().size(), random_()};
    auto photo = photographs()[x.photo];
    rng random{1, x.draw};
    const auto later = [&](late_image& from) {
      from.work_bytes = photo.places;
      return x.is_late = decoder_->take(targets_[i], f, from);
    };
    if (!keeps_files_)
      files_.push_back(photo.file);
    auto& file = keeps_files_ ? photo.file : files_.back();
    try {
      makers_[f].make(
          file, photographs()[x.photo].rows, random,
          [&](const shape&) { return targets_[i].dense[f]; }, later);
      x.is_made = !x.is_late;
    } catch (const bad_sample&) {
      rows_[i].is_bad = true;
    }
    std::fill(photo.file.begin(), photo.file.end(), std::byte{}); // lent no longer
  }

  void take_fields(std::size_t i) {
    decoder_->drop_all(targets_[i]);
    rows_[i].is_bad = false;
    for (std::size_t f = 0; f < num_fields; ++f) {
      rows_[i].fields[f] = {};
      if (!rows_[i].is_bad && !one_of(3))
        take(i, f);
    }
  }

  void begin(std::size_t i, row_places& at) {
    if (targets_.size() < rows_.size())
      targets_.resize(rows_.size());
    targets_[i] = at.at(slot_->memory(), i);
    targets_[i].late = decoder_.get();
    take_fields(i);
    while (one_of(6))
      go_on_with(i);
  }

  /// Somebody reads a field, or the row begins anew.
  void go_on_with(std::size_t i) {
    if (!one_of(30))
      return take_fields(i);
    for (std::size_t f = 0; f < num_fields; ++f)
      if (auto& x = rows_[i].fields[f]; std::exchange(x.is_late, false))
        try {
          decoder_->make_now(targets_[i], f);
          x.is_made = true;
        } catch (const bad_sample&) {
          rows_[i].is_bad = true;
        }
  }

  void end(std::size_t i) {
    auto& x = rows_[i];
    if (one_of(9))
      x.is_bad = true;
    slot_->result(i).what = x.is_bad ? row_result::outcome::masked : row_result::outcome::good;
    x.waits = decoder_->end_row(targets_[i], *slot_, i);
    const auto is_late = [](const field_state& f) { return f.is_late; };
    CHECK(x.waits == (!x.is_bad && std::any_of(std::begin(x.fields), std::end(x.fields), is_late)));
    if (!x.waits)
      look_at(i, 0);
  }

  void look_at(std::size_t i, std::uint64_t there) {
    auto& x = rows_[i];
    CHECK_FALSE(std::exchange(x.is_over, true));
    for (std::size_t f = 0; f < num_fields && !x.is_bad; ++f) {
      const auto& field = x.fields[f];
      CHECK(field.is_late == ((there >> f & 1) != 0));
      if (!field.is_late && !field.is_made)
        continue;
      const auto due = wanted(field.photo, f, field.draw);
      REQUIRE(due);
      if (field.is_late)
        CHECK(std::ranges::equal(on_device(i, f), *due));
      if (!field.is_late || job_->copies_back)
        CHECK(std::ranges::equal(on_host(i, f), *due));
    }
    give_away(i);
  }

  /// It is done: from now on its memory is somebody else's.
  void give_away(std::size_t i) {
    for (std::size_t f = 0; f < num_fields; ++f)
      std::ranges::fill(on_device(i, f), nobodys);
  }

  void finish() {
    std::size_t next = 0;
    for (const auto& found : decoder_->finish_oldest()) {
      CHECK(found.slot == slot_.get());
      CHECK(found.number >= std::exchange(next, found.number + 1));
      auto& x = rows_[found.number];
      CHECK(std::exchange(x.waits, false));
      const auto is_damaged = [](const field_state& f) { return f.is_late && f.photo % 3 == 2; };
      if (found.failure) {
        ++failed;
        CHECK(may_fail_);
        CHECK(found.failure->code() == errc::device);
        x.is_bad = true;
      } else if (found.is_bad) {
        ++told;
        CHECK(std::any_of(std::begin(x.fields), std::end(x.fields), is_damaged));
        x.is_bad = true;
      } else {
        ++decoded;
      }
      look_at(found.number, found.fields);
    }
  }

  std::mt19937 random_;
  std::shared_ptr<fake_device> device_;
  std::shared_ptr<pinned_memory> host_;
  std::shared_ptr<device_decoding> job_;
  std::unique_ptr<device_decoder> decoder_;
  bool keeps_files_ = false;
  bool may_fail_ = false;
  std::deque<image_maker> makers_;
  std::shared_ptr<batch_slot> slot_;
  std::vector<row> rows_;
  row_places single_;
  /// Of rows that are made together.
  std::vector<row_places> places_;
  std::vector<row_target> targets_;
  std::deque<std::vector<std::byte>> files_;
};

} // namespace

TEST_CASE("device_decoder: every row comes back once, with its pixels, and nothing is written to "
          "it later") {
  std::uint64_t decoded = 0;
  std::uint64_t told = 0;
  std::uint64_t failed = 0;
  for (std::uint32_t seed = 0; seed < (sanitized ? 200 : 2000); ++seed) {
    if (!is_drawn(seed))
      continue;
    CAPTURE(seed);
    schedule x{seed};
    x.run();
    decoded += x.decoded;
    told += x.told;
    failed += x.failed;
  }
  CHECK(decoded > 200);
  CHECK(told > 10);
  CHECK(failed > 10);
}

} // namespace leat::device_decoder_test
