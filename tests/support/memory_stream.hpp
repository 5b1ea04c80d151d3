#pragma once

#include "runtime/storage/byte_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace leat::test {

/// Bytes in memory from a place on, given in pieces of at most `most`.
class memory_stream : public byte_stream {
public:
  explicit memory_stream(std::string bytes, std::size_t at = 0, std::size_t most = SIZE_MAX)
      : bytes_(std::move(bytes)), at_(at), most_(most) {}

  std::size_t read(std::span<std::byte> into) override {
    const auto piece = std::as_bytes(std::span{bytes_}).subspan(at_);
    const auto n = std::min({into.size(), most_, piece.size()});
    std::copy_n(piece.begin(), n, into.begin());
    at_ += n;
    return n;
  }
  std::uint64_t offset() const override { return at_; }

private:
  std::string bytes_;
  std::size_t at_;
  std::size_t most_;
};

} // namespace leat::test
