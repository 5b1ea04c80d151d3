#include "runtime/sources/lines/json_fields.hpp"

#include "runtime/base/number_as.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/sources/lines/json_number.hpp"
#include "runtime/sources/lines/json_refusal.hpp"
#include "runtime/sources/lines/json_text.hpp"

#include <leat/bad_sample.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace leat {

namespace {

namespace od = simdjson::ondemand;

// It passes over the end of a text whose brackets are not closed to the byte after it: a line feed
// belongs to no value.
static_assert(json_slack >= simdjson::SIMDJSON_PADDING);

/// The parser of a longer line is not kept: it has five bytes of memory for each of the line.
constexpr std::size_t kept_line = std::size_t{1} << 20;

/// What is wrong is found out later: see refuse_json.
struct malformed {};

/// What a thread keeps for its next line.
struct reading_memory {
  od::parser parser;
  std::string name;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<json_number> numbers;
};

/// The value, if simdjson has one.
template <class T>
T given(simdjson::simdjson_result<T> x) {
  T value;
  switch (std::move(x).get(value)) {
  case simdjson::SUCCESS:
    return value;
  case simdjson::MEMALLOC:
    throw std::bad_alloc{};
  default:
    throw malformed{};
  }
}

bool has_escapes(std::string_view x) {
  return x.find('\\') != std::string_view::npos;
}

double nearest(const json_number& x) {
  return std::visit([](auto value) { return static_cast<double>(value); }, x.value);
}

/// As an element of a type: an integer exactly, or else the nearest number. Nothing if the type
/// cannot represent it.
template <class T>
std::optional<T> element_of_number(const json_number& x) {
  if (std::is_floating_point_v<T>)
    return number_as<T>(nearest(x));
  if (x.is_beyond_integers)
    return std::nullopt;
  return std::visit([](auto value) { return number_as<T>(value); }, x.value);
}

/// Sets the fields of one line. simdjson finds its structure, and validates its UTF-8; each value
/// is checked here, also those that become text.
class line_walk {
public:
  line_walk(reading_memory& memory, sample& into, const json_types& types)
      : memory_(memory), into_(into), types_(types) {}

  void run(std::string_view line) {
    document_ = given(
        memory_.parser.iterate(line.data(), line.size(), line.size() + simdjson::SIMDJSON_PADDING));
    if (given(document_.type()) != od::json_type::object)
      throw malformed{};
    for (auto member : given(document_.get_object())) {
      auto field = given(std::move(member));
      const auto name = name_of(field, memory_.name);
      set(name, field.value());
    }
    if (document_.current_location().error() != simdjson::OUT_OF_BOUNDS)
      throw malformed{}; // something follows the object
    if (!wrong_.empty())
      throw bad_sample(wrong_.front().why, wrong_.front().text);
  }

private:
  void set(std::string_view name, od::value x) {
    if (!wrong_.empty()) // the last of several members of one name counts
      std::erase_if(wrong_, [&](const auto& before) { return before.name == name; });
    const auto* type = types_.find(name);
    if (type && given(x.type()) != od::json_type::null)
      return *type ? set_typed(name, x, **type) : set_bytes(name, x);
    switch (given(x.type())) {
    case od::json_type::string:
      return set_text(name, x);
    case od::json_type::boolean:
      return into_.set(name, static_cast<std::uint8_t>(boolean(x)));
    case od::json_type::number:
      return set_number(name, x);
    case od::json_type::array:
      return set_array(name, x);
    case od::json_type::object:
      return set_structure(name, x);
    default:
      check_null(x);
      into_.erase(name); // of a member before it
    }
  }

  // -- fields with a type of their own

  void set_bytes(std::string_view name, od::value& x) {
    switch (given(x.type())) {
    case od::json_type::string:
      return set_text(name, x);
    case od::json_type::array:
    case od::json_type::object:
      return set_structure(name, x);
    default:
      check(x, 2);
      into_.borrow(name, std::as_bytes(std::span{scalar(x)}));
    }
  }

  void set_typed(std::string_view name, od::value& x, dtype type) {
    memory_.numbers.clear();
    const auto what = given(x.type());
    const bool is_list = what == od::json_type::array;
    bool fits = true;
    if (what == od::json_type::boolean)
      memory_.numbers.push_back({std::int64_t{boolean(x)}});
    else if (what == od::json_type::number)
      memory_.numbers.push_back(number(x));
    else if (is_list)
      fits = read_numbers(x, [&](const auto& value) { memory_.numbers.push_back(value); });
    else {
      check(x, 2);
      fits = false;
    }
    fits = fits && set_elements_of(name, type, is_list);
    if (!fits)
      be_wrong(cause::wrong_shape, name,
               "holds something other than " + std::string{to_string(type)}
                   + ", its type (`types` of json_lines): a number, a list of numbers, true or "
                     "false, which the type can represent");
  }

  /// Calls `add` with the elements of an array; false if some are no numbers.
  template <class Add>
  bool read_numbers(od::value& x, Add add) {
    bool are_numbers = true;
    for (auto element : given(x.get_array())) {
      auto value = given(element);
      if (given(value.type()) == od::json_type::number) {
        add(number(value));
      } else {
        are_numbers = false;
        check(value, 3);
      }
    }
    return are_numbers;
  }

  /// False if the type cannot represent one of the numbers.
  bool set_elements_of(std::string_view name, dtype type, bool is_list) {
    return visit_type(type, [&](auto zero) {
      using element = decltype(zero);
      const auto& from = memory_.numbers;
      const auto to = into_.make<element>(name, is_list ? shape{from.size()} : shape{});
      for (std::size_t i = 0; i < from.size(); ++i) {
        const auto x = element_of_number<element>(from[i]);
        if (!x)
          return false;
        to[i] = *x;
      }
      return true;
    });
  }

  // -- all others

  void set_number(std::string_view name, od::value& x) {
    const auto value = number(x);
    if (!is_plain(value))
      return be_too_large(name);
    if (const auto* integer = std::get_if<std::int64_t>(&value.value))
      into_.set(name, *integer);
    else
      into_.set(name, std::get<double>(value.value));
  }

  /// It is an int64, or a float64 that was none.
  static bool is_plain(const json_number& x) {
    return !x.is_beyond_integers && !std::holds_alternative<std::uint64_t>(x.value);
  }

  void be_too_large(std::string_view name) {
    const auto text = std::string{name};
    be_wrong(cause::unsupported, name,
             "has an integer that int64 cannot hold: give it a type, as json_lines(..., types=[\""
                 + text + ":u64\"]), or {\"" + text + "\": \"u64\"} in Python; \"f64\" rounds");
  }

  /// The line is bad, unless it is no JSON at all: that comes first.
  void be_wrong(cause why, std::string_view name, const std::string& what) {
    wrong_.push_back({std::string{name}, why, "field \"" + std::string{name} + "\" " + what});
  }

  /// The text of a value without brackets. simdjson does not see it as read, and passes over it to
  /// what follows, without looking: that must be a comma, or the bracket after it.
  static std::string_view scalar(od::value& x) {
    const std::string_view token = x.raw_json_token();
    const char next = token.data()[token.size()];
    if (next != ',' && next != '}' && next != ']')
      throw malformed{};
    return trimmed(token);
  }

  /// What stands between the quotes.
  static std::string_view between_quotes(od::value& x) {
    const auto token = scalar(x);
    return token.substr(1, token.size() - 2);
  }

  /// Returns the size.
  static std::size_t unescape(std::string_view x, char* to) {
    const auto size = unescape_json_text(x, to);
    if (!size)
      throw malformed{};
    return *size;
  }

  /// Not by the parser, which does not look whether it got the memory for it.
  static std::string_view name_of(od::field& field, std::string& room) {
    const auto* const begin = field.key().raw();
    const auto* end = begin;
    const auto text_before = [&] {
      return std::string_view{begin, static_cast<std::size_t>(end - begin)};
    };
    while (*end != '"' && *end != '\\') // a quote is there, after names that are whole
      ++end;
    if (*end == '"')
      return text_before();
    while (*end != '"')
      end += *end == '\\' ? 2 : 1;
    const auto text = text_before();
    room.resize(text.size());
    return {room.data(), unescape(text, room.data())};
  }

  void set_text(std::string_view name, od::value& x) {
    const auto text = between_quotes(x);
    if (!has_escapes(text))
      return into_.borrow(name, std::as_bytes(std::span{text}));
    const auto room = into_.make_bytes(name, text.size());
    source_access::shorten(into_, name, unescape(text, reinterpret_cast<char*>(room.data())));
  }

  static bool boolean(od::value& x) {
    const auto token = scalar(x);
    if (token != "true" && token != "false")
      throw malformed{};
    return token == "true";
  }

  static void check_null(od::value& x) {
    if (scalar(x) != "null")
      throw malformed{};
  }

  static json_number number(od::value& x) {
    const auto value = read_json_number(scalar(x));
    if (!value)
      throw malformed{};
    return *value;
  }

  void set_array(std::string_view name, od::value& x) {
    const auto* begin = place();
    memory_.integers.clear();
    memory_.reals.clear();
    bool are_plain = true;
    const bool are_numbers = read_numbers(x, [&](const auto& value) {
      are_plain = are_plain && is_plain(value);
      add(value);
    });
    if (!are_numbers)
      return into_.borrow(name, bytes_since(begin));
    if (!are_plain)
      return be_too_large(name);
    if (memory_.reals.empty())
      set_elements(name, memory_.integers);
    else
      set_elements(name, memory_.reals);
  }

  /// Integers are numbers like others once there is one that is none.
  void add(const json_number& x) {
    auto& integers = memory_.integers;
    auto& reals = memory_.reals;
    if (const auto* integer = std::get_if<std::int64_t>(&x.value); integer && reals.empty()) {
      integers.push_back(*integer);
      return;
    }
    if (reals.empty())
      std::transform(integers.begin(), integers.end(), std::back_inserter(reals),
                     [](auto value) { return static_cast<double>(value); });
    reals.push_back(nearest(x));
  }

  template <class T>
  void set_elements(std::string_view name, const std::vector<T>& values) {
    const auto to = into_.make<T>(name, shape{values.size()});
    std::copy(values.begin(), values.end(), to.begin());
  }

  /// An object, or an array as text.
  void set_structure(std::string_view name, od::value& x) {
    const auto* begin = place();
    check(x, 2);
    into_.borrow(name, bytes_since(begin));
  }

  /// Whether all of it is JSON: simdjson itself passes over what nobody asks for. Its brackets, if
  /// it has any, are so deep in those of the line.
  void check(od::value& x, std::size_t depth) {
    switch (given(x.type())) {
    case od::json_type::object:
      check_depth(depth);
      for (auto member : given(x.get_object())) {
        auto field = given(std::move(member));
        (void)name_of(field, memory_.text);
        check(field.value(), depth + 1);
      }
      return;
    case od::json_type::array:
      check_depth(depth);
      for (auto element : given(x.get_array())) {
        auto value = given(element);
        check(value, depth + 1);
      }
      return;
    case od::json_type::string:
      if (const auto text = between_quotes(x); has_escapes(text)) {
        memory_.text.resize(text.size());
        (void)unescape(text, memory_.text.data());
      }
      return;
    case od::json_type::number:
      (void)number(x);
      return;
    case od::json_type::boolean:
      (void)boolean(x);
      return;
    default:
      check_null(x);
    }
  }

  static void check_depth(std::size_t depth) {
    if (depth > max_json_depth)
      throw malformed{};
  }

  /// Where the next token begins.
  const char* place() { return given(document_.current_location()); }

  /// What was read last, up to its closing bracket.
  std::span<const std::byte> bytes_since(const char* begin) {
    const std::string_view passed{begin, static_cast<std::size_t>(place() - begin)};
    return std::as_bytes(std::span{trimmed(passed)});
  }

  reading_memory& memory_;
  sample& into_;
  const json_types& types_;
  /// A member that is wrong in a line that is JSON.
  struct wrong_member {
    std::string name;
    cause why;
    std::string text;
  };
  std::vector<wrong_member> wrong_;
  od::document document_;
};

/// A byte order mark before the object counts as nothing.
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.substr(text.starts_with(mark) ? mark.size() : 0);
}

} // namespace

void set_json_fields(std::span<const std::byte> line, sample& into, const json_types& types) {
  const std::string_view text{reinterpret_cast<const char*>(line.data()), line.size()};
  try {
    if (text.size() <= kept_line) {
      line_walk{of_this_thread<reading_memory>(), into, types}.run(without_mark(text));
    } else {
      reading_memory memory;
      line_walk{memory, into, types}.run(without_mark(text));
    }
  } catch (const malformed&) {
    refuse_json(text);
  }
}

} // namespace leat
