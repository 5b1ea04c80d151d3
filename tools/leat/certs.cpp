#include <leat/certificates.hpp>

#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace leat::command {

namespace {

struct issue_arguments {
  std::string directory;
  std::string name;
  std::vector<std::string> roles;
  certificate_options options;
};

void issue(issue_arguments x) {
  for (const auto& role : x.roles)
    x.options.roles.push_back(parse_link_role(role));
  issue_certificate(x.directory, x.name, x.options);
  print_line(x.directory + "/" + x.name);
}

} // namespace

void add_certs(CLI::App& app) {
  auto* sub = app.add_subcommand(
      "certs", "Make the certificates by which the processes of a job know each other");
  sub->require_subcommand(1);

  auto* init = sub->add_subcommand("init", "Make a certificate authority in a directory");
  auto at = std::make_shared<std::string>();
  init->add_option("DIR", *at, "Directory, which only who issues certificates may read")
      ->required();
  init->callback([at] {
    make_certificate_authority(*at);
    print_line(*at + "/ca.pem");
  });

  auto* made =
      sub->add_subcommand("issue", "Issue a certificate, or renew it, as a directory of its own");
  auto x = std::make_shared<issue_arguments>();
  made->add_option("DIR", x->directory, "Directory of the authority")->required();
  made->add_option("NAME", x->name, "Name of the process or the group of them: DIR/NAME is written")
      ->required();
  made->add_option(
          "--role", x->roles,
          "What its owner may be: coordinator, rank, worker, observer or feed; again for more")
      ->required()
      ->allow_extra_args(false);
  made->add_option("--host", x->options.hosts,
                   "Name or address under which others dial it, and no other; again for more; "
                   "without any, others look at its role alone")
      ->allow_extra_args(false);
  whole_number(made->add_option("--days", x->options.days, "How long it is valid"), 1, 3650)
      ->capture_default_str();
  made->callback([x] { issue(*x); });
}

} // namespace leat::command
