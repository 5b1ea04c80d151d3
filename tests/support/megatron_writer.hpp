#pragma once

#include <leat/tensor.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace leat::test {

/// Writes data sets as Megatron-LM's IndexedDatasetBuilder does: PREFIX.bin and PREFIX.idx.
class megatron_writer {
public:
  explicit megatron_writer(dtype type) : code(code_of(type)), type_(type) {}

  /// A document, given by the bytes of its sequences.
  megatron_writer& document(const std::vector<std::string>& sequences) {
    for (const auto& x : sequences) {
      lengths.push_back(static_cast<std::int32_t>(x.size() / size_of(type_)));
      offsets.push_back(static_cast<std::int64_t>(data_.size()));
      data_ += x;
    }
    bounds.push_back(static_cast<std::int64_t>(lengths.size()));
    return *this;
  }

  const std::string& data() const noexcept { return data_; }

  std::string index() const {
    std::string x{"MMIDIDX\0\0", 9};
    append(x, version);
    append(x, code);
    append(x, std::uint64_t{lengths.size()});
    append(x, std::uint64_t{bounds.size()});
    append_all(x, lengths);
    append_all(x, offsets);
    append_all(x, bounds);
    return x;
  }

  void save(const std::string& prefix) const {
    std::ofstream{prefix + ".bin", std::ios::binary} << data_;
    std::ofstream{prefix + ".idx", std::ios::binary} << index();
  }

  // The content of an index, for tests that forge it.
  std::uint64_t version = 1;
  std::uint8_t code;
  std::vector<std::int32_t> lengths = {};
  std::vector<std::int64_t> offsets = {};
  std::vector<std::int64_t> bounds = {0};

private:
  static std::uint8_t code_of(dtype x) {
    constexpr dtype codes[] = {dtype::u8, dtype::i8, dtype::i16, dtype::i32, dtype::i64};
    for (std::uint8_t i = 0; i < 5; ++i)
      if (codes[i] == x)
        return i + 1;
    return 8;
  }
  template <class T>
  static void append(std::string& to, T x) {
    to.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  template <class T>
  static void append_all(std::string& to, const std::vector<T>& xs) {
    to.append(reinterpret_cast<const char*>(xs.data()), xs.size() * sizeof(T));
  }

  dtype type_;
  std::string data_;
};

} // namespace leat::test
