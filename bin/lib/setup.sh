# shellcheck shell=bash
# Installs what a build needs and this machine lacks: Elixir, a C linker, Rust. Sourced after steps.sh.
# What is there already is kept as it is, and the network is used only when something is missing.

readonly LEAST_ELIXIR=1.14.0
readonly LEAST_OTP=25
readonly LEAST_RUST=1.95.0

# rustup puts cargo here, and a shell that was open before it was installed does not know.
[ -d "${CARGO_HOME:-$HOME/.cargo}/bin" ] && PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

have() { command -v "$1" >/dev/null 2>&1; }

# at_least VERSION LEAST
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    # sudo drops the environment, and with it that nobody answers questions.
    sudo DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

# apt-cache answers without an error for names that only other packages know, but shows nothing.
has_package() { [ -n "$(apt-cache show "$1" 2>/dev/null)" ]; }

apt_update() {
  [ -z "${apt_updated:-}" ] || return 0
  must "Reading the package lists" as_root apt-get -q update
  apt_updated=yes
}

# Installs Debian packages.
apt_install() {
  have apt-get || fail "$* missing, and only Debian's apt-get is known here: please install them by hand"
  if [ "$(id -u)" != 0 ]; then
    have sudo || fail "$* missing: as root, please run: apt-get install $*"
    # A password is asked for now, while there is a terminal to ask on.
    sudo -n true 2>/dev/null || sudo -v || fail "$* missing, and sudo refuses: as root, please run: apt-get install $*"
  fi
  apt_update
  must "Installing $*" \
    as_root apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

setup_packages() {
  local missing=()
  have cc || missing+=(gcc libc6-dev)
  have mix || missing+=(elixir erlang-dev)
  if [ "${#missing[@]}" -gt 0 ]; then
    # Only needed by downloads to come, of Rust and of crates.
    [ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
    apt_install "${missing[@]}"
  fi
}

check_elixir() {
  local found otp
  found=$(elixir -e 'IO.puts(System.version() <> " " <> System.otp_release())' 2>>"$LOG_DIR/setup.log") ||
    fail "elixir does not run: see $LOG_DIR/setup.log"
  otp=${found#* }
  found=${found% *}
  at_least "${found%%-*}" "$LEAST_ELIXIR" || fail "Elixir $LEAST_ELIXIR or later is needed, this is $found"
  at_least "$otp" "$LEAST_OTP" || fail "Erlang/OTP $LEAST_OTP or later is needed, this is $otp"
}

rust_version() {
  # Both: cargo without rustc builds nothing. A proxy of rustup without a toolchain answers with an error.
  have cargo && cargo --version >/dev/null 2>&1 && rustc --version 2>/dev/null | awk '{ print $2 }'
}

rust_fits() {
  local found
  found=$(rust_version) && [ -n "$found" ] && at_least "${found%%-*}" "$LEAST_RUST"
}

# Whether Debian's own Rust is new enough.
offers_rust() {
  local offered
  offered=$(LC_ALL=C apt-cache policy rustc 2>/dev/null | awk '$1 == "Candidate:" { print $2 }')
  offered=${offered%%[+~-]*}
  [ -n "$offered" ] && [ "$offered" != "(none)" ] && at_least "$offered" "$LEAST_RUST"
}

# What is there, then Debian's own, then rustup's.
setup_rust() {
  rust_fits && return
  local found lists="Reading the package lists" toolchain="Installing Rust" wanted="Rust $LEAST_RUST or later is needed"
  local by_hand="please install it from https://rustup.rs and start again"
  found=$(rust_version) || found=""
  [ -z "$found" ] || wanted="$wanted, and this is $found"
  if ! have rustup; then
    have apt-get || fail "$wanted: $by_hand"
    has_package rustc || quietly "$lists" as_root apt-get -q update ||
      fail "$wanted, and no package lists can be read (see $(log_of "$lists")): $by_hand"
    if offers_rust; then
      apt_install cargo rustc
      # An older one may come first.
      rust_fits && return
    fi
    has_package rustup || fail "$wanted, and this Debian has neither that nor a rustup package: $by_hand"
    [ -e /etc/ssl/certs/ca-certificates.crt ] || apt_install ca-certificates
    apt_install rustup
  fi
  quietly "$toolchain" rustup toolchain install stable --profile minimal --component clippy --component rustfmt ||
    fail "$wanted, and rustup could not get it (see $(log_of "$toolchain")): $by_hand"
  say "$toolchain: done ($SECONDS_TAKEN s)"
  # A default of the user's own stays; without one, cargo would not start in the next shell.
  rustup default >/dev/null 2>&1 || must "Making it the default" rustup default stable
  rust_fits || export RUSTUP_TOOLCHAIN=stable
  rust_fits || fail "rustup installed Rust $(rust_version), and $LEAST_RUST or later is needed"
}

# What only bin/test needs.
setup_rust_tools() {
  local tool component package
  for tool in fmt clippy; do
    cargo "$tool" --version >/dev/null 2>&1 && continue
    component=$tool package=rust-clippy
    [ "$tool" = clippy ] || component=rustfmt package=rustfmt
    if have rustup; then
      must "Installing $component" rustup component add "$component"
    elif have apt-get && has_package "$package"; then
      apt_install "$package"
    else
      fail "cargo $tool is missing: please install $component for $(rustc --version)"
    fi
  done
}

# Hex is used where somebody installed it; otherwise, or where it cannot be reached, the stand-ins are.
setup_deps() {
  [ "${MOTE_DEPS:-}" != offline ] || return 0
  # Asked outside of the project, whose own answer depends on this one.
  if (cd / && mix archive 2>/dev/null) | grep -q '^\* hex-'; then
    if quietly "Fetching dependencies" fetch_deps; then
      return 0
    fi
    say "Hex cannot be reached (see $(log_of "Fetching dependencies")): the stand-ins under offline/ take over"
  elif [ "${MOTE_DEPS:-}" = hex ]; then
    fail "MOTE_DEPS=hex, and Hex is not installed: mix local.hex"
  fi
  export MOTE_DEPS=offline
}

fetch_deps() { mix local.rebar --force --if-missing && mix deps.get; }

# setup build|test: everything, for "test" also what only the tests need.
setup() {
  : >"$LOG_DIR/setup.log"
  setup_packages
  check_elixir
  setup_rust
  [ "$1" != test ] || setup_rust_tools
  setup_deps
}
