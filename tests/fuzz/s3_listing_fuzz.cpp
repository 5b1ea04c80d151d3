#include "runtime/storage/remote/aws/aws_settings.hpp"
#include "runtime/storage/remote/aws/s3_listing.hpp"
#include "tests/fuzz/checks.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

using namespace leat;

namespace {

/// What a service lists has a name below the folder, or all of it is refused.
void read_page(const std::string& xml) {
  try {
    for (const auto& x : read_s3_page(xml, "d/", "s3://b/d").entries) {
      check(!x.name.empty());
      check(x.version.has_value() == (x.is == object_kind::plain));
    }
  } catch (const error& x) {
    check(x.code() == errc::io);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  read_page(text);
  read_page("<ListBucketResult>" + text + "</ListBucketResult>");
  (void)aws_profile(text, "default");
  (void)aws_profile("[default]\n" + text, "default");
  return 0;
}
