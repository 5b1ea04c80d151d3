#include "runtime/sources/tar/tar_source.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/sources/records_in_files.hpp"
#include "runtime/sources/tar/far_indexes.hpp"
#include "runtime/sources/tar/tar_index.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>
#include <leat/sources.hpp>

#include <utility>

namespace leat {

namespace {

// Members closer than this are read together: what lies between is headers, or less than what
// another request would cost.
constexpr std::uint64_t max_gap = 1 << 16;

/// Neighbouring fields that one read covers, each with its headers before it.
struct run {
  std::size_t fields = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(end - begin); }
};

/// The run that begins with the first of these fields; there is at least one.
run first_run(const tar_index& index, std::span<const tar_field> fields) {
  run x{.fields = 1,
        .begin = fields[0].offset() - index.header(fields[0]).bytes(),
        .end = fields[0].offset() + fields[0].size};
  while (x.fields < fields.size()) {
    const auto& next = fields[x.fields];
    if (next.offset() < x.end || next.offset() - x.end > max_gap)
      break;
    x.end = next.offset() + next.size;
    ++x.fields;
  }
  return x;
}

class tar_source final : public stored_source, public passing_over {
public:
  tar_source(file_set files, const tar_options& options, const store_set& in)
      : stored_source(files.store->open(files.paths)), index_dir_(options.index_dir),
        in_shards_(std::move(files.names)),
        indexes_(open_tar_indexes(*files.store, objects(), files.paths, options, in)),
        others_(std::move(files.others)) {
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
      const auto& x = indexes_[i];
      const auto& name = in_shards_.names()[i];
      in_shards_.add(x.size(), "tar_shards");
      others_.add(x.others(), name + ": ");
      if (!x.apart().empty())
        notice(name + ": " + std::string{x.apart()});
      if (!x.tear().empty())
        notice("using the samples before a tear: " + std::string{x.tear()});
    }
  }

  std::uint64_t size() const override { return in_shards_.size(); }

  void locate(std::uint64_t record, std::vector<extent>& into) const override {
    const auto [shard, index] = in_shards_.place_of(record);
    const auto fields = indexes_[shard].fields(index);
    for (std::size_t i = 0; i < fields.size();) {
      const auto run = first_run(indexes_[shard], fields.subspan(i));
      into.push_back({.file = shard, .offset = run.begin, .size = run.end - run.begin});
      i += run.fields;
    }
  }

  void decode(std::uint64_t record, std::span<const std::byte> bytes, sample& into) const override {
    const auto [shard, index] = in_shards_.place_of(record);
    const auto fields = indexes_[shard].fields(index);
    for (std::size_t i = 0; i < fields.size();) {
      const auto run = first_run(indexes_[shard], fields.subspan(i));
      for (const auto& x : fields.subspan(i, run.fields)) {
        const auto begin = static_cast<std::size_t>(x.offset() - run.begin);
        const auto& header = indexes_[shard].header(x);
        const auto headers = bytes.subspan(begin - header.bytes(), header.bytes());
        if (tar_header_mark::of(headers) != header)
          has_changed(shard, index, x);
        into.borrow(indexes_[shard].name(x), bytes.subspan(begin, x.size));
      }
      bytes = bytes.subspan(run.bytes());
      i += run.fields;
    }
    if (indexes_[shard].has_rows())
      set_places(indexes_[shard], fields, into);
  }

  void append_id(std::uint64_t record, std::string& to) const override {
    const auto [shard, index] = in_shards_.place_of(record);
    to += in_shards_.names()[shard];
    to += '/';
    to += indexes_[shard].key(index);
  }

  std::vector<std::uint64_t> records_per_file() const override { return in_shards_.counts(); }

  source_facts facts() const override {
    source_facts x{.files = indexes_.size(), .records = size(), .bytes = 0, .digest = {}};
    hash_stream hash;
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
      hash.add(in_shards_.names()[i]);
      hash.add(indexes_[i].shard().size);
      hash.add(indexes_[i].size());
      x.bytes += indexes_[i].shard().size;
    }
    x.digest = hash.digest128();
    x.versions = versions_of(objects(), indexes_.size());
    return x;
  }

  std::string name() const override { return "tar"; }
  const passed_over& what_is_passed_over() const override { return others_; }

private:
  static void set_places(const tar_index& index, std::span<const tar_field> fields, sample& into) {
    for (const auto& x : fields)
      if (index.places().place_bytes(place_kind::rows, index.number_of(x)) > 0)
        source_access::set_places(into, index.name(x), {&index.places(), index.number_of(x)});
  }

  [[noreturn]] void has_changed(std::size_t shard, std::uint64_t index, const tar_field& x) const {
    const auto& name = objects().name(shard);
    const bool is_far = !store_of(name).is_near();
    const bool has_manifest = is_manifest_name(index_dir_);
    const bool is_forgotten = remove_indexes(index_paths(name, index_dir_)) && !has_manifest;
    throw error(
        errc::torn_file,
        {.stage = "tar",
         .sample = std::string{indexes_[shard].key(index)},
         .file = name,
         .offset = x.offset() - tar_reader::block_size,
         .got = is_far ? "another header than its index has: that was made of other bytes"
                       : "another header than when the shard was indexed: the shard was changed, "
                         "and has the size and the time of before",
         .needed =
             is_far ? "an index of its bytes: if one was put on a server, make it again (leat "
                      "index --out); then start the job anew"
             : has_manifest ? "the shard as it was; or set its time (touch FILE), and make "
                              "the manifest again (leat index --out)"
             : is_forgotten ? "the shard as it was; or start the job anew: its index was "
                              "removed, so it will be indexed again"
                            : "the shard as it was; or set its time (touch FILE), so that it is "
                              "indexed again, and start the job anew"});
  }

  std::string index_dir_;
  records_in_files in_shards_;
  std::vector<tar_index> indexes_;
  passed_over others_;
};

void check_index_dir(const std::string& name, const std::vector<std::string>& patterns) {
  constexpr auto stage = "tar_shards";
  check_index_place(name, stage);
  if (!store_of(name).is_near() && are_of_this_machine(patterns))
    throw_file_error(errc::invalid_argument, stage, as_utf8(without_secrets(name)), index_of_a_copy,
                     "a directory or manifest of this machine: the index of a file is not that of "
                     "its copy in a bucket");
}

} // namespace

std::shared_ptr<const stored_source> open_tar_source(file_set files, const tar_options& options,
                                                     const store_set& in) {
  return std::make_shared<const tar_source>(std::move(files), options, in);
}

pipeline tar_shards(std::string pattern, tar_options options) {
  return tar_shards(std::vector{std::move(pattern)}, std::move(options));
}

pipeline tar_shards(std::vector<std::string> patterns, tar_options options) {
  const auto remote = std::exchange(options.remote, {});
  check_index_dir(options.index_dir, patterns);
  return source_pipeline(
      "tar_shards",
      {{"patterns", patterns},
       {"index_dir", options.index_dir},
       {"allow_torn", options.allow_torn}},
      [=](const store_set& in) {
        return open_tar_source(find_files(patterns, "tar_shards", file_kinds::plain, in), options,
                               in);
      },
      remote);
}

operator_type tar_shards_operator() {
  return {.word = "tar_shards",
          .role = operator_role::source,
          .options = {in_facts(plain("patterns", option_type::listed_texts)),
                      in_facts({"index_dir", option_type::text, std::string{}}),
                      {"allow_torn", option_type::flag, false}},
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                return tar_shards(call.get<std::vector<std::string>>("patterns"),
                                  {.index_dir = call.get<std::string>("index_dir"),
                                   .allow_torn = call.get<bool>("allow_torn")});
              },
          .traits = {.is_expensive = true}};
}

} // namespace leat
