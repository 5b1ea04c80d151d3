#pragma once

#include <leat/export.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace leat {

/// Bytes that nobody may see: a token, a private key. It has no output operator and becomes no text
/// by itself, so that it gets into no error, log or dump by mistake. Its memory is overwritten
/// before it is freed.
class LEAT_API secret {
public:
  secret() = default;
  /// Copies the bytes; those of the caller stay as they are.
  explicit secret(std::string_view bytes);
  secret(const secret& x) : secret(x.reveal()) {}
  secret(secret&& x) noexcept { swap(x); }
  secret& operator=(secret x) noexcept {
    swap(x);
    return *this;
  }
  ~secret();

  bool is_empty() const noexcept { return size_ == 0; }
  /// For the one place that needs the bytes; they live as long as this.
  std::string_view reveal() const noexcept { return {bytes_.get(), size_}; }
  /// Whether a guess is right. The time it takes depends on the guess's size alone.
  bool is(std::string_view guess) const noexcept;

private:
  void swap(secret& x) noexcept {
    std::swap(bytes_, x.bytes_);
    std::swap(size_, x.size_);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

} // namespace leat
