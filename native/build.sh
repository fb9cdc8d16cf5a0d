#!/usr/bin/env bash
# Builds every native/<name>.c (with native/<name>/*.c, if there are any) into a static program for x86-64 and arm64,
# the same bytes each time:
#
#   native/build.sh [--out DIRECTORY] [--arch x64|arm64]   default: native/bin, both
#   native/build.sh --toolchain x64|arm64                  prints what the bytes depend on, builds nothing
#
# Into native/bin it also writes SHA256SUMS and BUILT_WITH. Debian: gcc, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross.
set -euo pipefail
cd "$(dirname "$0")"
export LC_ALL=C

compiler() {
  case "$1" in
    x64) [ "$(uname -m)" = x86_64 ] && echo gcc || echo x86_64-linux-gnu-gcc ;;
    arm64) [ "$(uname -m)" = aarch64 ] && echo gcc || echo aarch64-linux-gnu-gcc ;;
    *) echo "Not an architecture: $1 (x64 or arm64)" >&2; return 2 ;;
  esac
}

# The linked code comes from the compiler, the linker and the static libc: their versions, and the libc's very bytes.
toolchain() {
  local cc; cc=$(compiler "$1")
  local libc; libc=$(sha256sum "$("$cc" -print-file-name=libc.a)")
  local gcc; gcc=$("$cc" --version | sed -n '1s/^[^(]*//p')
  local ld; ld=$("$("$cc" -print-prog-name=ld)" --version | sed -n '1s/^[^(]*//p')
  echo "$1: gcc $gcc, ld $ld, libc.a ${libc%% *}"
}

build() {
  local name=$1 arch=$2 out=$3
  local parts=(); [ ! -d "$name" ] || parts=("$name"/*.c)
  "$(compiler "$arch")" -std=gnu11 -O2 -Wall -Wextra -Werror -fstack-protector-strong -D_FORTIFY_SOURCE=2 \
    -ffile-prefix-map="$PWD"=. -static -s -Wl,--build-id=none -Wl,-z,noexecstack \
    -o "$out/$name-$arch" "$name.c" "${parts[@]}"
}

out=bin
arches=(x64 arm64)
while [ $# -gt 0 ]; do
  case "$1" in
    --toolchain) toolchain "$2"; exit ;;
    --out) out=$2; shift 2 ;;
    --arch) arches=("$2"); shift 2 ;;
    *) echo "Unknown option: $1" >&2; exit 2 ;;
  esac
done

mkdir -p "$out"
for arch in "${arches[@]}"; do
  for source in *.c; do build "${source%.c}" "$arch" "$out"; done
done
if [ "$out" = bin ]; then
  for arch in "${arches[@]}"; do
    line=$(toolchain "$arch")
    { grep -v "^$arch: " bin/BUILT_WITH || true; echo "$line"; } > bin/BUILT_WITH.new
    mv bin/BUILT_WITH.new bin/BUILT_WITH
  done
  (cd bin && sha256sum -- *-x64 *-arm64 > SHA256SUMS)
fi
