#include "runtime/pipeline/text/text_errors.hpp"

#include <utility>

namespace leat {

void text_errors::add(const text_position& at, const std::string& got, std::string needed) {
  add(text_error(at, got, std::move(needed)));
}

void text_errors::add(const text_position& at, const error& x) {
  auto details = x.details();
  details.got += (details.got.empty() ? "an error at " : " at ") + to_string(at);
  add(error{x.code(), std::move(details)});
}

} // namespace leat
