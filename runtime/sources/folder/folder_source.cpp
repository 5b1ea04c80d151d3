#include "runtime/sources/folder/folder_source.hpp"

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/sources/folder/folder_index.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <leat/sources.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace leat {

namespace {

class folder_source final : public stored_source, public passing_over {
public:
  folder_source(std::shared_ptr<const folder_files> files, const folder_options& options)
      : stored_source(files->store->open(files, "image_folder")), files_(std::move(files)) {
    for (const auto& folder : files_->classes) {
      numbers_.push_back(std::to_string(numbers_.size()));
      indexes_.push_back(open_folder_index(*files_, folder, options));
    }
  }

  std::uint64_t size() const override { return files_->images.size(); }

  void locate(std::uint64_t record, std::vector<extent>& into) const override {
    into.push_back({.file = static_cast<std::size_t>(record),
                    .offset = 0,
                    .size = files_->images[record].bytes});
  }

  void decode(std::uint64_t record, std::span<const std::byte> bytes, sample& into) const override {
    const auto label = files_->images[record].label;
    const auto& folder = files_->classes[label];
    into.borrow("jpg", bytes);
    into.borrow("cls", as_bytes(numbers_[label]));
    into.borrow("class", as_bytes(folder.name));
    if (indexes_[label])
      source_access::set_places(into, "jpg", {&indexes_[label]->places(), record - folder.first});
  }

  void append_id(std::uint64_t record, std::string& to) const override {
    to += files_->images[record].path;
  }

  source_facts facts() const override {
    source_facts x{.files = 1, .records = size(), .bytes = 0, .digest = digest_of(*files_)};
    for (const auto& image : files_->images)
      x.bytes += image.bytes;
    return x;
  }

  std::string name() const override { return "folder"; }
  const passed_over& what_is_passed_over() const override { return files_->others; }

private:
  static std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
  }

  std::shared_ptr<const folder_files> files_;
  /// For each class: its number as ASCII, and where its images' MCU rows begin.
  std::vector<std::string> numbers_;
  std::vector<std::optional<folder_index>> indexes_;
};

} // namespace

std::shared_ptr<const stored_source> open_folder_source(std::shared_ptr<const folder_files> files,
                                                        const folder_options& options) {
  return std::make_shared<const folder_source>(std::move(files), options);
}

pipeline image_folder(std::string directory, folder_options options) {
  directory = folder_name(std::move(directory));
  const auto remote = std::exchange(options.remote, {});
  check_is_path(options.index_dir, "image_folder");
  return source_pipeline(
      "image_folder", {{"directory", directory}, {"index_dir", options.index_dir}},
      [=](const store_set& in) {
        return open_folder_source(list_folder(directory, in.of(directory)), options);
      },
      remote);
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
                   + std::to_string(
                       class_names(x.get<std::string>("directory"), x.names_in()).size())
                   + " classes";
          }}};
}

} // namespace leat
