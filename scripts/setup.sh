#!/usr/bin/env bash
# Makes a machine ready to build this module, then runs a command with the flags set:
#
#   scripts/setup.sh go test ./mlx        run a command
#   eval "$(scripts/setup.sh)"            or set the flags in this shell
#
# Packages of the system that are missing are installed with apt-get when that works
# without a password; else the command to do so is printed. When nothing is missing,
# no package manager is called. libmlx itself comes from cmd/mlxsetup.
set -euo pipefail

repo="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
compiler="${CXX:-g++}"
compiler="${compiler%% *}" # CXX may hold arguments too

say() { echo "setup: $*" >&2; }

have() { command -v "$1" >/dev/null 2>&1; }

have_openblas() {
  local f
  for f in /usr/lib/*/libopenblas.so.0 /usr/lib/libopenblas.so.0 /usr/lib64/libopenblas.so.0 \
    /usr/local/lib/libopenblas.so.0; do
    [[ -e $f ]] && return 0
  done
  return 1
}

# Prints the Debian packages that are missing, one a line. Add new needs here.
missing_packages() {
  have make || echo make
  have "$compiler" || echo g++
  have pip3 || have pip || python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
  have_openblas || echo libopenblas0-pthread
  [[ -e /etc/ssl/certs/ca-certificates.crt || -d /etc/pki ]] || echo ca-certificates
}

apt_install() {
  local as_root=() log
  if [[ $(id -u) -ne 0 ]]; then
    have sudo && sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
  fi
  say "installing $*"
  log="$(mktemp)"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  # A fresh container has no package lists, so a first failure is expected there.
  if "${apt[@]}" install -y --no-install-recommends "$@" >"$log" 2>&1 ||
    { "${apt[@]}" update >"$log" 2>&1 || true
      "${apt[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1; }; then
    rm -f "$log"
    return 0
  fi
  tail -n 5 "$log" >&2
  rm -f "$log"
  return 1
}

provide_packages() {
  case "$(uname -s)" in
    Darwin)
      xcode-select -p >/dev/null 2>&1 || { say "the command line tools are missing: run xcode-select --install"; exit 1; }
      return ;;
    Linux) ;;
    *) return ;; # mlxsetup says that there is no MLX for this system
  esac
  local missing
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -eq 0 ]] && return
  if ! have apt-get; then
    say "missing on this machine (names of the Debian packages): ${missing[*]}"
  elif ! apt_install "${missing[@]}"; then
    say "missing packages, run: sudo apt-get update && sudo apt-get install -y ${missing[*]}"
  fi
  # Without a compiler nothing can be built. mlxsetup knows whether it needs pip, and
  # without OpenBLAS everything runs, slower.
  have "$compiler" || exit 1
}

have go || { say "Go is missing: see https://go.dev/doc/install"; exit 1; }
provide_packages
flags="$(cd "$repo" && go run ./cmd/mlxsetup)"
if [[ $# -eq 0 ]]; then
  printf '%s\n' "$flags"
  exit
fi
eval "$flags"
exec "$@"
