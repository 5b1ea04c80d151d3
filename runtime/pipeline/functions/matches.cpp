#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"

#include <leat/functions.hpp>

#ifdef LEAT_HAS_RE2
#include <re2/re2.h>
#endif

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace leat {

namespace {

constexpr auto matches_name = "matches@1";

using text_judge = std::function<bool(std::string_view)>;

#ifdef LEAT_HAS_RE2

text_judge judge_of(const std::string& pattern, bool whole) {
  RE2::Options options;
  options.set_log_errors(false);
  const auto compiled = std::make_shared<const RE2>(pattern, options);
  if (!compiled->ok())
    refuse_argument(matches_name, "pattern " + excerpt(pattern) + " (" + compiled->error() + ")",
                    "a regular expression of RE2");
  const auto anchors = whole ? RE2::ANCHOR_BOTH : RE2::UNANCHORED;
  return [=](std::string_view text) {
    return compiled->Match({text.data(), text.size()}, 0, text.size(), anchors, nullptr, 0);
  };
}

#else

text_judge judge_of(const std::string&, bool) {
  refuse_argument(matches_name, "a build of leat without RE2",
                  "one with it: install libre2-dev and build leat again");
}

#endif

} // namespace

filter_stage matches(const std::string& field, const std::string& pattern,
                     matches_options options) {
  auto text =
      parameters_of(function_types::matches(), field, pattern, options.whole, options.invert);
  if (pattern.empty())
    refuse_argument(matches_name, "an empty pattern", "a regular expression of RE2");
  judge_of(pattern, options.whole); // refuses it here, not in a worker
  return {
      .name = matches_name,
      .parameters =
          parameters_of(function_types::matches(), field, pattern, options.whole, options.invert),
      // One for each worker: they would wait for each other's automaton, which grows as it is used.
      .make = [=]() -> std::function<bool(sample&)> {
        return [=, judge = judge_of(pattern, options.whole)](sample& x) {
          return judge(text_of(x, field)) != options.invert;
        };
      }};
}

} // namespace leat
