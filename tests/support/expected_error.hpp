#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace leat {

/// Why a call calls its sample bad, and the text that says so; nothing if it does not.
template <class Call>
std::optional<std::pair<cause, std::string>> bad_sample_of(Call call) {
  try {
    call();
  } catch (const bad_sample& x) {
    return std::pair{x.why(), std::string{x.what()}};
  }
  return std::nullopt;
}

/// What an error must say; what is not given may be anything.
struct expected_error {
  errc code;
  std::optional<std::string> file = {};
  std::optional<std::uint64_t> offset = {};
  std::optional<std::string> stage = {};
  std::optional<std::string> sample = {};
  /// The whole texts, or parts of them.
  std::optional<std::string> got = {};
  std::optional<std::string> needed = {};
  std::string got_has = {};
  std::string needed_has = {};
};

/// Checks the error that a call throws.
template <class Call>
void check_error(Call call, const expected_error& want, int line = __builtin_LINE()) {
  const auto found = problem_of(call);
  INFO("line " << line << ": " << (found ? found->what() : "no error"));
  REQUIRE(found);
  CHECK(found->code() == want.code);
  const auto& x = found->details();
  CHECK(x.file == want.file.value_or(x.file));
  CHECK((!want.offset || x.offset == want.offset));
  CHECK(x.stage == want.stage.value_or(x.stage));
  CHECK(x.sample == want.sample.value_or(x.sample));
  CHECK(x.got == want.got.value_or(x.got));
  CHECK(x.needed == want.needed.value_or(x.needed));
  CAPTURE(want.got_has, want.needed_has);
  CHECK(x.got.find(want.got_has) != std::string::npos);
  CHECK(x.needed.find(want.needed_has) != std::string::npos);
}

} // namespace leat
