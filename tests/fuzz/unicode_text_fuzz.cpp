#include "runtime/pipeline/functions/unicode_text.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

using namespace leat;

namespace {

bool is_invalid_or_ascii(char x) {
  const auto byte = static_cast<unsigned char>(x);
  return byte < 0x80 || byte == 0xC0 || byte == 0xC1 || byte > 0xF4;
}

/// Characters that are one byte, and bytes that are never part of any.
std::string lonely(std::string_view text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result), is_invalid_or_ascii);
  return result;
}

void check_form(std::string_view text, unicode_form form) {
  std::string once;
  try {
    once = normal_form(text, form);
  } catch (const bad_sample&) { // a long run of combining characters
    return;
  }
  try {
    if (normal_form(once, form) != once)
      std::abort();
  } catch (const bad_sample&) { // some characters become several that combine
  }
  // Compatible forms make ASCII of other characters, and composed ones use it up.
  if (form == unicode_form::nfd && lonely(once).size() < lonely(text).size())
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  for (const auto form :
       {unicode_form::nfc, unicode_form::nfd, unicode_form::nfkc, unicode_form::nfkd})
    check_form(text, form);
  if (normal_form(text, unicode_form::keep) != text)
    std::abort();
  return 0;
}
