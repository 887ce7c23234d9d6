#!/bin/sh
# Installs graphrun from a release: sh install.sh [VERSION]
#
# GRAPHRUN_INSTALL_DIR is where the binary goes, /usr/local/bin by default.
# GRAPHRUN_RELEASES is where releases are, if they are mirrored.
set -eu
version=${1:-latest}
dir=${GRAPHRUN_INSTALL_DIR:-/usr/local/bin}
releases=${GRAPHRUN_RELEASES:-https://github.com/graphrun/graphrun/releases}

fail() {
	echo "install graphrun: $*" >&2
	exit 1
}
fetch() {
	if command -v curl >/dev/null 2>&1; then
		curl -fsSL -o "$2" "$1" || fail "can't download $1"
	elif command -v wget >/dev/null 2>&1; then
		wget -qO "$2" "$1" || fail "can't download $1"
	else
		fail "curl or wget is needed"
	fi
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no package for $(uname -s) here; see $releases" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no package for $(uname -m)" ;;
esac

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "$version" = latest ]; then
	fetch "$releases/latest/download/checksums.txt" "$tmp/checksums.txt"
	version=v$(sed -n 's/.*graphrun_\(.*\)_linux_amd64\.tar\.gz$/\1/p' "$tmp/checksums.txt")
	[ "$version" != v ] || fail "no release was found at $releases"
else
	fetch "$releases/download/$version/checksums.txt" "$tmp/checksums.txt"
fi
name=graphrun_${version#v}_${os}_${arch}
fetch "$releases/download/$version/$name.tar.gz" "$tmp/$name.tar.gz"
if command -v sha256sum >/dev/null 2>&1; then
	sum=$(sha256sum "$tmp/$name.tar.gz" | cut -d ' ' -f 1)
else
	sum=$(shasum -a 256 "$tmp/$name.tar.gz" | cut -d ' ' -f 1)
fi
grep -q "^$sum  $name.tar.gz\$" "$tmp/checksums.txt" || fail "the checksum of $name.tar.gz is wrong; nothing was installed"
tar -xzf "$tmp/$name.tar.gz" -C "$tmp"
mkdir -p "$dir"
install -m 755 "$tmp/$name/graphrun" "$dir/graphrun" || fail "can't write to $dir; set GRAPHRUN_INSTALL_DIR"
echo "graphrun $version is in $dir"
