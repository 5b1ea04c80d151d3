#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that leat is built from, if they are missing.
# With the argument "ci" also those that .ci/run needs. Needs no network if all are installed.
# With the argument "missing" it only prints which packages for the library, the command and the wheel are missing.
set -euo pipefail

built_from=(
  g++ libcaf-dev protobuf-compiler libprotobuf-dev libjpeg-dev libpng-dev libwebp-dev libhwy-dev libxxhash-dev zlib1g-dev libzstd-dev libssl-dev libcurl4-openssl-dev libpugixml-dev
  libsimdjson-dev libutf8proc-dev libcli11-dev nlohmann-json3-dev patch xz-utils
)
packages=(
  "${built_from[@]}"
  cmake ninja-build libeigen3-dev catch2 libre2-dev libisal-dev
  python3 python3-dev python3-venv python3-xxhash
)
if [[ ${1:-} == missing ]]; then
  packages=("${built_from[@]}")
fi

is_debian_12() {
  (. /etc/os-release && [[ $ID == debian && ${VERSION_ID:-} == 12 ]])
}

if [[ ${1:-} == ci ]]; then
  packages+=(git ccache sentencepiece redis-server nats-server)
  if is_debian_12; then
    packages+=(clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev)
  else
    packages+=(clang libclang-rt-dev) # the release's own, for the fuzz targets; no format or tidy check
  fi
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0
if [[ ${1:-} == missing ]]; then
  echo "${missing[*]}"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing, and installing them takes root or sudo: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install --yes --no-install-recommends "${missing[@]}"
