#include "runtime/pipeline/operator_type.hpp"
#include "tests/support/command.hpp"
#include "tests/support/megatron_writer.hpp"
#include "tests/support/special_file.hpp"
#include "tests/support/tar_writer.hpp"

// Inputs of the command that are not plain files: opening a pipe would wait for its writer, and a
// device may have no end.
namespace leat::test::inputs_test {
namespace {

namespace fs = std::filesystem;

/// An input file and the command that reads it. DIR stands for the directory of all files.
struct input_case {
  std::string file;
  /// A command, or the text of a pipeline.
  std::string command;
  /// The command does without the file.
  bool succeeds = false;
  /// Pipes and devices are read as their bytes come.
  bool takes_pipes = false;
};

std::vector<input_case> all_inputs() {
  return {
      {"x.raw", R"(raw_records("DIR/x.raw", dtype="u8", shape=[1]).batch(1))"},
      {"x.raw", R"(tokens("DIR/x.raw", dtype="u8", length=2).batch(1))"},
      {"x.npy", R"(npy("DIR/x.npy").batch(1))"},
      {"x.idx", R"(megatron("DIR/x.idx").batch(1))"},
      {"half.bin", R"(megatron("DIR/half.idx").batch(1))"},
      {"x.tar", R"(tar_shards("DIR/x.tar").batch(1))"},
      {"good.tar.leat-index", R"(tar_shards("DIR/good.tar").batch(1))", true},
      {"classes/a/x.jpg", R"(image_folder("DIR/classes").batch(1))"},
      {"x.tar.gz", R"(tar_stream("DIR/x.tar.gz").batch(1, end="mask"))", false, true},
      {"x.txt", R"(lines("DIR/x.txt").batch(1, end="mask"))", false, true},
      {"x.jsonl", R"(json_lines("DIR/x.jsonl").batch(1, end="mask"))", false, true},
      {"listed", R"(lines("DIR/list.txt").read_files("lines").batch(1, end="mask"))"},
      {"model", R"(lines("DIR/list.txt").map("sentencepiece@1", model="DIR/model").batch(1))"},
      {"t.json", R"(lines("DIR/list.txt").map("tokenize@1", tokenizer="DIR/t.json").batch(1))"},
      {"job", "leat run --pipeline DIR/job"},
      {"job", "leat order --pipeline DIR/job"},
      {"job", "leat graph --pipeline DIR/job"},
      {"x.tar", "leat bench DIR/x.tar"},
      {"x.tar", "leat replay DIR/x.tar --step 0"},
      {"x.tar", "leat index DIR/x.tar"},
      {"good.tar.leat-index", "leat index DIR/good.tar", true},
      {"model", "leat tokens DIR/list.txt --tokenizer DIR/model"},
      {"t.json", "leat tokens DIR/list.txt --tokenizer DIR/t.json"},
      {"ranks", "leat tokenize DIR/list.txt --tokenizer DIR/ranks --encoding gpt2 --out DIR/new"},
      {"out/tokens.state",
       "leat tokenize DIR/list.txt --tokenizer DIR/good.json --out DIR/out --resume"},
      {"out/tokens.bin.part", "leat tokenize DIR/list.txt --tokenizer DIR/good.json --out DIR/out"},
      {"snapshot", "leat inspect DIR/snapshot"},
      {"epoch-0-step-3.of-1", "leat inspect DIR/epoch-0-step-3.of-1"},
      {"epoch-0-step-3.rank-0-of-1", "leat inspect DIR/epoch-0-step-3.rank-0-of-1"},
      {"ck/epoch-0-step-3.rank-0-of-1",
       "leat run count:9 --global-batch 1 --snapshot-dir DIR/ck --resume", true},
      {"order", "leat verify DIR/order DIR/log"},
      {"log", "leat verify DIR/good.order DIR/log"},
  };
}

class inputs_bench : public command_bench {
public:
  inputs_bench() {
    fs::create_directories(at / "classes/a");
    fs::create_directory(at / "ck");
    fs::create_directory(at / "out");
    write("list.txt", "listed\n");
    write("good.json", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})");
    write("good.order", succeed(words_of("order count:4 --global-batch 2")));
    tar_writer{}.file("a.txt", "text").end().save(at / "good.tar");
    megatron_writer{dtype::u8}.document({"abc"}).save(at / "half");
    fs::remove(at / "half.bin");
  }

  words run_of(const input_case& x) const {
    return x.command.starts_with("leat ") ? words_of(filled_in(x.command.substr(5)))
                                          : words{"run"} + pipeline(x.command);
  }
};

TEST_CASE("inputs: what is no plain file is refused at once, wherever a file is read") {
  const inputs_bench x;
  for (const auto& input : all_inputs())
    for (const auto kind : {special_kind::pipe, special_kind::socket, special_kind::device,
                            special_kind::directory}) {
      const bool is_read = kind == special_kind::pipe || kind == special_kind::device;
      const bool is_folder_of_sets = input.command.starts_with("leat inspect ");
      if ((input.takes_pipes && is_read) || (kind == special_kind::directory && is_folder_of_sets))
        continue;
      const auto command = x.run_of(input);
      CAPTURE(input.file, to_string(kind), command);
      make_special(kind, x.at / input.file);
      const auto found = x.leat(command, "set -- timeout 30 \"$@\";");
      CAPTURE(found.errors);
      if (input.succeeds) {
        CHECK(found.code == 0);
      } else {
        CHECK((found.code == 1 || found.code == 2)); // 124 would mean that it hung for 30 s
        CHECK((contains(found.errors, input.file) || contains(found.errors, "classes")));
      }
      fs::remove_all(x.at / input.file);
    }
}

TEST_CASE("inputs: every source that opens files is among them") {
  const auto inputs = all_inputs();
  for (const auto& op : operator_types()) {
    const auto is_path = [](const operator_option& x) {
      return x.is_in_facts && x.type != option_type::number;
    };
    const std::string call = std::string{op.word} + "(\"";
    const bool is_of_python = op.word == "parquet" || op.word == "arrow"; // the Python tests do it
    if (op.role != operator_role::source || is_of_python
        || std::none_of(op.options.begin(), op.options.end(), is_path))
      continue;
    CAPTURE(call);
    CHECK(std::any_of(inputs.begin(), inputs.end(),
                      [&](const input_case& x) { return x.command.starts_with(call); }));
  }
}

TEST_CASE("inputs: what a shell opens is read, as its output comes") {
  const command_bench x;
  x.write("order", x.succeed(words_of("order count:4 --global-batch 2")));
  x.succeed(words_of("run count:4 --global-batch 2 --log " + (x.at / "log")));
  x.write("job", "count(4).batch(2)");
  x.says({"verify", "/dev/stdin", x.at / "log"}, 0, {}, "cat '" + (x.at / "order") + "' |");
  x.says({"verify", x.at / "order", "/dev/fd/0"}, 0, {}, "cat '" + (x.at / "log") + "' |");
  x.says({"order", "--pipeline", "/dev/stdin"}, 0, {}, "cat '" + (x.at / "job") + "' |");
}

} // namespace
} // namespace leat::test::inputs_test
