// What connections cost: rows by bulk connections beside a bare socket and CAF's own protocol,
// small messages by links beside that protocol, round trips beside rows, and what strangers cost.
// All that is compared is measured in one round, in turns. Each process of a measurement is one of
// its own.

#include "tests/bench/harness.hpp"
#include "tests/bench/link/basp.hpp"
#include "tests/bench/link/control_ways.hpp"
#include "tests/bench/link/row_ways.hpp"

#include <leat/certificates.hpp>

#include <openssl/evp.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace leat::bench {

namespace {

/// What AES-128-GCM takes to encrypt and to decrypt a gigabyte, in records of 16 KiB.
double cipher_seconds() {
  constexpr int record = 16 << 10;
  constexpr int records = 4000;
  const std::vector<unsigned char> key(16, 1);
  const std::vector<unsigned char> nonce(12, 2);
  std::vector<unsigned char> plain(record, 3);
  std::vector<unsigned char> sealed(record);
  std::vector<unsigned char> tag(16);
  const auto check = [](int result) {
    if (result != 1)
      throw std::runtime_error("OpenSSL has no AES-128-GCM");
  };
  const auto run = [&](bool is_sealing) {
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> x{EVP_CIPHER_CTX_new(),
                                                                            EVP_CIPHER_CTX_free};
    check(EVP_CipherInit_ex(x.get(), EVP_aes_128_gcm(), nullptr, key.data(), nonce.data(),
                            is_sealing));
    int size = 0;
    for (int i = 0; i < records; ++i) {
      check(EVP_CipherInit_ex(x.get(), nullptr, nullptr, nullptr, nonce.data(), is_sealing));
      check(EVP_CipherUpdate(x.get(), is_sealing ? sealed.data() : plain.data(), &size,
                             is_sealing ? plain.data() : sealed.data(), record));
      if (is_sealing)
        check(EVP_CipherFinal_ex(x.get(), sealed.data(), &size));
      if (is_sealing)
        check(EVP_CIPHER_CTX_ctrl(x.get(), EVP_CTRL_GCM_GET_TAG, 16, tag.data()));
    }
  };
  const auto seconds = seconds_of(
      [&] {
        run(true);
        run(false);
      },
      thread_seconds);
  return seconds / (1e-9 * record * records);
}

/// A directory with certificates of a rank, a worker and a coordinator.
std::string make_certificates(const std::string& folder) {
  auto directory = folder + "/certs";
  make_certificate_authority(directory);
  for (const auto role : {link_role::rank, link_role::worker, link_role::coordinator})
    issue_certificate(directory, std::string{to_string(role)}, {.roles = {role}});
  return directory;
}

struct row_size {
  const char* name;
  std::size_t bytes;
  /// In a measurement.
  std::uint64_t rows;
};

bench_case rows_case(const row_size& size, const std::string& certificates) {
  const std::string name = std::string{"rows of "} + size.name;
  std::vector<bench_case::column> columns;
  for (const char* way : {"bare socket", "CAF's protocol", "bulk connection", "bulk, TLS"})
    columns.push_back({name + ", " + way, "CPU s/GB, both sides"});
  for (const char* way : {"bulk connection", "bulk, TLS"})
    columns.push_back({name + ", " + way + ", who receives", "CPU s/GB"});
  columns.push_back({name + ", AES-128-GCM alone", "CPU s/GB, both sides"});
  columns.push_back({name + ": bulk / bare socket", "(to be at most 1.5)"});
  columns.push_back({name + ": bulk / CAF's protocol", "(to be at most 0.7)"});
  columns.push_back({name + ": what TLS adds / cipher alone", "(to be at most 2)"});
  columns.push_back({name + ", bulk, rate / CAF's protocol", "(to be at least 1.2)"});
  if (has_basp_tls()) {
    columns.push_back({name + ", CAF's protocol, TLS", "CPU s/GB, both sides"});
    columns.push_back({name + ": bulk, TLS / CAF's protocol, TLS", "(to be at most 0.85)"});
  }
  return {name, columns, [=] {
            if (!has_basp_tls())
              std::puts("CAF's protocol with TLS: not built, since libcaf_openssl is not here");
            return [=](int number) -> std::vector<double> {
              const auto measure = [&](row_way way, bool is_secured) {
                return costs_of({.way = way,
                                 .certificates = is_secured ? certificates : "",
                                 .row_bytes = size.bytes,
                                 .rows = size.rows});
              };
              row_costs raw, basp, bulk, bulk_tls, basp_tls; // NOLINT: all of one kind
              const auto first = [&] {
                raw = measure(row_way::raw, false);
                bulk = measure(row_way::bulk, false);
                basp = measure(row_way::basp, false);
              };
              const auto second = [&] {
                bulk_tls = measure(row_way::bulk, true);
                if (has_basp_tls())
                  basp_tls = measure(row_way::basp, true);
              };
              number % 2 == 0 ? first() : second();
              const auto cipher = cipher_seconds();
              number % 2 == 0 ? second() : first();
              const auto cpu = [](const row_costs& x) { return x.seconds_per_gigabyte; };
              std::vector<double> all{cpu(raw),
                                      cpu(basp),
                                      cpu(bulk),
                                      cpu(bulk_tls),
                                      bulk.consumer_seconds_per_gigabyte,
                                      bulk_tls.consumer_seconds_per_gigabyte,
                                      cipher,
                                      cpu(bulk) / cpu(raw),
                                      cpu(bulk) / cpu(basp),
                                      (cpu(bulk_tls) - cpu(bulk)) / cipher,
                                      bulk.rows_per_second / basp.rows_per_second};
              if (has_basp_tls()) {
                all.push_back(cpu(basp_tls));
                all.push_back(cpu(bulk_tls) / cpu(basp_tls));
              }
              return all;
            };
          }};
}

bench_case slow_case(const std::string& certificates) {
  const std::string name = "a slow consumer of rows of 600 KB";
  std::vector<bench_case::column> columns;
  for (const char* way : {"plain", "TLS"})
    for (const char* side : {"source", "consumer", "consumer, second half"})
      columns.push_back({name + ", " + way + ": peak of the " + side, "windows (to be at most 4)"});
  return {name, columns, [=] {
            return [=](int) {
              std::vector<double> all;
              for (const bool is_secured : {false, true}) {
                const row_job x{.certificates = is_secured ? certificates : "",
                                .row_bytes = 600'000,
                                .rows = 300,
                                .pause = std::chrono::milliseconds{10}};
                const auto found = costs_of(x);
                const auto window = static_cast<double>(rows_in_window(x) * x.row_bytes);
                for (const auto growth :
                     {found.source_growth, found.consumer_growth, found.second_half_growth})
                  all.push_back(growth / window);
              }
              return all;
            };
          }};
}

bench_case messages_case(const std::string& certificates) {
  const std::string name = "messages of 1 KB";
  std::vector<bench_case::column> columns{
      {name + ", link", "CPU us, both sides"},
      {name + ", CAF's protocol", "CPU us, both sides"},
      {name + ", link, TLS", "CPU us, both sides"},
      {name + ": link / CAF's protocol", "(to be at most 0.3)"}};
  if (has_basp_tls()) {
    columns.push_back({name + ", CAF's protocol, TLS", "CPU us, both sides"});
    columns.push_back({name + ": link, TLS / CAF's protocol, TLS", "(to be at most 0.5)"});
  }
  return {name, columns, [=] {
            return [=](int) {
              const auto link = link_message_seconds({});
              const auto basp = basp_message_seconds({});
              const auto link_tls = link_message_seconds(certificates);
              std::vector<double> all{1e6 * link, 1e6 * basp, 1e6 * link_tls, link / basp};
              if (has_basp_tls()) {
                const auto basp_tls = basp_message_seconds(certificates);
                all.push_back(1e6 * basp_tls);
                all.push_back(link_tls / basp_tls);
              }
              return all;
            };
          }};
}

bench_case beside_rows_case(const std::string& certificates) {
  const std::string name = "round trip by a link";
  return {name,
          {{name + ", idle, p50", "us"},
           {name + ", idle, p99", "us"},
           {name + ", beside rows of 4 MB, p50", "us"},
           {name + ", beside rows of 4 MB, p99", "us"},
           {name + ", beside rows of 4 MB / idle, p50", "(to be at most 3)"}},
          [=] {
            return [=](int) -> std::vector<double> {
              const auto x = trips_beside_rows(certificates);
              return {x.quiet.median, x.quiet.late, x.busy.median, x.busy.late,
                      x.busy.median / x.quiet.median};
            };
          }};
}

bench_case strangers_case(const std::string& certificates, const std::string& others) {
  const std::string name = "strangers at a port";
  return {name,
          {{name + ": a member's round trip without them, p50", "us"},
           {name + ": with 300 refused handshakes/s and 1,000 half-open, p50", "us"},
           {name + ": with them, p99", "us"},
           {name + ": with / without, p50", "(to be at most 2)"},
           {name + ": resident memory", "MB more (to be at most 20)"},
           {name + ": refused handshakes", "/s"},
           {name + ": half-open ones that were closed within 5 s", "of 1000"}},
          [=] {
            return [=](int) -> std::vector<double> {
              const auto x = trips_beside_strangers(certificates, others);
              return {x.trips.quiet.median,
                      x.trips.busy.median,
                      x.trips.busy.late,
                      x.trips.busy.median / x.trips.quiet.median,
                      x.growth * 1e-6,
                      x.refused_per_second,
                      x.closed};
            };
          }};
}

} // namespace

std::vector<bench_case> link_cases(const std::string& folder) {
  const auto certificates = make_certificates(folder);
  const auto others = make_certificates(folder + "/others");
  std::vector<bench_case> all;
  for (const auto& x : {row_size{"1 KB", 1000, 40'000}, row_size{"150 KB", 150'000, 2000},
                        row_size{"600 KB", 600'000, 500}, row_size{"4 MB", 4'000'000, 75}})
    all.push_back(rows_case(x, certificates));
  all.push_back(messages_case(certificates));
  all.push_back(beside_rows_case(certificates));
  all.push_back(slow_case(certificates));
  all.push_back(strangers_case(certificates, others));
  return all;
}

} // namespace leat::bench
