#include "runtime/image/png/png_session.hpp"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace leat {

// libpng reports an error by a function that must not return; ours jumps. So what runs between the
// setjmp in `guarded` and the jump is C, or C++ without destructors.
struct png_session::state {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> unread;
  std::jmp_buf escape{};
  bool lacks_memory = false;
  cause why = cause::corrupt;
  char text[128] = "";

  template <class Step>
  bool guarded(Step step) noexcept {
    if (setjmp(escape) != 0)
      return false;
    step();
    return true;
  }

  [[noreturn]] void leave(cause x, const char* reason) {
    why = x;
    std::snprintf(text, sizeof text, "%s", reason);
    std::longjmp(escape, 1);
  }

  void create();
};

namespace {

/// In bytes, for chunks other than pixels. libpng's own limit depends on how it was built.
constexpr png_alloc_size_t max_chunk = png_alloc_size_t{1} << 26;

void on_error(png_structp png, png_const_charp text) {
  static_cast<png_session::state*>(png_get_error_ptr(png))->leave(cause::corrupt, text);
}

// libpng warns of what leaves the pixels as they were meant.
void on_warning(png_structp, png_const_charp) {}

/// libpng's own limits are looked at before: what is asked for here may be had.
void* on_memory(png_structp png, png_alloc_size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr)
    static_cast<png_session::state*>(png_get_mem_ptr(png))->lacks_memory = true;
  return memory;
}

void on_free(png_structp, void* memory) {
  std::free(memory);
}

void on_read(png_structp png, png_bytep to, std::size_t bytes) {
  auto& s = *static_cast<png_session::state*>(png_get_io_ptr(png));
  if (bytes > s.unread.size())
    s.leave(cause::truncated, "the file ends too early");
  std::memcpy(to, s.unread.data(), bytes);
  s.unread = s.unread.subspan(bytes);
}

} // namespace

void png_session::state::create() {
  png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this, on_error, on_warning, this, on_memory,
                                 on_free);
  info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    lacks_memory = true;
    leave(cause::too_large, "out of memory");
  }
  png_set_read_fn(png, this, on_read);
  // Pixels are limited by their number, before anything is allocated for them.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(png, max_chunk);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  // Skips all that pixels do not need: texts, profiles, gamma.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  // Old writers declare a smaller window than they use. Pillow reads their files, too.
  png_set_option(png, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);
}

png_session::png_session() : state_(std::make_unique<state>()) {}

png_session::~png_session() {
  close();
}

bool png_session::open(std::span<const std::byte> file) {
  close();
  auto& s = *state_;
  s.unread = file;
  s.lacks_memory = false;
  return s.guarded([&s] {
    s.create();
    png_read_info(s.png, s.info);
  });
}

image_size png_session::size() const noexcept {
  return {png_get_image_width(state_->png, state_->info),
          png_get_image_height(state_->png, state_->info)};
}

bool png_session::read(std::uint8_t* rgb) {
  auto& s = *state_;
  return s.guarded([&s, rgb] {
    png_set_expand(s.png);
    png_set_strip_16(s.png);
    png_set_strip_alpha(s.png);
    png_set_gray_to_rgb(s.png);
    const int passes = png_set_interlace_handling(s.png);
    png_read_update_info(s.png, s.info);
    const std::size_t stride = png_get_rowbytes(s.png, s.info);
    const std::size_t height = png_get_image_height(s.png, s.info);
    for (int pass = 0; pass < passes; ++pass)
      for (std::size_t y = 0; y < height; ++y)
        png_read_row(s.png, rgb + y * stride, nullptr);
    png_read_end(s.png, nullptr);
  });
}

void png_session::close() noexcept {
  png_destroy_read_struct(&state_->png, &state_->info, nullptr);
}

bool png_session::lacks_memory() const noexcept {
  return state_->lacks_memory;
}

cause png_session::why() const noexcept {
  return state_->why;
}

const char* png_session::text() const noexcept {
  return state_->text;
}

} // namespace leat
