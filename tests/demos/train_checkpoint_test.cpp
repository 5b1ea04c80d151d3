#include "demos/train/checkpoint.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

namespace leat::train_checkpoint_test {

using train::read_checkpoint;
using train::write_checkpoint;

namespace {

const train::checkpoint example{.model = std::string("weights\0more", 12), .data = {"rank 0", ""}};

std::optional<errc> code_of_reading(const std::filesystem::path& file) {
  return code_of([&] { read_checkpoint(file); });
}

} // namespace

TEST_CASE("train: a checkpoint comes back as it was written, also over an older one") {
  test::temporary_directory directory;
  const std::filesystem::path file = directory / "job.checkpoint";
  write_checkpoint(file, {.model = std::string(1000, 'x'), .data = {}});
  write_checkpoint(file, example);
  const auto x = read_checkpoint(file);
  CHECK(x.model == example.model);
  CHECK(x.data == example.data);
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("train: a checkpoint cut short anywhere is torn") {
  test::temporary_directory directory;
  const std::filesystem::path file = directory / "job.checkpoint";
  write_checkpoint(file, example);
  for (auto size = std::filesystem::file_size(file); size-- > 0;) {
    std::filesystem::resize_file(file, size);
    CAPTURE(size);
    CHECK(code_of_reading(file) == errc::torn_file);
  }
}

TEST_CASE("train: a missing checkpoint and a file of another kind are distinguished") {
  test::temporary_directory directory;
  const std::filesystem::path file = directory / "job.checkpoint";
  CHECK(code_of_reading(file) == errc::not_found);
  std::ofstream(file) << "something else that is long enough to have a header";
  CHECK(code_of_reading(file) == errc::torn_file);
}

} // namespace leat::train_checkpoint_test
