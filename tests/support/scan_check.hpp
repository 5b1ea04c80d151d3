#pragma once

#include "runtime/image/jpeg/jpeg_session.hpp"
#include "runtime/image/jpeg/scan_decoder.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

// In this order and after <cstdio>, because they do not include what they need.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace leat::test {

/// A file's coefficients as libjpeg reads them.
struct jpeg_coefficients {
  struct plane {
    /// Blocks in a row, including those that only fill the last MCU.
    std::size_t across = 0;
    /// 64 numbers per block, row by row.
    std::vector<std::int16_t> numbers;

    std::span<const std::int16_t> block(std::size_t x, std::size_t y) const {
      return std::span{numbers}.subspan((y * across + x) * 64, 64);
    }
  };
  /// None after an error.
  std::vector<plane> planes;
  /// The end of the MCU rows at which libjpeg first warned of something, or gave up.
  std::optional<std::size_t> complaint_end;
};

/// Calls libjpeg, whose errors leave by longjmp, so the code in between has no objects with
/// destructors.
class coefficient_reader {
public:
  jpeg_coefficients read(std::span<const std::byte> file) {
    jpeg_coefficients result;
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    info_.client_data = this;
    if (!guarded([&] { open(file); })) {
      result.complaint_end = end_of_rows();
    } else {
      for (int c = 0; c < info_.num_components; ++c)
        result.planes.push_back(plane_of(c));
      result.complaint_end = complaint_end_;
    }
    jpeg_destroy_decompress(&info_);
    return result;
  }

private:
  template <class Step>
  bool guarded(Step step) {
    if (setjmp(escape_) != 0)
      return false;
    step();
    return true;
  }

  void open(std::span<const std::byte> file) {
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()),
                 static_cast<unsigned long>(file.size()));
    jpeg_read_header(&info_, TRUE);
    is_in_scan_ = true;
    arrays_ = jpeg_read_coefficients(&info_);
  }

  jpeg_coefficients::plane plane_of(int c) {
    const auto& x = info_.comp_info[c];
    auto filled = [](JDIMENSION blocks, int factor) {
      const auto n = static_cast<JDIMENSION>(factor);
      return (blocks + n - 1) / n * n;
    };
    jpeg_coefficients::plane plane;
    plane.across = filled(x.width_in_blocks, x.h_samp_factor);
    for (JDIMENSION y = 0; y < filled(x.height_in_blocks, x.v_samp_factor); ++y) {
      auto* row = (*info_.mem->access_virt_barray)(reinterpret_cast<j_common_ptr>(&info_),
                                                   arrays_[c], y, 1, FALSE)[0];
      plane.numbers.insert(plane.numbers.end(), row[0], row[plane.across]);
    }
    return plane;
  }

  // libjpeg reads as many rows of MCUs at once as the highest sampling factor, even for a lone
  // component, whose MCU is one block.
  std::size_t end_of_rows() const {
    const auto each =
        info_.num_components == 1 ? static_cast<std::size_t>(info_.max_v_samp_factor) : 1;
    return (std::size_t{info_.input_iMCU_row} + 1) * each;
  }

  static bool is_harmless(int warning) {
    return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_JFIF_MAJOR
           || warning == JWRN_ADOBE_XFORM || warning == JWRN_BOGUS_ICC;
  }
  static void on_error(j_common_ptr info) {
    std::longjmp(static_cast<coefficient_reader*>(info->client_data)->escape_, 1);
  }
  static void on_message(j_common_ptr info, int level) {
    auto& reader = *static_cast<coefficient_reader*>(info->client_data);
    if (level < 0 && reader.is_in_scan_ && !is_harmless(info->err->msg_code)
        && !reader.complaint_end_)
      reader.complaint_end_ = reader.end_of_rows();
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::jmp_buf escape_{};
  jvirt_barray_ptr* arrays_ = nullptr;
  bool is_in_scan_ = false;
  std::optional<std::size_t> complaint_end_;
};

/// A file up to the end of its first scan, plus an end marker, because a second scan would change
/// the result of the first.
inline std::vector<std::byte> with_one_scan(std::span<const std::byte> file,
                                            std::span<const std::byte> scan) {
  std::size_t end = 0;
  while (end < scan.size()) {
    auto behind = end + 1;
    if (scan[end] == std::byte{0xFF}) {
      while (behind < scan.size() && scan[behind] == std::byte{0xFF})
        ++behind;
      const bool goes_on =
          behind < scan.size()
          && (scan[behind] == std::byte{0} || (scan[behind] & std::byte{0xF8}) == std::byte{0xD0});
      if (!goes_on)
        break;
      ++behind;
    }
    end = behind;
  }
  std::vector<std::byte> result(file.begin(),
                                file.end() - static_cast<std::ptrdiff_t>(scan.size() - end));
  result.insert(result.end(), {std::byte{0xFF}, std::byte{0xD9}});
  return result;
}

/// Checks scan_decoder, with all group sizes, against libjpeg.
class scan_check {
public:
  struct outcome {
    /// What is wrong; empty if nothing is.
    std::string problem;
    /// Whether the decoder supports such a file, how many of its MCU rows it found good, and
    /// whether it knows where they begin.
    bool is_understood = false;
    std::size_t rows = 0;
    bool has_places = false;
  };

  /// `seed` chooses which MCUs are decoded and which are only skipped.
  outcome check(std::span<const std::byte> file, std::uint32_t seed, std::size_t max_mcus) {
    outcome x;
    jpeg_session session;
    if (!session.open(file))
      return x;
    const auto frame = session.frame();
    x.is_understood = scan_decoder::understands(frame);
    if (!x.is_understood || frame.mcus_across() * frame.mcus_down() > max_mcus)
      return x;
    random_.seed(seed);
    const auto want = coefficient_reader{}.read(with_one_scan(file, frame.scan));
    for (auto& decoder : decoders_) {
      const auto rows = check_decoder(decoder, frame, want, x);
      if (&decoder != &decoders_[0] && rows != x.rows)
        x.problem += "groups of different sizes judge differently; ";
      x.rows = rows;
    }
    return x;
  }

private:
  struct sized_decoder {
    explicit sized_decoder(std::size_t blocks) : group{blocks}, decoder(group) {}

    coefficient_group group;
    scan_decoder decoder;
  };

  std::size_t check_decoder(sized_decoder& x, const jpeg_frame& frame,
                            const jpeg_coefficients& want, outcome& to) {
    if (!x.decoder.open(frame))
      return 0;
    x.decoder.rewind();
    std::size_t rows = 0;
    while (rows < frame.mcus_down() && check_row(x, frame, want, rows, to.problem))
      ++rows;
    if (want.complaint_end && rows >= *want.complaint_end)
      to.problem += "rows are taken that libjpeg complains of; ";
    std::vector<scan_place> places;
    to.has_places = x.decoder.survey(places);
    if (to.has_places) {
      check_places(x, frame, want, places, to.problem);
      check_work(x, frame, want, places, to.problem);
    }
    if (to.has_places && rows != frame.mcus_down())
      to.problem += "places of a damaged scan; ";
    return rows;
  }

  void check_places(sized_decoder& x, const jpeg_frame& frame, const jpeg_coefficients& want,
                    const std::vector<scan_place>& places, std::string& problem) {
    if (want.complaint_end)
      problem += "places of a scan that libjpeg complains of; ";
    const auto rows = frame.mcus_down();
    const auto across = frame.mcus_across();
    if (places.size() != rows * scan_decoder::places_a_row(frame)) {
      problem += "not as many places as there should be; ";
      return;
    }
    for (std::size_t i = 0; i < 2 * rows; ++i) {
      const auto row = i < rows ? i : random_() % rows;
      const auto begin = i < rows ? 0 : random_() % across;
      const auto end = i < rows ? across : begin + 1 + random_() % (across - begin);
      if (!x.decoder.seek(places, row, begin, end)
          || !check_row(x, frame, want, row, problem, begin, end))
        problem += "a row is damaged where it is found by its place; ";
    }
  }

  void check_work(sized_decoder& x, const jpeg_frame& frame, const jpeg_coefficients& want,
                  const std::vector<scan_place>& places, std::string& problem) {
    std::vector<scan_place> rows;
    std::vector<work_place> work;
    if (!x.decoder.survey(rows, &work) || rows != places)
      problem += "other places where those by work are noted; ";
    const auto across = frame.mcus_across();
    const auto end_of = [&](std::size_t i) {
      return i + 1 < work.size() && work[i + 1].column != 0 ? work[i + 1].column : across;
    };
    std::size_t row = 0;
    for (std::size_t i = 0; i < work.size(); ++i) {
      row += i > 0 && work[i].column == 0 ? 1 : 0;
      if (i + 1 < work.size() && !are_apart(frame, work[i], work[i + 1]))
        problem += "a stretch is too long; ";
      if (row >= frame.mcus_down() || end_of(i) <= work[i].column || end_of(i) > across) {
        problem += "places by work are not in order; ";
        return;
      }
      // Stands where a row begins.
      auto moved = places;
      moved[row * scan_decoder::places_a_row(frame)] = {work[i].bit, work[i].dc};
      if (!x.decoder.seek(moved, row, 0, across)
          || !check_row(x, frame, want, row, problem, work[i].column, end_of(i)))
        problem += "a stretch is damaged where it is found by its place; ";
    }
    if (work.empty() || row + 1 != frame.mcus_down())
      problem += "not as many rows of places by work as there should be; ";
  }

  /// Whether there is as much work between these as there may be.
  static bool are_apart(const jpeg_frame& frame, const work_place& a, const work_place& b) {
    if (b.bit <= a.bit)
      return false;
    std::size_t bits = b.bit - a.bit;
    for (std::size_t at = a.bit / 8; at + 1 < b.bit / 8; ++at)
      if (frame.scan[at] == std::byte{0xFF} && frame.scan[at + 1] == std::byte{0})
        bits -= 8;
    return bits <= scan_decoder::bits_of_work + 8 || b.column == a.column + 1
           || (b.column == 0 && frame.mcus_across() == a.column + std::size_t{1});
  }

  /// False: the decoder finds damage.
  bool check_row(sized_decoder& x, const jpeg_frame& frame, const jpeg_coefficients& want,
                 std::size_t row, std::string& problem) {
    return check_row(x, frame, want, row, problem, 0, frame.mcus_across());
  }
  bool check_row(sized_decoder& x, const jpeg_frame& frame, const jpeg_coefficients& want,
                 std::size_t row, std::string& problem, std::size_t begin, std::size_t end) {
    // Exactly as large as promised, so that the sanitizer detects writes beyond it.
    std::vector<std::int16_t> numbers(x.decoder.num_groups() * x.group.size());
    for (auto column = begin; column < end;) {
      const auto left = end - column;
      if (random_() % 4 == 0) {
        const auto mcus = random_() % (left + 1);
        if (!x.decoder.skim(mcus))
          return false;
        column += mcus;
        continue;
      }
      const auto mcus = 1 + random_() % std::min(x.group.blocks, left);
      if (!x.decoder.decode(mcus, numbers.data()))
        return false;
      if (!want.planes.empty()) {
        for (std::size_t i = 0; i < mcus; ++i)
          if (!take_mcu(x, frame, want, numbers, i, column + i, row))
            problem += "coefficients differ; ";
        if (!is_clear(x.group, numbers))
          problem += "more is written than was asked for; ";
      }
      std::fill(numbers.begin(), numbers.end(), std::int16_t{0});
      column += mcus;
    }
    return true;
  }

  /// Compares the blocks of an MCU, and clears them.
  static bool take_mcu(const sized_decoder& x, const jpeg_frame& frame,
                       const jpeg_coefficients& want, std::vector<std::int16_t>& numbers,
                       std::size_t number, std::size_t column, std::size_t row) {
    bool same = true;
    for (std::size_t c = 0; c < frame.num_components; ++c) {
      const auto& component = frame.components[c];
      for (std::size_t v = 0; v < component.down; ++v)
        for (std::size_t h = 0; h < component.across; ++h) {
          const auto at = number * component.across + h;
          const auto group = x.decoder.first_group(c) + v * component.across + at / x.group.blocks;
          auto* got = numbers.data() + group * x.group.size() + at % x.group.blocks * 8;
          const auto block =
              want.planes[c].block(column * component.across + h, row * component.down + v);
          for (std::size_t k = 0; k < 64; ++k) {
            auto& number_there = got[k / 8 * x.group.row() + k % 8];
            same = same && number_there == block[k];
            number_there = 0;
          }
        }
    }
    return same;
  }

  static bool is_clear(const coefficient_group& group, std::span<const std::int16_t> numbers) {
    const auto spare = group.size() - group.row();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (i % group.size() < spare && numbers[i] != 0)
        return false;
    return true;
  }

  std::mt19937 random_;
  // Reused for one file after another, none of which may affect the next.
  std::array<sized_decoder, 4> decoders_{sized_decoder{1}, sized_decoder{2}, sized_decoder{4},
                                         sized_decoder{8}};
};

} // namespace leat::test
