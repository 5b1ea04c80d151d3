#include "runtime/base/secret.hpp"
#include "tests/support/test.hpp"

namespace leat::secret_test {
namespace {

template <class T>
concept printable = requires(std::ostream& to, const T& x) {
  to << x;
};

static_assert(!printable<secret>);
static_assert(!std::is_convertible_v<secret, std::string>);
static_assert(!std::is_convertible_v<secret, std::string_view>);
static_assert(!std::is_constructible_v<std::string, secret>);
static_assert(!std::is_convertible_v<std::string, secret>);

} // namespace

TEST_CASE("secret: only the whole of it is it") {
  const secret x{"token"};
  CHECK(x.is("token"));
  for (const auto* guess : {"", "t", "toke", "tokeN", "tokens", "Token", "tokentoken"})
    CHECK_FALSE(x.is(guess));
  CHECK(secret{}.is(""));
  CHECK_FALSE(secret{}.is("x"));
  CHECK_FALSE(secret{}.is(std::string_view{"\0", 1}));
}

TEST_CASE("secret: copies and moves keep it") {
  secret x{"token"};
  auto copy = x;
  auto moved = std::move(x);
  CHECK(copy.is("token"));
  CHECK(moved.is("token"));
  copy = secret{"other"};
  CHECK(copy.reveal() == "other");
  copy = moved;
  CHECK(copy.is("token"));
  CHECK(secret{}.is_empty());
}

} // namespace leat::secret_test
