#pragma once

#include "runtime/base/aligned_vector.hpp"
#include "runtime/image/jpeg/inverse_dct.hpp"
#include "runtime/image/jpeg/jpeg_frame.hpp"
#include "runtime/image/jpeg/jpeg_session.hpp"
#include "runtime/image/jpeg/scan_decoder.hpp"

#include <leat/decode_times.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// A rectangle of MCUs.
struct mcu_rect {
  std::size_t x = 0;
  std::size_t y = 0;
  std::size_t width = 0;
  std::size_t height = 0;
};

/// Some neighbouring rows of each plane. Borrowed until the next ones are asked for; `slack` bytes
/// after the last sample can be read.
struct plane_strip {
  struct rows {
    /// Sample (first column of the part, `first`).
    const std::uint8_t* data = nullptr;
    std::size_t stride = 0;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::array<rows, 4> planes;

  static constexpr std::size_t slack = 64;
};

/// Decodes parts of JPEGs to planes of samples, one file after the other. Keeps its buffers; no
/// image leaves a trace in the next one. Used by one thread at a time.
///
/// Two ways lead to the same samples: leat's own decoder of plain scans, which passes over what is
/// not needed, and libjpeg-turbo for all other files, and for those that the first finds damaged.
class plane_decoder {
public:
  explicit plane_decoder(const inverse_dct& transform = inverse_dct::best());

  /// Adds its time by part to `to` from now on, which is borrowed; null: no longer.
  void time(decode_times* to) noexcept { times_ = to; }

  /// Reads the headers of a whole file, which is borrowed until the last strip was taken. Throws
  /// `bad_sample` as jpeg_decoder does.
  const jpeg_frame& open(std::span<const std::byte> file, std::size_t max_pixels);

  /// Has the opened file decoded to `eighths` of its size: 8 (as it is), 4, 2 or 1. Returns the
  /// frame so `scaled`. Until the next `open`.
  const jpeg_frame& scale(std::size_t eighths);

  enum class way : std::uint8_t { own, libjpeg };
  /// The ways that the opened file can go.
  bool can_go(way x) const noexcept;

  /// Begins with a part of the opened file, from its first MCU row. `places`: what `survey` found,
  /// or none; own way only. False: damage. Throws as `open` does.
  bool start(way by, const mcu_rect& part, std::span<const scan_place> places = {});

  /// The way that was begun last.
  way last_way() const noexcept { return way_; }

  /// The next rows, from the top down: one MCU row, or several; on libjpeg's way also some above
  /// the part. Throws as `open` does.
  /// False: damage in them, or in what was passed over to reach them; libjpeg is to judge.
  bool next(plane_strip& to);

  /// Finds where the opened file's MCU rows, and parts of them, begin, and its places by work if
  /// asked to; nothing where its scan is not wholly clean, or is none of ours.
  std::vector<scan_place> survey(std::vector<work_place>* by_work = nullptr);

private:
  struct plane {
    std::vector<std::uint8_t> samples;
    std::size_t stride = 0;
    std::vector<std::uint8_t*> rows;
  };

  bool start_own(std::span<const scan_place> places);
  void start_libjpeg();
  bool next_own(plane_strip& to);
  void next_libjpeg(plane_strip& to);
  /// Makes room for strips of `mcus` MCUs, each `rows(c)` high.
  void reserve(std::size_t c, std::size_t columns, std::size_t rows);
  /// False: samples that libjpeg is to make.
  bool transform_groups(std::size_t first_mcu);
  /// MCUs that are skipped after the row that was decoded last.
  std::size_t mcus_behind() const noexcept;

  inverse_dct transform_;
  jpeg_session session_;
  scan_decoder scan_;
  jpeg_frame frame_;
  way way_ = way::libjpeg;
  mcu_rect part_;
  std::span<const scan_place> places_;
  std::size_t next_row_ = 0;
  /// Columns that libjpeg decodes left of the part.
  std::size_t extra_columns_ = 0;
  std::array<plane, 4> planes_;
  /// Coefficients of one decode; zeros in between.
  aligned_vector<std::int16_t> coefficients_;
  decode_times* times_ = nullptr;
};

} // namespace leat
