#pragma once

#include <stdexcept>
#include <string>

namespace leat {

/// What a tokenizer's file asks for that leat does not do: other programs may. The text names it.
class unsupported_tokenizer : public std::runtime_error {
public:
  explicit unsupported_tokenizer(const std::string& what) : std::runtime_error(what) {}
};

} // namespace leat
