#include "runtime/image/jpeg/jpeg_session.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

// In this order, and after <cstdio>: they do not include what they need.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace leat {

namespace {

/// Memory for what libjpeg keeps of an image's headers: given piece by piece, taken back at once,
/// used again.
class header_memory {
public:
  /// Null if there is none.
  void* take(std::size_t bytes) noexcept {
    bytes = (bytes + alignment - 1) / alignment * alignment;
    while (at_ < blocks_.size() && blocks_[at_].size - used_ < bytes)
      ++at_, used_ = 0;
    if (at_ == blocks_.size() && !grow(bytes))
      return nullptr;
    return blocks_[at_].bytes.get() + std::exchange(used_, used_ + bytes);
  }
  void take_back() noexcept { at_ = used_ = 0; }

private:
  /// What libjpeg's vector code wants, at most.
  static constexpr std::size_t alignment = 64;
  struct deleter {
    void operator()(std::byte* x) const { ::operator delete[](x, std::align_val_t{alignment}); }
  };
  struct block {
    std::unique_ptr<std::byte[], deleter> bytes;
    std::size_t size;
  };

  bool grow(std::size_t bytes) noexcept try {
    const auto size = std::max(bytes, std::size_t{1} << 14);
    auto* made = new (std::align_val_t{alignment}) std::byte[size];
    blocks_.push_back({std::unique_ptr<std::byte[], deleter>{made}, size});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  std::vector<block> blocks_;
  /// The block in use, and how much of it.
  std::size_t at_ = 0;
  std::size_t used_ = 0;
};

} // namespace

// libjpeg reports an error by a function that must not return; ours jumps. So what runs between
// the setjmp in `guarded` and the jump is C, or C++ without destructors.
struct jpeg_session::state {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  header_memory memory;
  bool created = false;
  /// More than headers were read.
  bool started = false;
  bool lacks_memory = false;
  cause why = cause::corrupt;
  char text[JMSG_LENGTH_MAX] = "";

  template <class Step>
  bool guarded(Step step) noexcept {
    if (setjmp(escape) != 0)
      return false;
    step();
    return true;
  }

  [[noreturn]] void leave(cause x) {
    why = x;
    std::longjmp(escape, 1);
  }
  [[noreturn]] void leave(cause x, const char* reason) {
    std::snprintf(text, sizeof text, "%s", reason);
    leave(x);
  }
  /// With libjpeg's own text.
  [[noreturn]] void leave_as_told(cause x) {
    errors.format_message(reinterpret_cast<j_common_ptr>(&info), text);
    leave(x);
  }

  void connect(std::span<const std::byte> file) noexcept;
  void create();
  void forget() noexcept;
};

namespace {

/// A progressive file may pass over all its pixels once a scan; real ones have about ten.
constexpr int max_scans = 500;

cause cause_of_error(int code) {
  switch (code) {
  case JERR_ARITH_NOTIMPL:
  case JERR_BAD_PRECISION:
  case JERR_CCIR601_NOTIMPL:
  case JERR_COMPONENT_COUNT:
  case JERR_CONVERSION_NOTIMPL:
  case JERR_FRACT_SAMPLE_NOTIMPL:
  case JERR_NOTIMPL:
  case JERR_NOT_COMPILED:
  case JERR_SOF_UNSUPPORTED:
    return cause::unsupported;
  case JERR_IMAGE_TOO_BIG:
    return cause::too_large;
  default:
    return cause::corrupt;
  }
}

/// Those that leave the pixels as they were meant.
bool is_harmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_JFIF_MAJOR
         || warning == JWRN_ADOBE_XFORM || warning == JWRN_BOGUS_ICC;
}

template <class Info>
jpeg_session::state& state_of(Info info) {
  return *static_cast<jpeg_session::state*>(info->client_data);
}

void on_error(j_common_ptr info) {
  auto& s = state_of(info);
  s.lacks_memory = s.errors.msg_code == JERR_OUT_OF_MEMORY;
  s.leave_as_told(cause_of_error(s.errors.msg_code));
}

// libjpeg would invent pixels and continue, for as many rows as the headers declare.
void on_message(j_common_ptr info, int level) {
  auto& s = state_of(info);
  if (level < 0 && !is_harmless(s.errors.msg_code))
    s.leave_as_told(s.errors.msg_code == JWRN_JPEG_EOF ? cause::truncated : cause::corrupt);
}

void on_output(j_common_ptr) {}

void on_progress(j_common_ptr info) {
  auto& s = state_of(info);
  if (s.info.input_scan_number > max_scans)
    s.leave(cause::corrupt, "too many scans");
}

void* on_small_memory(j_common_ptr info, int, std::size_t bytes) {
  auto& s = state_of(info);
  auto* memory = s.memory.take(bytes);
  if (memory == nullptr) {
    s.lacks_memory = true;
    s.leave(cause::too_large, "no memory");
  }
  return memory;
}

void on_source_begin_or_end(j_decompress_ptr) {}

boolean on_source_empty(j_decompress_ptr info) {
  state_of(info).leave(cause::truncated, "the file ends too early");
}

void on_source_skip(j_decompress_ptr info, long bytes) {
  auto& source = *info->src;
  if (bytes <= 0)
    return;
  if (static_cast<std::size_t>(bytes) > source.bytes_in_buffer)
    on_source_empty(info);
  source.next_input_byte += bytes;
  source.bytes_in_buffer -= static_cast<std::size_t>(bytes);
}

/// Whether a part's pixels are those of a full decode. Files of several scans gain little from
/// skipping, as all their coefficients are decoded first.
bool can_crop(jpeg_decompress_struct& info) {
  auto simple = [&](const jpeg_component_info& x) {
    const bool wide =
        x.h_samp_factor == info.max_h_samp_factor || x.h_samp_factor * 2 == info.max_h_samp_factor;
    const bool high =
        x.v_samp_factor == info.max_v_samp_factor || x.v_samp_factor * 2 == info.max_v_samp_factor;
    return wide && high;
  };
  return jpeg_has_multiple_scans(&info) == FALSE
         && std::all_of(info.comp_info, info.comp_info + info.num_components, simple);
}

jpeg_frame::colours colours_of(const jpeg_decompress_struct& info) {
  switch (info.jpeg_color_space) {
  case JCS_GRAYSCALE:
    return jpeg_frame::colours::gray;
  case JCS_YCbCr:
    return jpeg_frame::colours::ycc;
  case JCS_RGB:
    return jpeg_frame::colours::rgb;
  default:
    return jpeg_frame::colours::other;
  }
}

bool is_plain(const jpeg_decompress_struct& info) {
  if (info.progressive_mode != FALSE || info.arith_code != FALSE || info.data_precision != 8
      || info.comps_in_scan != info.num_components)
    return false;
  // libjpeg warns if a part of the coefficients, or of their bits, is missing.
  if (info.Ss != 0 || info.Se != DCTSIZE2 - 1 || info.Ah != 0 || info.Al != 0)
    return false;
  for (int c = 0; c < info.num_components; ++c) {
    const auto& x = info.comp_info[c];
    auto has = [](const auto& tables, int number) {
      return number >= 0 && number < 4 && tables[number] != nullptr;
    };
    if (info.cur_comp_info[c] != &x || !has(info.quant_tbl_ptrs, x.quant_tbl_no)
        || !has(info.dc_huff_tbl_ptrs, x.dc_tbl_no) || !has(info.ac_huff_tbl_ptrs, x.ac_tbl_no))
      return false;
  }
  return true;
}

/// Samples of a block in the component that has the most.
int samples_of_block(const jpeg_decompress_struct& info) {
#if JPEG_LIB_VERSION >= 70
  return info.min_DCT_h_scaled_size;
#else
  return info.min_DCT_scaled_size;
#endif
}

huffman_code code_of(const JHUFF_TBL& table) {
  return {table.bits, table.huffval};
}

/// Transforms only these columns of MCUs. libjpeg-turbo offers that to readers of pixels alone, by
/// a check of its state; what does the work (jdcoefct.c) is the same for planes, in all releases
/// from 1.5 to 3. Elsewhere all columns are transformed.
void crop_planes(jpeg_decompress_struct& info, jpeg_session::columns& mcus) {
  const auto unit = static_cast<unsigned>(info.num_components == 1
                                              ? samples_of_block(info)
                                              : samples_of_block(info) * info.max_h_samp_factor);
  const unsigned all = (info.output_width + unit - 1) / unit;
#if defined(LIBJPEG_TURBO_VERSION_NUMBER) && LIBJPEG_TURBO_VERSION_NUMBER >= 2000000               \
    && LIBJPEG_TURBO_VERSION_NUMBER < 4000000
  // One more on the left, and at least two: with a width below two samples libjpeg would plan
  // upsampling, which planes do not have.
  const unsigned begin = mcus.begin - std::min(mcus.begin, 1U);
  const unsigned end = std::min(all, std::max(mcus.begin + mcus.count, begin + 2));
  mcus = {begin, end - begin};
  JDIMENSION x = mcus.begin * unit;
  JDIMENSION width = std::min(mcus.count * unit, info.output_width - x);
  if (mcus.count == all)
    return;
  constexpr int reads_pixels = 205; // DSTATE_SCANNING in libjpeg's jpegint.h
  const int reads_planes = info.global_state;
  info.global_state = reads_pixels;
  jpeg_crop_scanline(&info, &x, &width);
  info.global_state = reads_planes;
#else
  mcus = {0, all};
#endif
}

void want_all(jpeg_decompress_struct& info, boolean wanted) {
  for (int c = 0; c < info.num_components; ++c)
    info.comp_info[c].component_needed = wanted;
}

void read_raw(jpeg_decompress_struct& info, JSAMPIMAGE rows) {
  const auto high = static_cast<JDIMENSION>(info.max_v_samp_factor * samples_of_block(info));
  jpeg_read_raw_data(&info, rows, high);
}

} // namespace

void jpeg_session::state::connect(std::span<const std::byte> file) noexcept {
  info.client_data = this;
  info.err = jpeg_std_error(&errors);
  errors.error_exit = on_error;
  errors.emit_message = on_message;
  errors.output_message = on_output;
  progress.progress_monitor = on_progress;
  source.init_source = on_source_begin_or_end;
  source.term_source = on_source_begin_or_end;
  source.fill_input_buffer = on_source_empty;
  source.skip_input_data = on_source_skip;
  source.resync_to_restart = jpeg_resync_to_restart;
  source.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
  source.bytes_in_buffer = file.size();
}

jpeg_session::jpeg_session() : state_(std::make_unique<state>()) {}

jpeg_session::~jpeg_session() {
  state_->started = true;
  close();
}

// Whatever libjpeg allocates after this, while it reads headers, belongs to one image alone,
// including tables.
void jpeg_session::state::create() {
  if (created)
    return;
  created = started = true; // should it fail half way
  jpeg_create_decompress(&info);
  info.mem->alloc_small = on_small_memory;
  started = false;
}

// A used decompressor remembers tables, and would decode a file that lacks its own with those of
// another image. One that has begun to decode remembers more, and is replaced.
void jpeg_session::state::forget() noexcept {
  if (!created)
    return;
  if (started) {
    jpeg_destroy_decompress(&info);
    created = started = false;
  } else {
    jpeg_abort_decompress(&info);
    std::fill(std::begin(info.quant_tbl_ptrs), std::end(info.quant_tbl_ptrs), nullptr);
    std::fill(std::begin(info.dc_huff_tbl_ptrs), std::end(info.dc_huff_tbl_ptrs), nullptr);
    std::fill(std::begin(info.ac_huff_tbl_ptrs), std::end(info.ac_huff_tbl_ptrs), nullptr);
  }
  memory.take_back();
}

bool jpeg_session::open(std::span<const std::byte> file) {
  close();
  auto& s = *state_;
  s.lacks_memory = false;
  s.connect(file);
  return s.guarded([&s] {
    s.create();
    s.info.src = &s.source;
    s.info.progress = &s.progress;
    jpeg_read_header(&s.info, TRUE);
    if (s.info.data_precision != 8)
      s.leave(cause::unsupported, "not 8 bits a sample");
    const int n = s.info.num_components;
    if (n != 1 && n != 3 && n != 4)
      s.leave(cause::unsupported, "neither 1, 3 nor 4 components");
    s.info.out_color_space = n == 4 ? JCS_CMYK : JCS_RGB;
  });
}

image_size jpeg_session::size() const noexcept {
  return {state_->info.image_width, state_->info.image_height};
}

bool jpeg_session::is_cmyk() const noexcept {
  return state_->info.out_color_space == JCS_CMYK;
}

std::span<const std::byte> jpeg_session::unread() const noexcept {
  return {reinterpret_cast<const std::byte*>(state_->source.next_input_byte),
          state_->source.bytes_in_buffer};
}

bool jpeg_session::start(columns& range, unsigned first_row) {
  auto& s = *state_;
  s.started = true;
  return s.guarded([&s, &range, first_row] {
    jpeg_start_decompress(&s.info);
    if (!can_crop(s.info)) {
      range = {0, s.info.output_width};
      return;
    }
    jpeg_crop_scanline(&s.info, &range.begin, &range.count);
    if (first_row > 0)
      jpeg_skip_scanlines(&s.info, first_row);
  });
}

unsigned jpeg_session::next_row() const noexcept {
  return state_->info.output_scanline;
}

bool jpeg_session::read_row(std::uint8_t* to) {
  auto& s = *state_;
  return s.guarded([&s, to] {
    JSAMPROW rows[] = {to};
    jpeg_read_scanlines(&s.info, rows, 1);
  });
}

jpeg_frame jpeg_session::frame() const noexcept {
  const auto& info = state_->info;
  jpeg_frame x;
  x.size = size();
  x.colour = colours_of(info);
  x.num_components = static_cast<std::size_t>(info.num_components);
  x.restart_interval = info.restart_interval;
  x.scan = unread();
  x.is_plain = is_plain(info);
  if (x.num_components == 1)
    x.rows_at_once = static_cast<std::size_t>(info.max_v_samp_factor);
  for (std::size_t c = 0; c < x.num_components; ++c) {
    const auto& from = info.comp_info[c];
    auto& to = x.components[c];
    // The MCU of a lone component is one block, whatever its factors.
    to.across = x.num_components == 1 ? 1 : static_cast<unsigned>(from.h_samp_factor);
    to.down = x.num_components == 1 ? 1 : static_cast<unsigned>(from.v_samp_factor);
    x.across = std::max(x.across, to.across);
    x.down = std::max(x.down, to.down);
    if (!x.is_plain)
      continue;
    to.quantisation = info.quant_tbl_ptrs[from.quant_tbl_no]->quantval;
    to.dc = code_of(*info.dc_huff_tbl_ptrs[from.dc_tbl_no]);
    to.ac = code_of(*info.ac_huff_tbl_ptrs[from.ac_tbl_no]);
  }
  return x;
}

bool jpeg_session::start_planes(columns& mcus, std::size_t eighths) {
  auto& s = *state_;
  s.started = true;
  return s.guarded([&s, &mcus, eighths] {
    auto& info = s.info;
    info.scale_num = static_cast<unsigned>(eighths);
    info.scale_denom = DCTSIZE;
    info.raw_data_out = TRUE;
    info.out_color_space = info.jpeg_color_space;
    jpeg_start_decompress(&info);
    crop_planes(info, mcus);
  });
}

std::size_t jpeg_session::rows_at_once() const noexcept {
  const auto& info = state_->info;
  return static_cast<std::size_t>(info.max_v_samp_factor)
         * static_cast<std::size_t>(samples_of_block(info));
}

bool jpeg_session::skip_mcu_row() {
  auto& s = *state_;
  return s.guarded([&s] {
    // Entropy decoding continues; transforms are left out.
    want_all(s.info, FALSE);
    read_raw(s.info, nullptr);
    want_all(s.info, TRUE);
  });
}

bool jpeg_session::read_mcu_row(std::span<std::uint8_t** const> rows) {
  auto& s = *state_;
  return s.guarded([&s, rows] { read_raw(s.info, const_cast<JSAMPIMAGE>(rows.data())); });
}

void jpeg_session::close() noexcept {
  state_->forget();
}

bool jpeg_session::lacks_memory() const noexcept {
  return state_->lacks_memory;
}

cause jpeg_session::why() const noexcept {
  return state_->why;
}

const char* jpeg_session::text() const noexcept {
  return state_->text;
}

} // namespace leat
