#!/usr/bin/env bash
# Makes the private Debian 13 root at $1 from packages.txt beside this script.
# Built in a temporary folder and renamed when complete, so that an interrupted run never leaves half a root behind.
set -euo pipefail

root=$1
here=$(cd "$(dirname "$0")" && pwd)
suite=trixie

say() { printf '%s %s\n' "$(date +%T)" "$*"; }
fail() { printf 'dev: %s\n' "$*" >&2; exit 1; }

# The host's own Debian mirror, so that nothing is asked of a server the host would not ask itself.
host_mirror() {
    command -v apt-get >/dev/null || return 0
    apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
        awk '$2 == "Debian" && $3 !~ /security|updates|backports/ { print $1; exit }'
}

[ "$(id -u)" = 0 ] || fail "making the private Debian 13 root needs root (try: sudo ./dev ...)"
if ! command -v debootstrap >/dev/null; then
    command -v apt-get >/dev/null || fail "debootstrap is missing: install it with this system's package manager"
    say "installing debootstrap on the host"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap; } >/dev/null 2>&1 ||
        fail "cannot install debootstrap: is there a network?"
fi

work="$root.partial"
rm -rf "$work"
mkdir -p "$work"
log="$root.log"
: >"$log"
mirror=$(host_mirror)
say "debootstrap of Debian 13 (about 1 minute)"
# shellcheck disable=SC2086  # an empty mirror must vanish: debootstrap then takes its default
debootstrap --variant=minbase "$suite" "$work" $mirror >>"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; fail "debootstrap failed: is there a network? (whole log: $log)"; }

cp /etc/resolv.conf "$work/etc/resolv.conf"
if [ -d /etc/apt/apt.conf.d ]; then
    # A proxy that the host's apt goes through is one that ours has to go through.
    grep -lhiE 'acquire::.*proxy' /etc/apt/apt.conf.d/* 2>/dev/null | xargs -r cp -t "$work/etc/apt/apt.conf.d/" || true
fi
printf '#!/bin/sh\nexit 101\n' >"$work/usr/sbin/policy-rc.d" # no service starts by being installed
chmod +x "$work/usr/sbin/policy-rc.d"
mkdir -p "$work/etc/postgresql-common" "$work/etc/dpkg/dpkg.cfg.d"
echo 'create_main_cluster = false' >"$work/etc/postgresql-common/createcluster.conf"
echo 'force-unsafe-io' >"$work/etc/dpkg/dpkg.cfg.d/unsafe-io"

say "installing packages (about 5 minutes)"
mapfile -t packages < <(grep -vE '^\s*(#|$)' "$here/packages.txt")
unshare --mount --propagation private bash -euc '
    mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; mount --rbind /sys "$1/sys"
    [ -d /etc/ssl/certs ] && mkdir -p "$1/etc/ssl/certs"
    root=$1; shift
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
    chroot "$root" apt-get update -qq
    chroot "$root" apt-get install -y -qq --no-install-recommends "$@"
    chroot "$root" apt-get clean
' _ "$work" "${packages[@]}" >>"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; fail "installing packages failed (whole log: $log)"; }

rm -rf "$root"
mv "$work" "$root"
say "root ready: $root"
