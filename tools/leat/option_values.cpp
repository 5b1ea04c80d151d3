#include "tools/leat/option_values.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <CLI/CLI.hpp>

#include <charconv>

namespace leat::command {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (char x : text)
    if (x == separator)
      parts.emplace_back();
    else
      parts.back() += x;
  return parts;
}

CLI::Option* whole_number(CLI::Option* option, std::uint64_t minimum, std::uint64_t maximum) {
  auto range = maximum == UINT64_MAX ? "a whole number from " + std::to_string(minimum)
                                     : "a whole number of " + std::to_string(minimum) + " .. "
                                           + std::to_string(maximum);
  return option->transform(CLI::Validator(
      [=](std::string& text) {
        auto value = parse_number(text);
        if (!value || *value < minimum || *value > maximum)
          return "got \"" + text + "\", needed " + range;
        text = std::to_string(*value);
        return std::string{};
      },
      "", "number"));
}

void refuse_addresses(CLI::App& app) {
  const CLI::Validator is_path{[](std::string& text) {
                                 return scheme_of(text).empty()
                                            ? std::string{}
                                            : "got the address \"" + without_secrets(text)
                                                  + "\", needed a path of this machine";
                               },
                               "", "path"};
  for (auto* option : app.get_options()) {
    const auto type = option->get_type_name();
    if (type.starts_with("FILE") || type.starts_with("DIR"))
      option->check(is_path);
  }
  for (auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    refuse_addresses(*sub);
}

void refuse_empty_texts(CLI::App& app) {
  const CLI::Validator not_empty{[](std::string& text) {
                                   return text.empty()
                                              ? std::string{"got an empty text, needed one "
                                                            "that is not, or no option"}
                                              : std::string{};
                                 },
                                 "", "text"};
  for (auto* option : app.get_options())
    if (option->get_items_expected_max() > 0)
      option->check(not_empty);
  for (auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    refuse_empty_texts(*sub);
}

} // namespace leat::command
