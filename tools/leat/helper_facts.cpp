#include "tools/leat/helper_facts.hpp"

#include "tools/leat/output.hpp"

namespace leat::command {

void add_helped(const std::optional<helper_stats>& x, std::optional<helper_stats>& to) {
  if (!x)
    return;
  auto& sum = to ? *to : to.emplace();
  sum.helpers += x->helpers;
  sum.cores += x->cores;
  sum.rows_lent += x->rows_lent;
  sum.rows_received += x->rows_received;
  sum.rows_dealt_again += x->rows_dealt_again;
  sum.rows_declined += x->rows_declined;
  sum.bytes_sent += x->bytes_sent;
  sum.bytes_received += x->bytes_received;
  if (sum.not_lent.empty())
    sum.not_lent = x->not_lent;
}

nlohmann::json helped_to_json(const std::optional<helper_stats>& x) {
  if (!x)
    return {};
  return {{"helpers", x->helpers},
          {"cores", x->cores},
          {"rows_lent", x->rows_lent},
          {"rows_received", x->rows_received},
          {"rows_dealt_again", x->rows_dealt_again},
          {"rows_declined", x->rows_declined},
          {"bytes_sent", x->bytes_sent},
          {"bytes_received", x->bytes_received},
          {"not_lent", x->not_lent.empty() ? nlohmann::json() : nlohmann::json(x->not_lent)}};
}

std::string helped_text(const helper_stats& x, std::uint64_t samples) {
  const auto share =
      samples > 0 ? 100.0 * static_cast<double>(x.rows_received) / static_cast<double>(samples)
                  : 0.0;
  return "made " + fixed(share, 1) + "% of the rows: " + with_commas(x.rows_received) + " of "
         + with_commas(x.rows_lent) + " lent, " + with_commas(x.rows_dealt_again) + " dealt again, "
         + with_commas(x.rows_declined) + " declined, " + readable_bytes(x.bytes_received)
         + " received" + (x.not_lent.empty() ? "" : "; not lent: " + x.not_lent);
}

} // namespace leat::command
