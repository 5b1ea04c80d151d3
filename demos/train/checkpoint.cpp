#include "demos/train/checkpoint.hpp"

#include <leat/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

/// Takes a file apart from its front.
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

/// A file descriptor that throws on what fails.
class descriptor {
public:
  descriptor(const path& file, int flags)
      : file_(file), number_(::open(file.c_str(), flags | O_CLOEXEC, 0666)) {
    check(number_ >= 0, "open");
  }
  ~descriptor() { ::close(number_); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      auto written = ::write(number_, bytes.data(), bytes.size());
      check(written >= 0 || errno == EINTR, "write");
      bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
  }

  void sync() const { check(::fsync(number_) == 0, "fsync"); }

private:
  void check(bool holds, const char* doing) const {
    if (!holds)
      throw error(errc::io, {.stage = "checkpoint",
                             .file = file_.string(),
                             .got = std::string(doing) + ": " + std::strerror(errno)});
  }

  path file_;
  int number_;
};

} // namespace

void write_checkpoint(const path& file, const checkpoint& x) {
  std::string bytes(magic);
  append_block(bytes, x.model);
  append_number(bytes, x.data.size());
  for (const auto& part : x.data)
    append_block(bytes, part);

  auto fresh = file;
  fresh += ".new";
  const descriptor out(fresh, O_WRONLY | O_CREAT | O_TRUNC);
  out.write(bytes);
  out.sync(); // before the rename: else a power cut could leave the new name without the bytes
  std::filesystem::rename(fresh, file);
  descriptor(std::filesystem::absolute(file).parent_path(), O_RDONLY | O_DIRECTORY).sync();
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
