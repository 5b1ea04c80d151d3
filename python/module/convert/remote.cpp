#include "python/module/convert/remote.hpp"

#include "runtime/base/error_in_flight.hpp"

#include "python/module/convert/casters.hpp"
#include "python/module/convert/values.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace leat::python {

namespace {

[[noreturn]] void refuse_option(std::string_view name, nb::handle value, const char* needed) {
  refuse_argument("remote[\"" + std::string{name} + "\"]", "a " + name_of_type(value), needed);
}

std::string text_option(std::string_view name, nb::handle value) {
  if (!nb::isinstance<nb::str>(value))
    refuse_option(name, value, "a str");
  return nb::cast<std::string>(value);
}

std::string path_option(std::string_view name, nb::handle value) {
  path_text path;
  if (!nb::try_cast(value, path))
    refuse_option(name, value, "a str or an os.PathLike");
  return path;
}

bool flag_option(std::string_view name, nb::handle value) {
  if (!nb::isinstance<nb::bool_>(value))
    refuse_option(name, value, "True or False");
  return nb::cast<bool>(value);
}

std::uint64_t bytes_option(std::string_view name, nb::handle value) {
  std::uint64_t bytes = 0;
  if (nb::isinstance<nb::bool_>(value) || !nb::try_cast(value, bytes))
    refuse_option(name, value, "a number of bytes, an int that is not negative");
  return bytes;
}

bucket_place place_option(std::string_view name, nb::handle value) {
  constexpr std::array<std::string_view, 3> places{"automatic", "path", "host"};
  const auto text = text_option(name, value);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (text == places.at(i))
      return static_cast<bucket_place>(i);
  refuse_argument("remote[\"bucket_in\"]", "\"" + text + "\"", "automatic, path or host");
}

struct remote_option {
  std::string_view name;
  void (*set)(remote_options&, std::string_view, nb::handle);
};

constexpr std::array remote_option_list{
    remote_option{"endpoint",
                  [](auto& to, auto name, auto x) { to.endpoint = text_option(name, x); }},
    remote_option{"region", [](auto& to, auto name, auto x) { to.region = text_option(name, x); }},
    remote_option{"profile",
                  [](auto& to, auto name, auto x) { to.profile = text_option(name, x); }},
    remote_option{"anonymous",
                  [](auto& to, auto name, auto x) { to.anonymous = flag_option(name, x); }},
    remote_option{"requester_pays",
                  [](auto& to, auto name, auto x) { to.requester_pays = flag_option(name, x); }},
    remote_option{"access_key",
                  [](auto& to, auto name, auto x) { to.access_key = text_option(name, x); }},
    remote_option{"secret_key", [](auto& to, auto name,
                                   auto x) { to.secret_key = secret{text_option(name, x)}; }},
    remote_option{"session_token", [](auto& to, auto name,
                                      auto x) { to.session_token = secret{text_option(name, x)}; }},
    remote_option{"token",
                  [](auto& to, auto name, auto x) { to.token = secret{text_option(name, x)}; }},
    remote_option{"bucket_in",
                  [](auto& to, auto name, auto x) { to.bucket_in = place_option(name, x); }},
    remote_option{"bytes_in_flight",
                  [](auto& to, auto name, auto x) { to.bytes_in_flight = bytes_option(name, x); }},
    remote_option{"cache", [](auto& to, auto name, auto x) { to.cache = path_option(name, x); }},
    remote_option{"cache_bytes",
                  [](auto& to, auto name, auto x) { to.cache_bytes = bytes_option(name, x); }},
};

void set_option(remote_options& to, const std::string& name, nb::handle value) {
  std::string names;
  for (const auto& x : remote_option_list) {
    if (x.name == name)
      return x.set(to, x.name, value);
    names += (names.empty() ? "" : ", ") + std::string{x.name};
  }
  refuse_argument("remote", "the option \"" + name + "\"", "one of " + names);
}

} // namespace

remote_options remote_argument::options() const {
  remote_options made;
  if (!from.is_valid() || from.is_none())
    return made;
  for (const nb::handle item : nb::object(from.attr("items")())) {
    const auto name = text_option("", item[0]);
    const nb::object value = item[1];
    if (!value.is_none()) // as if it had been left out
      set_option(made, name, value);
  }
  return made;
}

} // namespace leat::python
