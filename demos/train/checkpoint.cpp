#include "demos/train/checkpoint.hpp"

#include "runtime/storage/durable_file.hpp"

#include <leat/error.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace leat::train {

namespace {

using std::filesystem::path;

constexpr std::string_view magic = "leat-train 1\n";

/// A number in 8 bytes, in this machine's order.
void append_number(std::string& to, std::uint64_t x) {
  to.append(reinterpret_cast<const char*>(&x), sizeof x);
}

void append_block(std::string& to, const std::string& block) {
  append_number(to, block.size());
  to += block;
}

/// Reads a file's parts from front to back.
class unpacker {
public:
  unpacker(const path& file, std::string_view bytes) : file_(file), rest_(bytes) {}

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size())
      throw error(errc::torn_file, {.stage = "checkpoint",
                                    .file = file_.string(),
                                    .got = std::to_string(rest_.size()) + " more bytes",
                                    .needed = std::to_string(size)});
    auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::uint64_t number() {
    std::uint64_t x = 0;
    std::memcpy(&x, take(sizeof x).data(), sizeof x);
    return x;
  }

  std::string block() { return std::string(take(number())); }

private:
  const path& file_;
  std::string_view rest_;
};

} // namespace

void write_checkpoint(const path& file, const checkpoint& x) {
  std::string bytes(magic);
  append_block(bytes, x.model);
  append_number(bytes, x.data.size());
  for (const auto& part : x.data)
    append_block(bytes, part);

  write_output(file, bytes, "checkpoint");
}

checkpoint read_checkpoint(const path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw error(errc::not_found, {.stage = "checkpoint", .file = file.string()});
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  unpacker from(file, bytes);
  if (from.take(magic.size()) != magic)
    throw error(errc::torn_file, {.stage = "checkpoint",
                                  .file = file.string(),
                                  .offset = 0,
                                  .needed = "a checkpoint of leat-train"});
  checkpoint x{.model = from.block(), .data = {}};
  for (auto parts = from.number(); parts > 0; --parts)
    x.data.push_back(from.block());
  return x;
}

} // namespace leat::train
