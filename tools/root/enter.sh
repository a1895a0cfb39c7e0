#!/usr/bin/env bash
# enter.sh ROOT CHECKOUT COMMAND...: runs COMMAND inside the private root, in the caller's folder, with the caller's
# environment, terminal and signals. The mounts live in a mount namespace of their own and end with the command.
# Nothing forks on the way: each step replaces the process by the next, so the exit status and signals are the command's.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    [ "$(id -u)" = 0 ] || { echo "dev: entering the private Debian 13 root needs root (try: sudo ./dev ...)" >&2; exit 77; }
    exec unshare --mount --propagation private bash "$0" --inside "$@"
fi
shift
root=$1 checkout=$2
shift 2
cwd=$PWD
home=${root%/*}/home

bind() { # bind PATH: the host's PATH, at the same place inside
    [ -e "$1" ] || return 0
    if [ -d "$1" ]; then
        mkdir -p "$root$1"
    else
        mkdir -p "$root${1%/*}"
        [ -e "$root$1" ] || : >"$root$1"
    fi
    mount --rbind "$1" "$root$1"
}

mkdir -p "$home"
mount --rbind "$root" "$root"
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir -p "$root/run/lock" "$root/run/postgresql"
chmod 1777 "$root/run/lock" "$root/run/postgresql"
mkdir -p "$root/home/deadman"
mount --bind "$home" "$root/home/deadman"
bind /tmp
bind /etc/ssl/certs
bind /etc/pip.conf
cat /etc/resolv.conf >"$root/run/resolv.conf" 2>/dev/null || :
[ ! -e "$root/etc/resolv.conf" ] || mount --bind "$root/run/resolv.conf" "$root/etc/resolv.conf"
bind "$checkout"
bind "${checkout%/*}/shared"
# A linked worktree keeps its history in the main checkout.
if [ -f "$checkout/.git" ]; then
    gitdir=$(sed -n 's/^gitdir: //p' "$checkout/.git")
    case $gitdir in /*/.git/worktrees/*) bind "${gitdir%/worktrees/*}" ;; esac
fi
for path in ${DEADMAN_EXTRA_BIND:+${DEADMAN_EXTRA_BIND//:/ }}; do bind "$path"; done
case $cwd/ in
"$checkout"/* | /tmp/*) ;;
/ | /usr/* | /etc/* | /bin/* | /sbin/* | /lib*/* | /var/* | /proc/* | /sys/* | /dev/* | /run/*)
    echo "dev: the private root does not show $cwd; going on in $checkout" >&2
    cwd=$checkout
    ;;
*) bind "$cwd" ;;
esac

mkdir -p "$root/.old"
cd "$root"
pivot_root . .old
umount -l /.old
cd "$cwd"
export DEADMAN_IN_ROOT=1 HOME=/home/deadman PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ -z "${GIT_CONFIG_COUNT:-}" ]; then # the checkout may belong to the user who called sudo
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
fi
unset XDG_CACHE_HOME XDG_DATA_HOME XDG_CONFIG_HOME
exec "$@"
