#include "runtime/base/number_as.hpp"
#include "runtime/rows/job_plan.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/pipeline.hpp>

// Numeric parameters are taken as written or refused: never truncated, wrapped around or rounded to
// another whole number.

namespace leat::narrowing_test {
namespace {

std::uint64_t random_number(std::mt19937_64& random) {
  constexpr auto last = std::numeric_limits<std::uint64_t>::max();
  const auto bits = random() % 65;
  const auto around = bits == 64 ? last : (std::uint64_t{1} << bits) - 2 + random() % 5;
  return random() % 2 == 0 ? around : random() >> (random() % 64);
}

template <class T>
void check_type(std::mt19937_64& random) {
  CAPTURE(to_string(dtype_of<T>()));
  for (int i = 0; i < 3000; ++i) {
    const auto x = random_number(random);
    const auto y = number_as<T>(x);
    CAPTURE(x);
    // As wide as any of them.
    const bool has =
        std::is_integral_v<T>
            ? static_cast<long double>(x) <= static_cast<long double>(std::numeric_limits<T>::max())
            : static_cast<long double>(static_cast<T>(x)) == static_cast<long double>(x);
    REQUIRE(y.has_value() == has);
    if (y)
      REQUIRE(static_cast<long double>(*y) == static_cast<long double>(x));
    const double real = (random() % 2 == 0 ? -1.0 : 1.0) * static_cast<double>(x);
    const auto z = number_as<T>(real);
    if (z && std::is_integral_v<T>)
      REQUIRE(static_cast<double>(*z) == real);
    else if (z)
      REQUIRE(*z == static_cast<T>(real));
    else
      REQUIRE((real < static_cast<double>(std::numeric_limits<T>::lowest())
               || real >= static_cast<double>(std::numeric_limits<T>::max())));
  }
  REQUIRE(number_as<T>(0.5).has_value() == std::is_floating_point_v<T>);
  REQUIRE(number_as<T>(std::nan("")).has_value() == std::is_floating_point_v<T>);
  REQUIRE(number_as<T>(INFINITY).has_value() == std::is_floating_point_v<T>);
}

template <class... T>
void check_types(std::mt19937_64& random) {
  (check_type<T>(random), ...);
}

TEST_CASE("narrowing: a number is the same as a value of another type, or there is none") {
  std::mt19937_64 random{Catch::rngSeed()};
  check_types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
              std::uint64_t, std::int64_t, float, double>(random);
  REQUIRE(number_as<float>(1e300) == std::nullopt);
  REQUIRE(number_as<float>(0.1) == 0.1F);
  REQUIRE(number_as<float>(std::uint64_t{16'777'217}) == std::nullopt);
}

/// The error with which a job of this pipeline is refused.
std::string refusal_of(const std::string& text) {
  const auto problem = problem_of([&] { plan_job(parse_pipeline(text)); });
  return problem ? problem->what() : "nothing";
}

TEST_CASE("narrowing: parameters that do not fit what they are for are refused with a sentence") {
  test::temporary_directory at;
  const auto path = at / "numbers";
  std::ofstream{path} << std::string(64, '\0');
  const auto raw = [&](const std::string& type, const std::string& rest) {
    return "raw_records(\"" + path + "\", \"" + type + "\", [2])" + rest + ".batch(1)";
  };
  const std::vector<std::pair<std::string, std::string>> refused{
      {raw("u8", ".pack(\"value\", 4, delimiter=[300])"), "cannot represent 300"},
      {raw("u8", ".pack(\"value\", 4, pad=256)"), "cannot represent 256"},
      {raw("i8", ".pack(\"value\", 4, pad=255)"), "cannot represent 255"},
      {raw("i16", ".pack(\"value\", 2, split=true, pad=32768)"), "cannot represent 32768"},
      {raw("i64", ".pack(\"value\", 4, pad=9223372036854775808)"),
       "cannot represent 9223372036854775808"},
      {raw("f32", ".pack(\"value\", 4, delimiter=[16777217])"), "cannot represent 16777217"},
      {raw("u8", ".map(\"pad@1\", field=\"value\", length=4, value=256)"), "cannot represent 256"},
      {raw("u8", ".map(\"pad@1\", field=\"value\", length=4, value=\"-1\")"),
       "cannot represent -1"},
      {raw("i32", ".map(\"pad@1\", field=\"value\", length=4, value=0.5)"), "cannot represent 0.5"},
      {raw("f32", ".map(\"pad@1\", field=\"value\", length=4, value=1e300)"),
       "cannot represent 1e+300"},
      {raw("i64", ".map(\"pad@1\", field=\"value\", length=4, value=9007199254740993)"),
       "value=9007199254740993"},
      {raw("u8", ".filter(\"field_between@1\", field=\"value\", min=9007199254740993)"),
       "min=9007199254740993"},
      {raw("u8", ".filter(\"bytes_between@1\", field=\"value\", min=\"-1\")"), "min=-1"},
      {raw("u8", ".filter(\"key_hash@1\", keep=101)"), "keep=101"},
      {raw("u8", ".flat_map(\"split@1\", field=\"value\", at=256)"), "at=256"},
      {raw("u8", ".map(\"train_image@1\", field=\"value\", mean=[16777217, 0, 0])"),
       "mean=16777217"},
      {raw("u8", ".map(\"train_image@1\", field=\"value\", size=18446744073709551615)"), "size"},
      {raw("u8", ".map(\"decode_image@1\", field=\"value\", "
                 "transforms=\"resize:8,random_erasing:1:0.1:0.2:1:1:300:0:0\")"),
       "random_erasing 300"},
      {raw("u8", ".map(\"decode_image@1\", field=\"value\", "
                 "transforms=\"resize:8,to_dtype:f16,random_erasing:1:0.1:0.2:1:1:7e4:0:0\")"),
       "random_erasing 70000"},
      {raw("u8", ".shuffle_buffer(18446744073709551615)"), "2 to 4294967296"},
      {raw("u8", ".shuffle_buffer(4294967296)"), "2^32 - 1 per lane"}};
  for (const auto& [text, part] : refused) {
    CAPTURE(text, refusal_of(text));
    REQUIRE(has(refusal_of(text), part));
  }
  for (const auto& text :
       {raw("u8", ".pack(\"value\", 4, delimiter=[255], pad=255)"),
        raw("f32", ".pack(\"value\", 4, delimiter=[16777216])"),
        raw("i64", ".pack(\"value\", 4, pad=9223372036854775807)"),
        raw("f32", ".map(\"pad@1\", field=\"value\", length=4, value=0.1)"),
        raw("f32", ".map(\"pad@1\", field=\"value\", length=4, value=\"-1e30\")"),
        raw("i8", ".map(\"pad@1\", field=\"value\", length=4, value=\"-128\")")}) {
    CAPTURE(text);
    REQUIRE(refusal_of(text) == "nothing");
  }
}

} // namespace
} // namespace leat::narrowing_test
