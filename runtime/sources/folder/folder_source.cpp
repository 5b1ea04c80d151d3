#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/folder/folder_files.hpp"
#include "runtime/sources/folder/folder_index.hpp"
#include "runtime/storage/open_files.hpp"

#include <leat/error.hpp>
#include <leat/sources.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace leat {

namespace {

class folder_source : public source {
public:
  folder_source(const std::string& directory, const folder_options& options)
      : files_(list_folder(directory)) {
    for (const auto& folder : files_.classes) {
      numbers_.push_back(std::to_string(numbers_.size()));
      indexes_.push_back(open_folder_index(files_, folder, options));
    }
  }

  std::uint64_t size() const override { return files_.images.size(); }

  void read(std::uint64_t record, sample& into) const override {
    const auto& image = files_.images[record];
    const auto path = files_.path_of(image);
    const auto file = file_descriptor::open(path);
    if (auto now = stamp_of(file, path).size; now != image.bytes)
      throw error(errc::torn_file, {.stage = "image_folder",
                                    .file = path,
                                    .got = std::to_string(now) + " bytes",
                                    .needed = std::to_string(image.bytes) + ", as on opening"});
    const auto& folder = files_.classes[image.label];
    const auto& index = indexes_[image.label];
    const auto number = record - folder.first;
    const auto buffer = into.scratch(image.bytes + (index ? index->place_bytes(number) : 0));
    const auto bytes = buffer.first(image.bytes);
    const auto places = buffer.subspan(image.bytes);
    read_fully(file, path, 0, bytes);
    into.borrow("jpg", bytes);
    into.borrow("cls", as_bytes(numbers_[image.label]));
    into.borrow("class", as_bytes(folder.name));
    into.count_read(bytes.size());
    if (!places.empty() && index->read_places(number, places))
      sample_access::set_places(into, "jpg", places);
  }

  void append_id(std::uint64_t record, std::string& to) const override {
    to += files_.images[record].path;
  }

  source_facts facts() const override {
    source_facts x{.files = 1, .records = size(), .bytes = 0, .digest = digest_of(files_.images)};
    for (const auto& image : files_.images)
      x.bytes += image.bytes;
    return x;
  }

  std::string name() const override { return "folder"; }

private:
  static std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
  }

  folder_files files_;
  /// Of each class: its number as ASCII, and where its images' MCU rows begin.
  std::vector<std::string> numbers_;
  std::vector<std::optional<folder_index>> indexes_;
};

} // namespace

pipeline image_folder(std::string directory, folder_options options) {
  directory = folder_name(std::move(directory));
  return source_pipeline("image_folder",
                         {{"directory", directory}, {"index_dir", options.index_dir}},
                         [=] { return std::make_shared<const folder_source>(directory, options); });
}

operator_type image_folder_operator() {
  return {.word = "image_folder",
          .role = operator_role::source,
          .options = {in_facts(plain("directory", option_type::text)),
                      in_facts({"index_dir", option_type::text, std::string{}})},
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                return image_folder(call.get<std::string>("directory"),
                                    {.index_dir = call.get<std::string>("index_dir")});
              },
          .traits = {.is_expensive = true},
          .graph = {.note = [](const operator_node& x) -> std::string {
            return counted(x.data->get()->size(), "record") + " in "
                   + std::to_string(class_names(x.get<std::string>("directory")).size())
                   + " classes";
          }}};
}

} // namespace leat
