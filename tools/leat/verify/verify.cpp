#include "runtime/base/error_in_flight.hpp"

#include <leat/error.hpp>

#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/run_log.hpp"
#include "tools/leat/subcommands.hpp"
#include "tools/leat/verify/audit.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace leat::command {

namespace {

using nlohmann::json;

struct verify_options {
  std::string order;
  std::vector<std::string> logs;
  bool json = false;
};

void read_order(const std::string& file, audit& to) {
  log_reader reader{file};
  bool is_empty = true;
  while (auto line = reader.next())
    if (auto* batch = std::get_if<batch_line>(&*line)) {
      to.expect(*batch);
      is_empty = false;
    }
  if (is_empty) // if `leat order` failed, no job may pass because of that
    refuse_argument("ORDER", "\"" + file + "\", without a batch", "the output of `leat order`");
}

void read_log(const std::string& file, audit& to) {
  to.begin_log();
  // The process may have been killed before it began: what it should have delivered counts as lost.
  if (!std::filesystem::exists(file))
    return print_notice("verify", "no log " + file + ": counts as empty");
  log_reader reader{file};
  bool is_empty = true;
  for (auto line = reader.next(); line; line = reader.next(), is_empty = false)
    if (const auto* header = std::get_if<attempt_start>(&*line))
      to.begin_attempt(*header);
    else
      to.deliver(std::get<batch_line>(*line));
  if (is_empty)
    print_notice("verify", "log " + file + " is empty: an attempt without a batch");
}

audit_report judge(const verify_options& x) {
  audit audit;
  try {
    read_order(x.order, audit);
  } catch (const error&) {
    throw;
  } catch (const std::exception& problem) {
    throw error(errc::torn_file, {.stage = "verify", .file = x.order, .got = problem.what()});
  }
  for (const auto& files : x.logs) {
    audit.begin_logs();
    for (const auto& file : split(files, ','))
      if (file.empty())
        refuse_argument("LOG", "\"" + files + "\"", "a file before and after each comma");
      else
        read_log(file, audit);
  }
  return audit.report();
}

json to_json(const finding& x) {
  return {{"kind", to_string(x.kind)},
          {"epoch", x.epoch},
          {"step", x.step},
          {"position", x.position ? json(*x.position) : json(nullptr)},
          {"id", x.id},
          {"text", x.text}};
}

json to_json(const audit_report& x) {
  json result{{"steps", x.steps},
              {"attempts", x.attempts},
              {"rows", x.rows},
              {"bad", x.bad},
              {"digest", to_string(x.digest)}};
  for (std::size_t i = 0; i < num_fault_kinds; ++i)
    result[std::string{to_string(static_cast<fault_kind>(i))}] = x.counts[i];
  result["findings"] = json::array();
  for (const auto& found : x.findings)
    result["findings"].push_back(to_json(found));
  return result;
}

std::string to_text(const finding& x) {
  auto text = std::string{to_string(x.kind)} + ": epoch " + std::to_string(x.epoch) + " step "
              + std::to_string(x.step);
  if (x.position)
    text += " position " + std::to_string(*x.position);
  if (!x.id.empty())
    text += " " + x.id;
  return text + ": " + x.text;
}

void print_report(const audit_report& x) {
  for (const auto& found : x.findings)
    print_line(to_text(found));
  for (std::size_t i = 0; i < num_fault_kinds; ++i) {
    std::string name{to_string(static_cast<fault_kind>(i))};
    print_line(name + std::string(10 - name.size(), ' ') + with_commas(x.counts[i]));
  }
  print_line("bad       " + with_commas(x.bad));
  print_line((x.clean() ? "good: " : "NOT GOOD: ") + with_commas(x.rows) + " rows in "
             + with_commas(x.steps) + " steps of " + with_commas(x.attempts) + " attempts, digest "
             + to_string(x.digest));
}

bool verify(const verify_options& x) {
  auto report = judge(x);
  if (x.json)
    print_line(to_json(report).dump(-1, ' ', false, json::error_handler_t::replace));
  else
    print_report(report);
  return report.clean();
}

} // namespace

void add_verify(CLI::App& app, int& status) {
  auto* sub = app.add_subcommand("verify", "Check the logs of a job against its order");
  auto x = std::make_shared<verify_options>();
  sub->add_option("ORDER", x->order, "Output of `leat order`, for one epoch or several")
      ->required();
  sub->add_option("LOG", x->logs,
                  "Logs of `leat run` in order of time; commas join the ranks of an attempt")
      ->required()
      ->expected(1, -1);
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x, &status] { status = verify(*x) ? 0 : 1; });
}

} // namespace leat::command
