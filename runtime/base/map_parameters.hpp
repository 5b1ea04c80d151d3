#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace leat {

/// One word of a function's parameter text: "size=224".
struct map_parameter {
  std::string name;
  std::string value;
};

/// The words of a text such as "size=224 type=u8", which are separated by one space each. Nothing
/// if the text has another form: a word other than name=value, other white space, a name that comes
/// twice.
std::optional<std::vector<map_parameter>> split_parameters(std::string_view text);

/// The elements of "a,b"; an empty text has none.
std::vector<std::string> split_list(std::string_view text);

/// Reads a function's parameter text, one parameter at a time. All members throw
/// `errc::invalid_argument` with the function's name as stage.
class parameter_reader {
public:
  parameter_reader(std::string function, std::string_view text);

  const std::string& function() const noexcept { return function_; }

  /// The value of a parameter that must be given.
  std::string required(const std::string& name);
  /// The value of a parameter, if it is given.
  std::optional<std::string> optional(const std::string& name);

  /// Reads a parameter that must be given, as a number.
  template <class T>
  T required_number(const std::string& name) {
    return number<T>(name, required(name));
  }
  template <class T>
  std::optional<T> optional_number(const std::string& name) {
    const auto text = optional(name);
    return text ? std::optional{number<T>(name, *text)} : std::nullopt;
  }

  /// Reads a number if it is given; otherwise leaves `into` as it is.
  template <class T>
  void read(const std::string& name, T& into) {
    if (auto text = optional(name))
      into = number<T>(name, *text);
  }
  /// Reads true or false in the same way.
  void read(const std::string& name, bool& into);
  /// Reads numbers, separated by commas; none if the parameter is not given or empty.
  template <class T>
  std::vector<T> numbers(const std::string& name) {
    std::vector<T> all;
    for (const auto& part : split_list(optional(name).value_or("")))
      all.push_back(number<T>(name, part));
    return all;
  }
  /// Reads N numbers, separated by commas, in the same way.
  template <class T, std::size_t N>
  void read(const std::string& name, std::array<T, N>& into) {
    const auto text = optional(name);
    if (!text)
      return;
    const auto parts = split_list(*text);
    if (parts.size() != N)
      refuse(name + "=" + *text, std::to_string(N) + " numbers, separated by commas");
    for (std::size_t i = 0; i < N; ++i)
      into[i] = number<T>(name, parts[i]);
  }

  /// A parameter's value as a number.
  template <class T>
  T number(const std::string& name, const std::string& text) const {
    T x{};
    const auto* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, x);
    if (failure != std::errc{} || stop != end)
      refuse(name + "=" + text, std::is_integral_v<T> ? "a whole number" : "a number");
    if (std::is_floating_point_v<T> && !is_whole_text(text, static_cast<double>(x)))
      refuse(name + "=" + text, "a whole number that a float of " + std::to_string(8 * sizeof(T))
                                    + " bits can represent, or one with a fraction");
    return x;
  }

  [[noreturn]] void refuse(const std::string& got, std::string needed) const;

  /// Refuses parameters that no call has asked for.
  void done() const;

private:
  /// False if the text is a whole number of up to 64 bits and the float that was read from it is
  /// not exactly that number.
  static bool is_whole_text(std::string_view text, double read);

  std::string function_;
  std::vector<map_parameter> left_;
  std::vector<std::string> known_;
};

} // namespace leat
