#include "runtime/storage/unpacker.hpp"

#include "runtime/base/error_in_flight.hpp"

#ifdef LEAT_HAS_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <string>

namespace leat {

namespace {

[[noreturn]] void damaged(std::string stage, const char* got) {
  throw_error(errc::torn_file, std::move(stage), got ? got : "damaged data",
              "intact compressed data");
}

// gzip_stream has one form per library. Both take gzip members of any window size;
// docs/decisions.md has what they accept.
#ifdef LEAT_HAS_ISAL

/// Parses the header of a gzip member (RFC 1952), of any length and in any pieces. ISA-L's own
/// parser accepts flags that gzip does not know, and takes a header's checksum for wrong if the
/// header comes in pieces.
class gzip_header {
public:
  /// Consumes the header from the input; false while more of it is to come. Throws
  /// `errc::torn_file`.
  bool read(inflate_state& in) {
    for (; next_ != part::end; next_ = static_cast<part>(static_cast<int>(next_) + 1)) {
      if (!read_part(in))
        return false;
      filled_ = 0;
    }
    return true;
  }

private:
  enum class part : std::uint8_t { magic, fixed, extra_size, extra, name, comment, sum, end };

  static constexpr std::uint8_t deflate = 8;
  static constexpr std::uint8_t has_sum = 2;
  static constexpr std::uint8_t has_extra = 4;
  static constexpr std::uint8_t has_name = 8;
  static constexpr std::uint8_t has_comment = 16;
  static constexpr std::uint8_t reserved_flags = 0xe0;

  bool read_part(inflate_state& in) {
    switch (next_) {
    case part::magic:
      return fill(in, 2) && expect(bytes_[0] == 0x1f && bytes_[1] == 0x8b, "no header of gzip");
    case part::fixed: // method, flags, time, and two bytes (XFL, OS) that do not matter
      if (!fill(in, 8))
        return false;
      flags_ = bytes_[1];
      return expect(bytes_[0] == deflate, "no header of gzip")
             && expect((flags_ & reserved_flags) == 0,
                       "a header with flags that gzip does not know");
    case part::extra_size:
      if (!has(has_extra))
        return true;
      left_ = fill(in, 2) ? number() : 0;
      return filled_ == 2;
    case part::extra:
      left_ -= take(in, std::min(left_, in.avail_in));
      return left_ == 0;
    case part::name:
      return !has(has_name) || skip_text(in);
    case part::comment:
      return !has(has_comment) || skip_text(in);
    case part::sum:
      return !has(has_sum)
             || (fill(in, 2) && expect(number() == (sum_ & 0xffff), "a checksum that differs"));
    case part::end:
      break;
    }
    return true;
  }

  static bool expect(bool is_good, const char* otherwise) {
    if (!is_good)
      damaged("gzip", otherwise);
    return true;
  }
  bool has(std::uint8_t flag) const noexcept { return (flags_ & flag) != 0; }
  /// The little-endian number in the two bytes that were read.
  std::uint32_t number() const noexcept { return bytes_[0] | std::uint32_t{bytes_[1]} << 8; }

  /// Collects the next `n` bytes; false while some are to come.
  bool fill(inflate_state& in, std::size_t n) noexcept {
    const auto* from = in.next_in;
    const auto got = take(in, std::min(static_cast<std::uint32_t>(n - filled_), in.avail_in));
    std::copy_n(from, got, bytes_.begin() + filled_);
    filled_ += got;
    return filled_ == n;
  }
  bool skip_text(inflate_state& in) noexcept {
    const auto* end = in.next_in + in.avail_in;
    const auto* zero = std::find(static_cast<const std::uint8_t*>(in.next_in), end, 0);
    const bool found = zero != end;
    take(in, static_cast<std::uint32_t>(zero - in.next_in) + (found ? 1 : 0));
    return found;
  }
  std::uint32_t take(inflate_state& in, std::uint32_t n) noexcept {
    if (next_ != part::sum)
      sum_ = ::crc32_gzip_refl(sum_, in.next_in, n);
    in.next_in += n;
    in.avail_in -= n;
    return n;
  }

  part next_ = part::magic;
  std::uint8_t flags_ = 0;
  std::array<std::uint8_t, 8> bytes_{};
  std::uint32_t filled_ = 0;
  /// Bytes of the extra field that are still to come.
  std::uint32_t left_ = 0;
  std::uint32_t sum_ = 0;
};

class gzip_stream {
public:
  gzip_stream() {
    ::isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP_NO_HDR_VER; // checks the sum of each member
  }

  inflate_state& state() noexcept { return *state_; }
  /// True at the end of a member. Throws `errc::torn_file`.
  bool inflate() {
    if (!header_.read(*state_))
      return false;
    const int result = ::isal_inflate(state_.get());
    if (result < 0)
      damaged("gzip", why(result));
    return state_->block_state == ISAL_BLOCK_FINISH;
  }
  /// For the next member.
  void reset() noexcept {
    ::isal_inflate_reset(state_.get());
    header_ = {};
  }
  std::size_t memory() const noexcept { return sizeof *state_; }

private:
  static const char* why(int result) {
    switch (result) {
    case ISAL_INCORRECT_CHECKSUM:
      return "a checksum that differs";
    case ISAL_INVALID_LOOKBACK:
      return "a distance that reaches too far back";
    default:
      return nullptr;
    }
  }

  gzip_header header_;
  std::unique_ptr<inflate_state> state_ = std::make_unique<inflate_state>();
};

#else

class gzip_stream : not_copied {
public:
  gzip_stream() {
    if (::inflateInit2(&state_, gzip_with_any_window) != Z_OK)
      throw std::bad_alloc{};
  }
  ~gzip_stream() { ::inflateEnd(&state_); }

  z_stream& state() noexcept { return state_; }
  /// True at the end of a member. Throws `errc::torn_file`.
  bool inflate() {
    const int result = ::inflate(&state_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR)
      throw std::bad_alloc{};
    if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END)
      damaged("gzip", state_.msg);
    return result == Z_STREAM_END;
  }
  /// For the next member.
  void reset() noexcept { ::inflateReset(&state_); }
  /// zconf.h: 32 KiB for the window and about 7 KiB for the rest.
  static std::size_t memory() noexcept { return std::size_t{40} << 10; }

private:
  static constexpr int gzip_with_any_window = 15 + 16;

  z_stream state_{};
};

#endif

class gzip_unpacker final : public unpacker {
public:
  progress run(std::span<const std::byte> in, std::span<std::byte> out) override {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    auto& state = stream_.state();
    // Neither library takes a pointer to const, but both only read.
    state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(in.data()));
    state.avail_in = static_cast<std::uint32_t>(std::min(in.size(), most));
    state.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state.avail_out = static_cast<std::uint32_t>(std::min(out.size(), most));
    const auto had_in = state.avail_in;
    const auto had_out = state.avail_out;
    const bool ended = stream_.inflate();
    const progress x{had_in - state.avail_in, had_out - state.avail_out, ended};
    if (ended)
      stream_.reset();
    return x;
  }

  std::size_t memory() const override { return stream_.memory(); }

private:
  gzip_stream stream_;
};

class zstd_unpacker final : public unpacker {
public:
  zstd_unpacker() : state_(::ZSTD_createDCtx()) {
    if (!state_)
      throw std::bad_alloc{};
    ::ZSTD_DCtx_setParameter(state_.get(), ZSTD_d_windowLogMax, max_window_log);
  }

  progress run(std::span<const std::byte> in, std::span<std::byte> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const auto result = ::ZSTD_decompressStream(state_.get(), &to, &from);
    if (::ZSTD_isError(result))
      fail(result);
    return {from.pos, to.pos, result == 0};
  }

  std::size_t memory() const override { return ::ZSTD_sizeof_DCtx(state_.get()); }

private:
  struct freeing {
    void operator()(ZSTD_DCtx* x) const { ::ZSTD_freeDCtx(x); }
  };

  [[noreturn]] static void fail(std::size_t result) {
    const auto code = ::ZSTD_getErrorCode(result);
    if (code == ZSTD_error_memory_allocation)
      throw std::bad_alloc{};
    if (code == ZSTD_error_frameParameter_windowTooLarge)
      refuse_argument("zstd", "a frame with a window above 128 MiB",
                      "at most 128 MiB: compress it with zstd --long=27 or less");
    if (code == ZSTD_error_dictionary_wrong)
      refuse_argument("zstd", "a frame that was made with a dictionary",
                      "one without: zstd -d -D DICTIONARY FILE, and zstd of what comes out");
    damaged("zstd", ::ZSTD_getErrorName(result));
  }

  std::unique_ptr<ZSTD_DCtx, freeing> state_;
};

} // namespace

std::unique_ptr<unpacker> unpacker::make(packing how) {
  if (how == packing::gzip)
    return std::make_unique<gzip_unpacker>();
  return std::make_unique<zstd_unpacker>();
}

} // namespace leat
