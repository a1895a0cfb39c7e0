#!/usr/bin/env bash
# make_root.sh ROOT: makes the private Debian 13 root at ROOT from packages.txt beside this script.
# Built in a folder aside and renamed when complete, so that an interrupted run leaves no half root behind. It runs in a
# mount namespace of its own: whatever happens, nothing stays mounted.
set -euo pipefail

suite=trixie
say() { printf 'dev: %s %s\n' "$(date +%T)" "$*"; }
fail() {
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

# The mirror that the host itself uses, where the host is Debian.
host_mirror() {
    command -v apt-get >/dev/null || return 0
    # shellcheck disable=SC2016  # apt's own variables
    apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
        awk '$2 == "Debian" && $3 !~ /security|updates|backports/ { print $1; exit }'
}

need_debootstrap() {
    command -v debootstrap >/dev/null && return
    command -v apt-get >/dev/null || fail "debootstrap is missing: install it with this system's package manager"
    say "installing debootstrap on this system"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap; } >/dev/null 2>&1 ||
        fail "cannot install debootstrap: is there a network?"
}

# What the host's apt needs to reach its mirror, ours needs too: a proxy, an authority of the host's own.
copy_apt_settings() { # ROOT
    local conf=$1/etc/apt/apt.conf.d
    cp /etc/resolv.conf "$1/etc/resolv.conf" 2>/dev/null || :
    { grep -lsiE 'acquire::.*proxy' /etc/apt/apt.conf /etc/apt/apt.conf.d/* || :; } | xargs -r cp -t "$conf"
    if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
        cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/apt/host-ca.crt"
        echo 'Acquire::https::CAInfo "/etc/apt/host-ca.crt";' >"$conf/90host-ca"
    fi
}

quiet_packages() { # ROOT: no service starts by being installed, nothing waits for the disk
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
    chmod +x "$1/usr/sbin/policy-rc.d"
    mkdir -p "$1/etc/postgresql-common" "$1/etc/dpkg/dpkg.cfg.d"
    echo 'create_main_cluster = false' >"$1/etc/postgresql-common/createcluster.conf"
    echo 'force-unsafe-io' >"$1/etc/dpkg/dpkg.cfg.d/unsafe-io"
}

install_packages() { # ROOT
    local packages
    mapfile -t packages < <(grep -vE '^\s*(#|$)' "$(dirname "$0")/packages.txt")
    mount -t proc proc "$1/proc" 2>/dev/null || mount --rbind /proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount --rbind /sys "$1/sys"
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin
    chroot "$1" apt-get update -qq
    chroot "$1" apt-get install -y -qq --no-install-recommends "${packages[@]}"
    chroot "$1" apt-get clean
}

if [ "${1:-}" != --inside ]; then
    [ "$(id -u)" = 0 ] || fail "making the private Debian 13 root needs root (try: sudo ./dev ...)"
    need_debootstrap
    exec unshare --mount --propagation private bash "$0" --inside "$@"
fi
root=$2
work=$root.partial
trap 'printf "dev: interrupted; the next run starts again\n" >&2; exit 130' INT TERM
log=$root.log
rm -rf --one-file-system "$work"
mkdir -p "$work"
: >"$log"

mirror=$(host_mirror)
say "debootstrap of Debian 13 (about 1 minute)"
debootstrap --variant=minbase "$suite" "$work" ${mirror:+"$mirror"} >>"$log" 2>&1 || {
    fail "debootstrap failed ($(tail -n 1 "$log")): is there a network? Whole log: $log"
}
copy_apt_settings "$work"
quiet_packages "$work"
say "installing packages (about 5 minutes)"
# In a shell of its own: errexit does not hold inside a function that || follows.
status=0
(bash -euc "$(declare -f install_packages); install_packages \"\$1\"" "$0" "$work") >>"$log" 2>&1 || status=$?
[ $status = 0 ] || {
    fail "installing packages failed ($(tail -n 1 "$log")); whole log: $log"
}
umount -l "$work/proc" "$work/dev" "$work/sys"
mv "$work" "$root"
say "the root is ready"
