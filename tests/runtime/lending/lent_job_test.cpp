#include "runtime/job/rank_job.hpp"
#include "runtime/lending/borrowed_rows.hpp"
#include "runtime/lending/files_below.hpp"
#include "runtime/lending/lent_job.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/rows/row_codec.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "tests/support/files.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

#include <sys/inotify.h>
#include <sys/stat.h>

namespace leat::lent_job_test {
namespace {

using test::temporary_directory;

/// Depends on the record, its id, its place and random numbers; some samples are bad.
map_stage lent_map() {
  return {.name = "lent@1", .make = [] {
            return [](sample& x, context& c) {
              const auto number = c.rng()();
              if (number % 9 == 0)
                throw bad_sample(cause::corrupt, "drawn as a bad one");
              const auto bytes = x.bytes("value");
              x.set("text", x.id() + std::string(number % 5, 'x')
                                + std::to_string(std::to_integer<int>(bytes[0])));
              x.set("place", static_cast<std::int64_t>(c.position() + 1000 * c.epoch()));
            };
          }};
}

filter_stage lent_filter() {
  return {.name = "lent_some@1", .make = [] {
            return
                [](sample& x) { return std::to_integer<unsigned>(x.bytes("value")[0]) % 3 != 0; };
          }};
}

void register_functions() {
  register_map("lent@1", [](const std::string&) { return lent_map(); });
  register_predicate("lent_some@1", [](const std::string&) { return lent_filter(); });
}

pipeline records_in(const std::string& file, std::size_t records, int first = 0) {
  std::string bytes;
  for (std::size_t i = 0; i < records; ++i)
    bytes += {static_cast<char>(first + static_cast<int>(i)), 'a', 'b', 'c'};
  test::write_content(file, bytes);
  return raw_records(file, dtype::u8, {4});
}

/// A helper with one thread, and the rank that lends to it.
class lent_rows {
public:
  lent_rows(const pipeline& data, bad_sample_policy policy, const std::vector<std::string>& folders)
      : plan_(plan_of(data, nullptr)) {
    plan_->bad_samples = policy;
    auto lent =
        decode_lent_job(encode(lent_job_of(data, describe(data, plan_->shape.lanes), *plan_)));
    REQUIRE(lent);
    job_ = std::make_shared<borrowed_job>(std::move(*lent), folders);
    if (!job_->has_data())
      reader_.emplace(data, *plan_);
    REQUIRE(far_.prepare(job_));
    near_.emplace(plan_, std::make_shared<worker_record>());
  }

  bool has_data() const { return job_->has_data(); }
  const std::shared_ptr<job_plan>& plan() const { return plan_; }
  std::size_t made_here() const { return made_here_; }
  std::size_t made_there() const { return made_there_; }
  /// Of those made here.
  std::size_t bad() const { return bad_; }

  /// Makes the row there, or here if it is declined.
  void make(const row_request& row, const row_target* target, row_result& result) {
    const auto bytes = made(row);
    if (bytes) {
      REQUIRE(decode_result(*bytes, target, result));
      ++made_there_;
      return;
    }
    ++made_here_;
    near_->run(row, target ? *target : row_target{}, result);
    bad_ += result.bad || result.seen.found.bad ? 1 : 0;
  }

private:
  std::optional<std::string> made(const row_request& row) {
    REQUIRE(can_travel(row));
    std::optional<std::string> records{std::in_place};
    if (reader_)
      records = reader_->records_of(row);
    const auto request = encode(row);
    return records ? far_.made({.request = request, .records = *records}) : std::nullopt;
  }

  std::shared_ptr<job_plan> plan_;
  std::shared_ptr<borrowed_job> job_;
  std::optional<sent_record_reader> reader_;
  borrowed_rows far_;
  std::optional<row_runner> near_;
  std::size_t made_here_ = 0;
  std::size_t made_there_ = 0;
  std::size_t bad_ = 0;
};

std::vector<finished_batch> batches_of(lent_rows& by, std::size_t most) {
  const auto order = order_of_rank(*by.plan(), 2);
  batch_slot slot{by.plan()->layout, rows_of_rank(*by.plan())};
  batch_slot probes{std::make_shared<batch_layout>(), 16};
  row_places places;
  planned_batch next;
  std::vector<finished_batch> made;
  while (made.size() < most && (made.empty() || made.back().what == batch_plan::kind::batch)) {
    if (!order->open(next)) {
      if (!order->open_probe(next, 16)) {
        REQUIRE(order->wants_to_run());
        continue;
      }
      probes.open(next, false);
      for (std::size_t row = 0; row < probes.num_rows(); ++row) {
        by.make(probes.request(row), nullptr, probes.result(row));
        probes.finish(row);
      }
      order->close_probe(probes);
      probes.release();
      continue;
    }
    slot.open(next, false);
    for (std::size_t row = 0; row < slot.num_rows(); ++row) {
      const auto target = places.at(slot.memory(), row);
      by.make(slot.request(row), &target, slot.result(row));
      slot.finish(row);
    }
    slot.close();
    made.push_back(finished(slot));
    slot.release();
  }
  return made;
}

std::vector<pipeline> some_pipelines(const temporary_directory& in) {
  const auto a = records_in(in / "a.raw", 40);
  const auto b = records_in(in / "b.raw", 25, 100);
  return {
      a.map(lent_map()).batch(6),
      a.shuffle({.seed = 3}).map(lent_map()).batch(6, {.end = epoch_end::mask}),
      concat({a, b}).shuffle({.seed = 4}).map(lent_map()).batch(4),
      a.filter(lent_filter()).map(lent_map()).batch(4, {.lanes = 2, .end = epoch_end::mask}),
      mix({a, b}, {.rule = mix_rule::random, .seed = 5})
          .shuffle_buffer(8, 6)
          .map(lent_map())
          .batch(4, {.lanes = 2, .end = epoch_end::drop}),
      b.repeat(2)
          .filter(lent_filter())
          .shuffle_buffer(6, 1)
          .map(lent_map())
          .batch(3, {.lanes = 1, .end = epoch_end::mask}),
  };
}

TEST_CASE("lent_job: rows whose records are sent are those of the rank") {
  register_functions();
  const temporary_directory in;
  std::size_t number = 0;
  for (const auto& data : some_pipelines(in)) {
    CAPTURE(number++);
    lent_rows by{data, bad_sample_policy::mask, {}};
    REQUIRE_FALSE(by.has_data());
    REQUIRE(batches_of(by, 30) == expected_batches(by.plan(), 2, 30));
    REQUIRE(by.made_here() == by.bad()); // which only the rank may say
    REQUIRE(by.bad() > 0);
    REQUIRE(by.made_there() > 10);
  }
}

TEST_CASE("lent_job: rows of data that the helper has are those of the rank") {
  register_functions();
  const temporary_directory in;
  for (const auto& data : some_pipelines(in)) {
    lent_rows by{data, bad_sample_policy::mask, {in.path()}};
    REQUIRE(by.has_data());
    REQUIRE(batches_of(by, 30) == expected_batches(by.plan(), 2, 30));
    REQUIRE(by.made_here() == by.bad());
    REQUIRE(by.bad() > 0);
    REQUIRE(by.made_there() > 10);
  }
}

TEST_CASE("lent_job: a row that needs a record nobody sent is made by the rank") {
  register_functions();
  const temporary_directory in;
  const auto data = records_in(in / "a.raw", 60).map(lent_map()).batch(6);
  lent_rows by{data, bad_sample_policy::substitute, {}};
  REQUIRE(batches_of(by, 30) == expected_batches(by.plan(), 2, 30));
  REQUIRE(by.made_here() > 0); // substitutes
  REQUIRE(by.made_there() > by.made_here());
}

lent_job lent(const pipeline& data) {
  const auto plan = plan_of(data, nullptr);
  return lent_job_of(data, describe(data, plan->shape.lanes), *plan);
}

TEST_CASE("lent_job: where records are to be sent, data that the helper has is not read") {
  register_functions();
  const temporary_directory in;
  auto job = lent(records_in(in / "a.raw", 40).map(lent_map()).batch(6));
  REQUIRE_FALSE(job.sends_records);
  job.sends_records = true;
  const auto told = decode_lent_job(encode(job)).value();
  REQUIRE(told.sends_records);
  REQUIRE_FALSE(borrowed_job(told, {in.path()}).has_data());
}

TEST_CASE("lent_job: other data under the same name is not read, and its records are sent") {
  register_functions();
  const temporary_directory in;
  const auto data = records_in(in / "a.raw", 40).map(lent_map()).batch(6);
  auto job = lent(data);
  REQUIRE(borrowed_job(job, {in.path()}).has_data());
  test::write_content(in / "a.raw", std::string(4 * 39, 'x'));
  REQUIRE_FALSE(borrowed_job(job, {in.path()}).has_data());
  job.sources.clear(); // as of streams
  const auto problem = thrown_by([&] { borrowed_job(job, {in.path()}); });
  REQUIRE(problem.code() == errc::mismatch);
}

TEST_CASE("lent_job: a copy with the same names and sizes, and other content, is not read") {
  register_functions();
  const temporary_directory in;
  const auto records = lent(records_in(in / "a.raw", 40).map(lent_map()).batch(6));
  REQUIRE(borrowed_job(records, {in.path()}).has_data());
  records_in(in / "a.raw", 40, 7);
  REQUIRE_FALSE(borrowed_job(records, {in.path()}).has_data());
  const std::string name = in / "b.txt";
  test::write_content(name, "one\ntwo\nthree\n");
  const auto stream = lent(lines({name}).batch(2, {.lanes = 1, .end = epoch_end::mask}));
  test::write_content(name, "one\ntwo\nother\n");
  const auto problem = thrown_by([&] { borrowed_job(stream, {in.path()}); });
  REQUIRE(problem.code() == errc::mismatch);
  REQUIRE(has(problem.what(), "other content"));
}

TEST_CASE("lent_job: functions that the helper does not know are refused by their names") {
  const temporary_directory in;
  const auto data =
      records_in(in / "a.raw", 8).map("nobody_knows@7", [](sample&, context&) {}).batch(2);
  const auto problem = thrown_by([&] { borrowed_job(lent(data), {}); });
  REQUIRE(problem.code() == errc::invalid_argument);
  REQUIRE(has(problem.what(), "nobody_knows@7"));
}

TEST_CASE("lent_job: streams are read where they are, or not at all") {
  register_functions();
  const temporary_directory in;
  test::write_content(in / "a.txt", "one\ntwo\nthree\nfour\n");
  const auto data = lines({in / "a.txt"}).batch(2, {.lanes = 1, .end = epoch_end::mask});
  REQUIRE(lent(data).sources.empty());
  REQUIRE(borrowed_job(lent(data), {in.path()}).has_data());
  const auto problem = thrown_by([&] { borrowed_job(lent(data), {}); });
  REQUIRE(has(problem.what(), "--data"));
}

TEST_CASE("lent_job: sources that exist once, and files that records name, are not lent") {
  REQUIRE(reason_against_lending(count(4).batch(2)).empty());
  REQUIRE(has(reason_against_lending(standard_input().batch(2)), "exist once"));
}

/// Notes whether a file is opened.
class watch {
public:
  explicit watch(const std::string& file) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    REQUIRE(events_);
    REQUIRE(::inotify_add_watch(events_.get(), file.c_str(), IN_OPEN) >= 0);
  }
  bool was_opened() const {
    alignas(inotify_event) std::array<char, 4096> bytes{};
    return ::read(events_.get(), bytes.data(), bytes.size()) > 0;
  }

private:
  file_descriptor events_;
};

/// The job with another map.
lent_job with_map(lent_job job, const std::string& name, const std::string& parameters) {
  auto beginning = decode(job.beginning, "a test");
  for (auto& x : beginning.pipeline.root.inputs.front().options)
    if (x.name == "name")
      x.value = name;
    else if (x.name == "parameters")
      x.value = parameters;
  job.beginning = encode(beginning);
  return job;
}

TEST_CASE("lent_job: models that are not below the helper's folders are refused, and not opened") {
  register_functions();
  const temporary_directory in;
  const temporary_directory other;
  const auto job = lent(records_in(in / "a.raw", 8).map(lent_map()).batch(2));
  const auto refusal = [&](const std::string& name, const std::string& parameters) {
    return std::string{
        thrown_by([&] { borrowed_job(with_map(job, name, parameters), {in.path()}); }).what()};
  };
  const auto fifo = other / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const auto file = other / "file";
  test::write_content(file, "anything");
  const auto folder = other / "folder";
  std::filesystem::create_directory(folder);
  test::write_content(folder + "/tokenizer.json", "{}");
  std::filesystem::create_symlink(file, in / "link");
  std::filesystem::create_directory(in / "half");
  std::filesystem::create_symlink(file, in / "half/tokenizer.json");
  std::filesystem::create_directory(in / "deep");
  const auto up = std::filesystem::path{other.path()}.filename().string();
  const std::vector<std::string> outside{
      fifo,
      file,
      folder,
      in / "link",
      in / "half",
      in / ("deep/../../" + up + "/file"),
      in / ("no/../../" + up + "/file"),
      in / ("deep%2F%2e%2E/../" + up + "/file"),
      in / ("deep/%2E%2E/%2E%2E/" + up + "/file"),
      in / "*/../link",
      "%2",
  };
  const watch on_fifo{fifo};
  const watch on_file{file};
  const watch on_tokenizer{folder + "/tokenizer.json"};
  for (const auto& name : outside) {
    CAPTURE(name);
    REQUIRE(has(refusal("sentencepiece@1", "model=" + name), "below --data"));
    REQUIRE(has(refusal("tokenize@1", "tokenizer=" + name), "below --data"));
    REQUIRE(has(refusal("tokenize@1", "encoding=cl100k_base tokenizer=" + name), "below --data"));
  }
  // Which file it is depends on who reads the words.
  for (const auto* words :
       {"tokenizer=FILE tokenizer=/tmp", "tokenizer=FILE  field=x", "field=x\x1ctokenizer=FILE",
        "field=x\ttokenizer=FILE", "tokenizer=DIR/a field=x\x1ctokenizer=FILE"}) {
    std::string text{words};
    text.replace(text.find("FILE"), 4, file);
    if (const auto at = text.find("DIR"); at != std::string::npos)
      text.replace(at, 3, in.path());
    CAPTURE(text);
    REQUIRE(has(refusal("tokenize@1", text), "below --data"));
  }
  REQUIRE_FALSE(on_fifo.was_opened());
  REQUIRE_FALSE(on_file.was_opened());
  REQUIRE_FALSE(on_tokenizer.was_opened());
}

TEST_CASE("lent_job: models below the helper's folders are opened by their decoded names") {
  register_functions();
  const temporary_directory in;
  const auto job = lent(records_in(in / "a.raw", 8).map(lent_map()).batch(2));
  std::filesystem::create_directory(in / "a folder");
  const auto file = in / "a folder/tokenizer.json";
  test::write_content(file, "none");
  std::filesystem::create_symlink(file, in / "link");
  for (const auto* name : {"a%20folder/tokenizer.json", "%61%20folder/tokenizer.json", "link"})
    for (const auto* map : {"sentencepiece@1 model", "tokenize@1 tokenizer"}) {
      CAPTURE(name, map);
      const std::string words{map};
      const watch on{file};
      const auto problem = thrown_by([&] {
        borrowed_job(with_map(job, words.substr(0, words.find(' ')),
                              words.substr(words.find(' ') + 1) + '=' + (in / name)),
                     {in.path()});
      });
      REQUIRE_FALSE(has(problem.what(), "below --data"));
      REQUIRE(on.was_opened());
    }
  // A program may know it; leat alone does not.
  const auto problem =
      thrown_by([&] { borrowed_job(with_map(job, "tokenize@1", "tokenizer=org/known"), {}); });
  REQUIRE(problem.code() == errc::not_found);
}

TEST_CASE("lent_job: links that lead out of the helper's folders are not followed") {
  register_functions();
  const temporary_directory in;
  const temporary_directory other;
  const auto outside = other / "b.txt";
  test::write_content(in / "a.txt", "one\ntwo\n");
  test::write_content(outside, "three\n");
  std::filesystem::create_symlink(outside, in / "b.txt");
  const auto data = lines({in / "*.txt"}).batch(2, {.lanes = 1, .end = epoch_end::mask});
  const auto job = lent(data);
  const watch on{outside};
  const auto problem = thrown_by([&] { borrowed_job(job, {in.path()}); });
  REQUIRE(has(problem.what(), "leads out"));
  REQUIRE_FALSE(has(problem.what(), other.path()));
  REQUIRE_FALSE(on.was_opened());
  REQUIRE(borrowed_job(job, {in.path(), other.path()}).has_data());
}

TEST_CASE("lent_job: torn bytes are refused, whatever is missing or changed") {
  register_functions();
  const temporary_directory in;
  const auto bytes = encode(lent(records_in(in / "a.raw", 8).map(lent_map()).batch(2)));
  REQUIRE(decode_lent_job(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE_FALSE(decode_lent_job(std::string_view{bytes}.substr(0, size)));
  REQUIRE_FALSE(decode_lent_job(bytes + "x"));
}

TEST_CASE("files_below: only absolute names within a folder are below it") {
  const temporary_directory in;
  const temporary_directory other;
  std::filesystem::create_directories(in / "deep/er");
  std::filesystem::create_directory_symlink(other.path(), in / "out");
  const auto is_below = [&](const std::string& file) {
    return reads_only_below(raw_records(file, dtype::u8, {1}), {in.path()});
  };
  REQUIRE(is_below(in / "a.raw"));
  REQUIRE(is_below(in / "deep/er/a.raw"));
  REQUIRE_FALSE(is_below(other / "a.raw"));
  REQUIRE_FALSE(is_below(in.path() + "x/a.raw"));
  REQUIRE_FALSE(is_below("a.raw"));
  REQUIRE_FALSE(is_below(in / "deep/../../a.raw"));
  REQUIRE_FALSE(is_below(in / "out/a.raw"));
  REQUIRE(reads_only_below(tar_shards({in / "deep/*.tar"}), {in.path()}));
  REQUIRE(reads_only_below(tar_shards({in / "deep/{000..099}.tar"}), {in.path()}));
  for (const std::string far :
       {"https://host/a.tar", "s3://bucket/a.tar", "{s3://bucket,/a}/b.tar"})
    REQUIRE_FALSE(reads_only_below(tar_shards({far}), {"/"}));
  REQUIRE_FALSE(reads_only_below(image_folder(""), {in.path()}));
  REQUIRE_FALSE(reads_only_below(image_folder(in / "out"), {in.path()}));
  REQUIRE_FALSE(
      reads_only_below(tar_shards({in / "a.tar"}, {.index_dir = other.path()}), {in.path()}));
  REQUIRE(reads_only_below(tar_shards({in / "a.tar"}, {.index_dir = in / "new"}), {in.path()}));
  REQUIRE_FALSE(reads_only_below(tar_shards({"{" + (in / "a") + ",/etc/x}.tar"}), {in.path()}));
  REQUIRE_FALSE(reads_only_below(tar_shards({in / "*/../../x.tar"}), {in.path()}));
  REQUIRE_FALSE(reads_only_below(raw_records(in / "a.raw", dtype::u8, {1}), {}));
  REQUIRE(reads_only_below(count(9), {}));
  test::write_content(other / "a.raw", "x");
  std::filesystem::create_symlink(other / "a.raw", in / "a*.raw");
  REQUIRE_FALSE(is_below(in / "a*.raw"));
}

TEST_CASE("files_below: files that patterns match, and folders hold, are below it with all links") {
  const temporary_directory in;
  const temporary_directory other;
  const std::vector<std::string> folders{in.path()};
  const auto leads_out = [&](const pipeline& x) {
    REQUIRE(reads_only_below(x, folders));
    return has(thrown_by([&] { check_files_below(x, folders); }).what(), "leads out");
  };
  std::filesystem::create_directories(in / "tars/deep");
  std::filesystem::create_directory_symlink(other.path(), in / "tars/out");
  test::write_content(in / "tars/deep/a.tar", "x");
  test::write_content(other / "b.tar", "x");
  check_files_below(tar_shards({in / "tars/deep/*.tar"}), folders);
  std::filesystem::create_symlink(in / "tars/deep/a.tar", in / "tars/deep/b.tar");
  check_files_below(tar_shards({in / "tars/deep/{a,b}.tar"}), folders);
  REQUIRE(leads_out(tar_shards({in / "tars/*/*.tar"})));
  REQUIRE(leads_out(tar_shards({in / "tars/{deep,out}/b.tar"})));
  REQUIRE(leads_out(
      tar_shards({in / (".*/" + std::filesystem::path{other.path()}.filename().string() + "/*")})));

  test::write_content(in / "tokens.idx", "x");
  std::filesystem::create_symlink(other / "b.tar", in / "tokens.bin");
  for (const auto* name : {"tokens", "tokens.idx"})
    REQUIRE(leads_out(megatron(in / name)));
  REQUIRE_FALSE(reads_only_below(megatron(in / "tokens.bin"), folders));
  std::filesystem::remove(in / "tokens.bin");
  check_files_below(megatron(in / "tokens"), folders);

  std::filesystem::create_directories(in / "images/a/deep");
  test::write_content(in / "images/a/deep/1.jpg", "x");
  std::filesystem::create_directory_symlink(in / "images/a", in / "images/b");
  std::filesystem::create_directory_symlink(in / "images", in / "images/a/deep/circle");
  check_files_below(image_folder(in / "images"), folders);
  std::filesystem::create_symlink(other / "b.tar", in / "images/a/deep/2.jpg");
  REQUIRE(leads_out(image_folder(in / "images")));
  std::filesystem::remove(in / "images/a/deep/2.jpg");
  std::filesystem::create_directory_symlink(other.path(), in / "images/c");
  REQUIRE(leads_out(image_folder(in / "images")));

  REQUIRE(::mkfifo((in / "pipe.txt").c_str(), 0600) == 0);
  const auto problem = thrown_by([&] { check_files_below(lines({in / "pipe.txt"}), folders); });
  REQUIRE(has(problem.what(), "a pipe or device"));
}

} // namespace
} // namespace leat::lent_job_test
