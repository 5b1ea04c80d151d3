#pragma once

#include "runtime/image/jpeg/huffman_tables.hpp"
#include "runtime/image/jpeg/jpeg_frame.hpp"
#include "runtime/image/jpeg/scan_bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// Where an MCU begins in a scan.
struct scan_place {
  /// Bits from the scan's first byte, as in the file: zeros after 0xFF count.
  std::uint32_t bit = 0;
  /// DC coefficients of the blocks before it.
  std::array<std::int16_t, 3> dc{};

  friend bool operator==(const scan_place&, const scan_place&) = default;
};

/// Where a stretch of an MCU row begins that is decoded in one go, on a device. Stretches of about
/// the same work; the first one of each row begins with column 0.
struct work_place {
  /// As in scan_place.
  std::uint32_t bit = 0;
  std::array<std::int16_t, 3> dc{};
  /// Number of its first MCU in the row.
  std::uint16_t column = 0;

  friend bool operator==(const work_place&, const work_place&) = default;
};

/// How coefficients of neighbouring blocks lie in memory: `blocks` of them side by side, as wide as
/// the vectors that transform them. A group has 8 rows of `blocks` x 8 coefficients and a spare
/// row, which takes whatever follows a block's end.
struct coefficient_group {
  std::size_t blocks = 1;

  std::size_t row() const noexcept { return blocks * 8; }
  std::size_t size() const noexcept { return 9 * row(); }
  static constexpr std::size_t max_blocks = 8;
};

/// Decodes the scan of a plain JPEG: MCU by MCU, of which some are only passed over. Knows when it
/// meets anything that is not as it should be, and then says no more: libjpeg is to judge.
/// Reads and writes within bounds whatever the bytes are. Keeps its buffers and tables.
class scan_decoder {
public:
  /// `group`: what `decode` writes.
  explicit scan_decoder(const coefficient_group& group);
  scan_decoder(const scan_decoder&) = delete; // blocks point at tables
  scan_decoder& operator=(const scan_decoder&) = delete;

  static constexpr std::size_t max_components = 3;
  static constexpr std::size_t max_blocks = 10; // of an MCU, by the standard

  /// Whether such a frame can be decoded, given good bytes.
  static bool understands(const jpeg_frame& frame) noexcept;

  /// Takes a frame that is understood, borrowed as its file. False: a Huffman table is refused.
  bool open(const jpeg_frame& frame);
  /// Stands before the first MCU.
  void rewind();
  /// Moves to MCU `begin` of an MCU row, in order to decode up to its MCU `end`. `places` is what
  /// `survey` found. False means that they are damaged, or not of this file.
  bool seek(std::span<const scan_place> places, std::size_t row, std::size_t begin,
            std::size_t end);

  /// Places are noted of every MCU row, at its beginning and then of every `mcus_a_place`th MCU: in
  /// wide images a part on the right is found without passing over what is left of it.
  static constexpr std::size_t mcus_a_place = 16;
  static std::size_t places_a_row(const jpeg_frame& frame) noexcept {
    return (frame.mcus_across() + mcus_a_place - 1) / mcus_a_place;
  }

  /// Passes over MCUs. False: damage.
  bool skim(std::size_t mcus);
  /// Decodes MCUs, at most as many as a group has blocks, not yet multiplied. Zeros are not
  /// written, nor, of components whose blocks become one sample, any but the first. Blocks of
  /// component c, row v of the MCU lie in groups `first_group(c) + v * across` and following, left
  /// to right. False: damage.
  bool decode(std::size_t mcus, std::int16_t* to);
  std::size_t first_group(std::size_t component) const noexcept { return first_group_[component]; }
  /// Groups that one decode fills.
  std::size_t num_groups() const noexcept { return num_groups_; }

  /// A stretch ends before the MCU with which it would have more bits than this, not counting
  /// zeros after 0xFF. So only an MCU that has more by itself makes a longer one.
  static constexpr std::size_t bits_of_work = 4096;

  /// Passes over the whole scan; true where all of it is clean, with nothing between it and the
  /// end of the image. Notes the places, row by row, and those by work if asked to.
  bool survey(std::vector<scan_place>& places, std::vector<work_place>* by_work = nullptr);

private:
  struct bits {
    std::uint64_t buffer = 0;
    int count = 0;
    const std::uint8_t* next = nullptr;
  };
  /// What an MCU consists of.
  struct block {
    std::size_t component = 0;
    const dc_table* dc = nullptr;
    const ac_table* ac = nullptr;
    bool is_one_sample = false;
    /// Where the block of each MCU of a group lies.
    std::array<std::size_t, coefficient_group::max_blocks> places{};
  };

  void begin_at(std::size_t byte, unsigned bit);
  bool overran() const noexcept;
  bool next_interval();
  template <class Each>
  bool for_each_interval(std::size_t mcus, Each each);
  bool skim_run(std::size_t mcus);
  bool decode_run(std::size_t first, std::size_t mcus, std::int16_t* to);
  void add_block(std::size_t component, std::size_t row, std::size_t column, const dc_table& dc,
                 const ac_table& ac);
  /// Bits consumed of `bytes_`.
  std::size_t position() const noexcept;

  coefficient_group group_;
  /// Where coefficients stand in a group, by their number in the file; the spare row above 63.
  std::array<std::uint16_t, 256> order_{};
  jpeg_frame frame_;
  std::array<block, max_blocks> blocks_;
  std::size_t num_blocks_ = 0;
  std::array<std::size_t, max_components> first_group_{};
  std::size_t num_groups_ = 0;
  std::array<dc_table, max_components> dc_;
  std::array<ac_table, max_components> ac_;

  scan_bytes bytes_;
  std::vector<std::size_t> stuffed_;
  /// Bytes of the scan before and within `bytes_`, in the file.
  std::size_t taken_ = 0;
  bits at_;
  std::array<std::int32_t, max_components> last_dc_{};
  /// The next restart marker: after so many MCUs, with this number.
  struct restart {
    std::size_t mcus = 0;
    unsigned number = 0;
  } restart_;
};

} // namespace leat
