#include "runtime/storage/remote/aws/aws_signature.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace leat::aws_signature_test {
namespace {

constexpr auto hash_of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string signature_of(const std::vector<std::string>& lines) {
  const auto& first = lines.front();
  REQUIRE(first.starts_with("Authorization: AWS4-HMAC-SHA256 Credential="));
  return first.substr(first.rfind('=') + 1);
}

TEST_CASE("aws_signature: the examples of Amazon's documentation") {
  const aws_credentials by{"AKIAIOSFODNN7EXAMPLE",
                           secret{"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}};
  const auto check = [&](aws_request x, const char* want) {
    x.host = "examplebucket.s3.amazonaws.com";
    CHECK(signature_of(aws_signature(x, by, "us-east-1", 1369353600)) == want);
  };
  check({.path = "/test.txt", .headers = {{"range", "bytes=0-9"}}, .body_hash = hash_of_nothing},
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  check({.method = "PUT",
         .path = "/test%24file.text",
         .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
         .body_hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  check({.path = "/", .query = "lifecycle=", .body_hash = hash_of_nothing},
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  check({.path = "/", .query = "max-keys=2&prefix=J", .body_hash = hash_of_nothing},
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("aws_signature: those that botocore makes of odd keys, session tokens and headers") {
  struct row {
    const char* path;
    const char* query;
    bool has_token;
    bool requester_pays;
    const char* signature;
  };
  // botocore.auth.S3SigV4Auth, botocore 1.44.8, for https://host.example:9000
  constexpr row rows[]{
      {"/b/plain.tar", "", false, false,
       "92b70e0f808e3d5c706da4aa2dcc8fc244beca43a768e421914d063919a3b886"},
      {"/b/plain.tar", "delimiter=%2F&list-type=2&prefix=a%2Fb%20c", false, false,
       "f3bd3f472cd55cf00c6339de3e5cf238d77e68a2ffd5225ff44af1601142f40c"},
      {"/b/plain.tar", "", true, false,
       "2375620619021aadbe8ff3809e66df56cae83bd4d4880ca748d662bea6545c7a"},
      {"/b/plain.tar", "delimiter=%2F&list-type=2&prefix=a%2Fb%20c", true, false,
       "b405c99faf1bb6d23a3d552563de659c4e3329491e8d83581070777e166bc42f"},
      {"/b/"
       "a%20b%2Bc%25d%3Ae%3Df%40g%2Ch%3Bi%21j%27k%28l%29%2Am%26n%24o%5Bp%5Dq%7Br%7Ds%5Et%23u%3Fv",
       "", false, true, "aaee112bafdff9b1f268ed4824de070ecb3c1f9f1d615ba15e31f84dcb16cfc0"},
      {"/b/"
       "a%20b%2Bc%25d%3Ae%3Df%40g%2Ch%3Bi%21j%27k%28l%29%2Am%26n%24o%5Bp%5Dq%7Br%7Ds%5Et%23u%3Fv",
       "", true, true, "745525041d68bf66500dfe547644f88529a591168d63346505b8789f3da83c46"},
      {"/b/%C3%A4/%E6%97%A5%E6%9C%AC/%F0%9F%98%80", "", false, false,
       "bb189b6a63d58f7011304b9d8d426db58cd0211494f464b571910c31d7df54f8"},
      {"/b/%C3%A4/%E6%97%A5%E6%9C%AC/%F0%9F%98%80", "", true, false,
       "ea29bba8c622ac302a4093a57eb4cbc6c1d370816d66b2aa4e5e3b928a0c31ad"},
      {"/b//two//slashes", "", false, false,
       "29d839260881eb23997125f8074645ebabfd37e7182250a07e1cbf634db8af58"},
      {"/b//two//slashes", "", true, false,
       "543e96763b5820cfb2fa9ac271427f70655c9fe93dbbc5438ed35131c1c4a107"},
      {"/b/./x/../y", "", false, false,
       "0e6e4257496398decf46240625da9069754045b8b4dde87153a9e2e6976cd935"},
      {"/b/./x/../y", "", true, false,
       "a0ea010398a02951086fe5d3cbd650eb9bd1b5f822fb987c06757d197a485d6a"},
  };
  for (const auto& x : rows) {
    CAPTURE(x.path, x.query);
    const aws_credentials by{"AKID/1", secret{"s/e+cret"},
                             x.has_token ? secret{"AQoEXAMPLEtoken/+="} : secret{}};
    aws_request asked{.host = "host.example:9000",
                      .path = x.path,
                      .query = x.query,
                      .body_hash = hash_of_nothing};
    if (x.requester_pays)
      asked.headers["x-amz-request-payer"] = "requester";
    const auto lines = aws_signature(asked, by, "eu-west-3", 1795871109);
    CHECK(signature_of(lines) == x.signature);
    CHECK(std::count(lines.begin(), lines.end(), "x-amz-date: 20261128T130509Z") == 1);
    CHECK(std::count(lines.begin(), lines.end(), "x-amz-security-token: AQoEXAMPLEtoken/+=")
          == (x.has_token ? 1 : 0));
    CHECK(lines.size() == (x.has_token ? 4 : 3));
  }
}

} // namespace
} // namespace leat::aws_signature_test
