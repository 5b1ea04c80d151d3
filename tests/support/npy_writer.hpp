#pragma once

#include <cstdint>
#include <string>

namespace leat::test {

/// The bytes of a NumPy array, as numpy.save writes it: `dims` as Python prints a tuple.
inline std::string npy_bytes(const std::string& descr, const std::string& dims,
                             const std::string& elements, char format = 1,
                             const std::string& order = "False") {
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + dims + ", }";
  const std::size_t before = format == 1 ? 10 : 12;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string bytes{"\x93NUMPY", 6};
  bytes += format;
  bytes += '\0';
  for (std::size_t i = 0; i < before - 8; ++i)
    bytes += static_cast<char>(text.size() >> 8 * i & 0xFF);
  return bytes + text + elements;
}

} // namespace leat::test
