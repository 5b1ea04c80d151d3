#include "runtime/sources/lines/json_fields.hpp"

#include "runtime/base/utf8.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/lines/json_number.hpp"
#include "runtime/sources/lines/json_text.hpp"

#include <leat/bad_sample.hpp>

#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace leat {

namespace {

namespace od = simdjson::ondemand;

// It passes over the end of a text whose brackets are not closed to the byte behind it: a line feed
// belongs to no value.
static_assert(json_slack >= simdjson::SIMDJSON_PADDING);

/// The parser of a longer line is not kept: it has five bytes of memory for each of the line.
constexpr std::size_t kept_line = std::size_t{1} << 20;

/// What is wrong is found out later: see `refuse`.
struct malformed {};

/// What a thread keeps for its next line.
struct reading_memory {
  od::parser parser;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
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

std::string_view trimmed(std::string_view x) {
  return x.substr(0, x.find_last_not_of(" \t\r\n") + 1);
}

bool has_escapes(std::string_view x) {
  return x.find('\\') != std::string_view::npos;
}

/// Sets the fields of one line. simdjson finds its structure, and validates its UTF-8; each value
/// is checked here, also those that become text.
class line_walk {
public:
  line_walk(reading_memory& memory, sample& into) : memory_(memory), into_(into) {}

  void run(std::string_view line) {
    document_ = given(
        memory_.parser.iterate(line.data(), line.size(), line.size() + simdjson::SIMDJSON_PADDING));
    if (given(document_.type()) != od::json_type::object)
      throw malformed{};
    for (auto member : given(document_.get_object())) {
      auto field = given(std::move(member));
      const auto name = given(field.unescaped_key());
      set(name, field.value());
    }
    if (document_.current_location().error() != simdjson::OUT_OF_BOUNDS)
      throw malformed{}; // something follows the object
  }

private:
  void set(std::string_view name, od::value x) {
    switch (given(x.type())) {
    case od::json_type::string:
      return set_text(name, x);
    case od::json_type::boolean:
      return into_.set(name, static_cast<std::uint8_t>(boolean(x)));
    case od::json_type::number:
      return std::visit([&](auto value) { into_.set(name, value); }, number(x));
    case od::json_type::array:
      return set_array(name, x);
    case od::json_type::object:
      return set_object(name, x);
    default:
      into_.borrow(name, std::as_bytes(std::span{null(x)}));
    }
  }

  /// The text of a value without brackets. simdjson does not see it as read, and passes over it to
  /// what follows, without looking: that must be a comma, or the bracket behind it.
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

  void set_text(std::string_view name, od::value& x) {
    const auto text = between_quotes(x);
    if (!has_escapes(text))
      return into_.borrow(name, std::as_bytes(std::span{text}));
    const auto room = into_.make_bytes(name, text.size());
    sample_access::shorten(into_, name, unescape(text, reinterpret_cast<char*>(room.data())));
  }

  static bool boolean(od::value& x) {
    const auto token = scalar(x);
    if (token != "true" && token != "false")
      throw malformed{};
    return token == "true";
  }

  static std::string_view null(od::value& x) {
    const auto token = scalar(x);
    if (token != "null")
      throw malformed{};
    return token;
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
    if (!are_numbers)
      into_.borrow(name, bytes_since(begin));
    else if (memory_.reals.empty())
      set_elements(name, memory_.integers);
    else
      set_elements(name, memory_.reals);
  }

  /// Integers are numbers like others once there is one that is none.
  void add(const json_number& x) {
    auto& [parser, text, integers, reals] = memory_;
    if (const auto* integer = std::get_if<std::int64_t>(&x); integer && reals.empty()) {
      integers.push_back(*integer);
      return;
    }
    if (reals.empty())
      std::transform(integers.begin(), integers.end(), std::back_inserter(reals),
                     [](auto value) { return static_cast<double>(value); });
    reals.push_back(std::visit([](auto value) { return static_cast<double>(value); }, x));
  }

  template <class T>
  void set_elements(std::string_view name, const std::vector<T>& values) {
    const auto to = into_.make<T>(name, shape{values.size()});
    std::copy(values.begin(), values.end(), to.begin());
  }

  void set_object(std::string_view name, od::value& x) {
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
        (void)given(field.unescaped_key());
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
      (void)null(x);
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
  od::document document_;
};

/// Brackets count up to where the text ends, whatever else is wrong with it.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\')
      ++i;
    else if (c == '"')
      in_text = !in_text;
    else if (!in_text && (c == '[' || c == '{') && ++depth > max_json_depth)
      return true;
    else if (!in_text && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return false;
}

/// Says where a line is wrong, as simdjson does not.
class refusal final : public nlohmann::json_sax<nlohmann::json> {
public:
  bool null() override { return be("null"); }
  bool boolean(bool) override { return be("boolean"); }
  bool number_integer(number_integer_t) override { return be("number"); }
  bool number_unsigned(number_unsigned_t) override { return be("number"); }
  bool number_float(number_float_t, const string_t&) override { return be("number"); }
  bool string(string_t&) override { return be("string"); }
  bool binary(binary_t&) override { return be("binary"); }
  bool start_object(std::size_t) override { return be("object"); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return be("array"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    const std::string text = problem.what();
    const auto name_end = text.find("] "); // the library's name for it comes before
    problem_ = name_end == std::string::npos ? text : text.substr(name_end + 2);
    return false;
  }

  std::string text() const {
    if (!problem_.empty())
      return problem_;
    return type_ == "object" ? "the line is no JSON"
                             : "the line is a JSON " + std::string{type_} + ", not an object";
  }

private:
  bool be(std::string_view type) {
    if (type_.empty())
      type_ = type;
    return true;
  }

  std::string_view type_;
  std::string problem_;
};

[[noreturn]] void refuse(std::string_view text) {
  if (is_too_deep(text))
    throw bad_sample(cause::too_large, "JSON nested deeper than " + std::to_string(max_json_depth));
  refusal reader;
  (void)nlohmann::json::sax_parse(text, &reader);
  auto why = reader.text(); // quotes the line, which may not be UTF-8
  make_utf8(why, 0);
  throw bad_sample(cause::corrupt, why);
}

/// A byte order mark before the object counts as nothing.
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.substr(text.starts_with(mark) ? mark.size() : 0);
}

} // namespace

void set_json_fields(std::span<const std::byte> line, sample& into) {
  thread_local reading_memory kept;
  const std::string_view text{reinterpret_cast<const char*>(line.data()), line.size()};
  try {
    if (text.size() <= kept_line) {
      line_walk{kept, into}.run(without_mark(text));
    } else {
      reading_memory memory;
      line_walk{memory, into}.run(without_mark(text));
    }
  } catch (const malformed&) {
    refuse(text);
  }
}

} // namespace leat
