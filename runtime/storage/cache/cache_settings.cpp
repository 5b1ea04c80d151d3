#include "runtime/storage/cache/cache_settings.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/cache/cache_directory.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace leat {

namespace {

constexpr auto cache_stage = "cache";

std::uint64_t limit_in_variable(const std::string& text) {
  std::uint64_t limit = 0;
  const auto* const end = text.data() + text.size();
  if (const auto [at, problem] = std::from_chars(text.data(), end, limit);
      problem != std::errc{} || at != end)
    throw_error(errc::invalid_argument, cache_stage, "LEAT_CACHE_BYTES is " + excerpt(text),
                "a number of bytes");
  return limit;
}

/// One spelling of each directory, which stays the same when the process changes its own.
std::string full_path_of_cache(const std::string& name) {
  if (!scheme_of(name).empty())
    throw_error(errc::invalid_argument, cache_stage,
                "the address " + excerpt(without_secrets(name)), "a directory of this machine");
  std::error_code problem;
  auto path = std::filesystem::absolute(name, problem).lexically_normal().native();
  if (problem)
    throw_error(errc::io, cache_stage, "no current directory: " + problem.message(),
                "the full path of the cache");
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

} // namespace

cache_settings read_cache_settings(const std::function<std::string(const char*)>& variable,
                                   const remote_options& chosen) {
  cache_settings x{.directory = chosen.cache.empty() ? variable("LEAT_CACHE") : chosen.cache};
  if (chosen.cache_bytes > 0 && x.directory.empty())
    throw_error(errc::invalid_argument, cache_stage, "cache_bytes without a directory",
                "cache, or LEAT_CACHE");
  if (!x.directory.empty())
    x.directory = full_path_of_cache(x.directory);
  if (chosen.cache_bytes > 0)
    x.limit = checked_cache_limit(chosen.cache_bytes);
  else if (const auto limit = variable("LEAT_CACHE_BYTES"); !limit.empty())
    x.limit = checked_cache_limit(limit_in_variable(limit));
  return x;
}

cache_settings process_cache_settings(const remote_options& chosen) {
  return read_cache_settings(
      [](const char* name) {
        const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
        return std::string{value ? value : ""};
      },
      chosen);
}

} // namespace leat
