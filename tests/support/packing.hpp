#pragma once

#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace leat::test {

/// One gzip member.
inline std::string gzip(std::string_view bytes) {
  z_stream state{};
  if (::deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(::deflateBound(&state, bytes.size()) + 64, '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  state.avail_in = static_cast<uInt>(bytes.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  const int result = ::deflate(&state, Z_FINISH);
  packed.resize(packed.size() - state.avail_out);
  ::deflateEnd(&state);
  if (result != Z_STREAM_END)
    throw std::runtime_error("deflate");
  return packed;
}

/// Optional parts of a gzip header; `more` are flags that gzip does not define.
struct gzip_head {
  std::string extra = {};
  std::string name = {};
  std::string comment = {};
  bool has_sum = false;
  int more = 0;
};

/// One gzip member with such a header.
inline std::string gzip_member(std::string_view bytes, const gzip_head& x) {
  const int flags = (x.has_sum ? 2 : 0) | (x.extra.empty() ? 0 : 4) | (x.name.empty() ? 0 : 8)
                    | (x.comment.empty() ? 0 : 16) | x.more;
  std::string head{"\x1f\x8b\x08", 3};
  head += static_cast<char>(flags);
  head.append(6, '\0');
  const auto add_number = [&](std::size_t n) {
    head += {static_cast<char>(n & 0xff), static_cast<char>(n >> 8 & 0xff)};
  };
  if (!x.extra.empty()) {
    add_number(x.extra.size());
    head += x.extra;
  }
  for (const auto* text : {&x.name, &x.comment})
    if (!text->empty())
      head += *text + '\0';
  if (x.has_sum)
    add_number(
        ::crc32(0, reinterpret_cast<const Bytef*>(head.data()), static_cast<uInt>(head.size())));
  return head + gzip(bytes).substr(10);
}

/// One zstd frame with a checksum, as the command makes it.
inline std::string zstd(std::string_view bytes, int window_log = 0) {
  auto* state = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(state, ZSTD_c_checksumFlag, 1);
  if (window_log > 0) {
    ::ZSTD_CCtx_setParameter(state, ZSTD_c_windowLog, window_log);
    // A frame that gives its size needs no window.
    ::ZSTD_CCtx_setParameter(state, ZSTD_c_contentSizeFlag, 0);
  }
  std::string packed(::ZSTD_compressBound(bytes.size()) + 64, '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  // In two steps: otherwise the window would shrink to the content.
  ::ZSTD_compressStream2(state, &out, &in, ZSTD_e_continue);
  const auto rest = ::ZSTD_compressStream2(state, &out, &in, ZSTD_e_end);
  ::ZSTD_freeCCtx(state);
  if (rest != 0)
    throw std::runtime_error("ZSTD_compressStream2");
  packed.resize(out.pos);
  return packed;
}

/// Compresses in parts of `part` bytes, each a member or frame; in one part if it is 0.
template <class Pack>
std::string pack_in_parts(std::string_view bytes, std::size_t part, Pack pack) {
  if (part == 0)
    return pack(bytes);
  std::string packed;
  for (std::size_t at = 0; at < bytes.size(); at += part)
    packed += pack(bytes.substr(at, part));
  return packed;
}

} // namespace leat::test
