#include "runtime/sources/tokens/token_windows.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"

#include <leat/rng.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Windows of a file that begin at multiples of the stride.
std::uint64_t windows_of(std::uint64_t tokens, std::uint64_t length, std::uint64_t stride,
                         bool drop_last) {
  const auto whole = tokens < length ? 0 : (tokens - length) / stride + 1;
  if (drop_last || tokens == 0)
    return whole;
  const bool all_are_in_one = whole > 0 && (tokens - length) % stride == 0;
  // With a stride beyond the length, the next window may begin after the end.
  const bool has_rest = whole == 0 || (tokens - 1) / stride >= whole;
  return !all_are_in_one && has_rest ? whole + 1 : whole;
}

std::uint64_t stream_of(std::uint64_t seed) {
  hash_stream hash;
  hash.add(std::string_view{"leat.tokens"});
  hash.add(seed);
  return hash.digest64();
}

} // namespace

token_windows::token_windows(std::vector<std::string> names,
                             const std::vector<std::uint64_t>& tokens, std::uint64_t length,
                             const token_options& options)
    : tokens_(tokens), length_(length), stride_(options.stride == 0 ? length : options.stride),
      drawn_(options.random_windows), stream_(stream_of(options.seed)), windows_(std::move(names)) {
  for (const auto x : tokens)
    windows_.add(windows_of(x, length_, drawn_ > 0 ? 1 : stride_, options.drop_last), "tokens");
  if (drawn_ > 0 && windows_.size() == 0)
    refuse_argument("tokens",
                    "files of at most "
                        + std::to_string(*std::max_element(tokens.begin(), tokens.end()))
                        + " tokens",
                    "one with at least " + std::to_string(length)
                        + ", the length of the windows that are drawn");
}

token_window token_windows::at(std::uint64_t number) const {
  if (drawn_ > 0) {
    const auto [file, begin] = windows_.place_of(rng{stream_, number}.below(windows_.size()));
    return {file, begin, length_};
  }
  const auto [file, window] = windows_.place_of(number);
  const auto begin = window * stride_;
  return {file, begin, std::min(length_, tokens_[file] - begin)};
}

void token_windows::append_id(std::uint64_t number, std::string& to) const {
  if (drawn_ == 0)
    return windows_.append_id(number, to);
  const auto x = at(number);
  to += windows_.names()[x.file];
  to += "/@";
  to += number_text(x.begin);
  to += '/';
  to += number_text(number);
}

std::vector<std::uint64_t> token_windows::per_file() const {
  return drawn_ > 0 ? std::vector{drawn_} : windows_.counts();
}

} // namespace leat
