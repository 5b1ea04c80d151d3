#include "runtime/storage/unpacker.hpp"

#include <leat/error.hpp>

#ifdef LEAT_HAS_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <string>

namespace leat {

namespace {

[[noreturn]] void damaged(std::string stage, const char* got) {
  throw error(errc::torn_file, {.stage = std::move(stage),
                                .got = got ? got : "damaged data",
                                .needed = "intact compressed data"});
}

// Either library's stream of gzip members, of any window; what they accept: docs/decisions.md.
#ifdef LEAT_HAS_ISAL

class gzip_stream {
public:
  gzip_stream() {
    ::isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP; // checks the sum of each member
  }

  inflate_state& state() noexcept { return *state_; }
  /// True at the end of a member. Throws `errc::torn_file`.
  bool inflate() {
    const int result = ::isal_inflate(state_.get());
    if (result < 0)
      damaged("gzip", why(result));
    return state_->block_state == ISAL_BLOCK_FINISH;
  }
  /// For the next member.
  void reset() noexcept { ::isal_inflate_reset(state_.get()); }
  std::size_t memory() const noexcept { return sizeof *state_; }

private:
  static const char* why(int result) {
    switch (result) {
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
      return "no header of gzip";
    case ISAL_INCORRECT_CHECKSUM:
      return "a checksum that differs";
    case ISAL_INVALID_LOOKBACK:
      return "a distance that reaches too far back";
    default:
      return nullptr;
    }
  }

  std::unique_ptr<inflate_state> state_ = std::make_unique<inflate_state>();
};

#else

class gzip_stream {
public:
  gzip_stream() {
    if (::inflateInit2(&state_, gzip_with_any_window) != Z_OK)
      throw std::bad_alloc{};
  }
  ~gzip_stream() { ::inflateEnd(&state_); }
  gzip_stream(const gzip_stream&) = delete;
  gzip_stream& operator=(const gzip_stream&) = delete;

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
  /// zconf.h: 32 KiB of window, and about 7 KiB beside it.
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
    // Neither library takes a pointer to const, and both only read.
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
      throw error(errc::invalid_argument,
                  {.stage = "zstd",
                   .got = "a frame with a window above 128 MiB",
                   .needed = "at most 128 MiB: compress it with zstd --long=27 or less"});
    if (code == ZSTD_error_dictionary_wrong)
      throw error(
          errc::invalid_argument,
          {.stage = "zstd",
           .got = "a frame that was made with a dictionary",
           .needed = "one without: zstd -d -D DICTIONARY FILE, and zstd of what comes out"});
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
