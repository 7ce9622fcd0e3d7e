#!/usr/bin/env bash
# The units under a real systemd, in a container booted by systemd-nspawn. Tests/Packaging/units.sh DEBS
#
# Needs root, mmdebstrap, systemd-container and a mirror of Debian 12. The container shares the machine's network, so that it
# can listen on loopback.
set -euo pipefail

debs=$(cd "$1" && pwd)
work=$(mktemp -d /tmp/remote-pin-units.XXXXXX)
root=$work/root

say() { printf '== %s ==\n' "$*"; }
must() { "$@" || { printf 'not so: %s\n' "$*" >&2; exit 1; }; }
fails() { if "$@"; then printf 'should have failed: %s\n' "$*" >&2; exit 1; fi; }
inside() { nsenter --target "$init" --mount --uts --ipc --pid --cgroup -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }
as_server() { inside runuser -u remote-pin -- "$@"; }
property() { inside systemctl show --value --property "$2" "$1"; }
# Waits until a command succeeds, for at most a minute.
within() { timeout 60 bash -c 'until "$@"; do read -rt 0.2 <> <(:) || :; done' bash "$@"; }

leave() {
    local status=$?
    if [ "$status" != 0 ] && [ -n "${init:-}" ]; then
        inside journalctl --no-pager -u remote-pin-server -u remote-pin-portal -n 60 >&2 || true
    fi
    [ -z "${nspawn:-}" ] || { kill -KILL "${init:-$nspawn}" 2>/dev/null || true; wait "$nspawn" 2>/dev/null || true; }
    umount "$root/proc" 2>/dev/null || true
    rm -rf --one-file-system "$work"
    exit "$status"
}
trap leave EXIT

say "a Debian 12 with systemd, and the packages"
mmdebstrap --quiet --variant=minbase --include=adduser,systemd,systemd-sysv,dbus,procps,curl bookworm "$root"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs/"
# The program reads its arguments from there.
mount -t proc proc "$root/proc"
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get update -qq && apt-get install -y -qq --no-install-recommends /debs/*.deb' >"$work/install.out" 2>&1
# A lab's folder lies beside the store, where the unit lets the server write.
chroot "$root" runuser -u remote-pin -- remote-pin-server init --lab /var/lib/remote-pin/lab >/dev/null
"$(dirname "$0")/lab-configuration.py" < <(
    chroot "$root" runuser -u remote-pin -- remote-pin-server config show --json /var/lib/remote-pin/lab
) admin.socket=/run/remote-pin/admin.sock portal.socket=/run/remote-pin-portal/portal.sock portal.group=remote-pin-portal \
    log.file=none >"$root/etc/remote-pin/server.yaml"
umount "$root/proc"
for unit in remote-pin-server remote-pin-portal; do
    mkdir -p "$root/etc/systemd/system/$unit.service.d"
done
# The container's manager has no BPF to hold addresses with, and half a minute is long for a test.
printf '[Service]\nWatchdogSec=3s\n' >"$root/etc/systemd/system/remote-pin-server.service.d/test.conf"
systemd-nspawn --quiet --directory "$root" --register=no --keep-unit --boot >"$work/boot.out" 2>&1 &
nspawn=$!
within pgrep --parent "$nspawn" >/dev/null
init=$(pgrep --parent "$nspawn")
within nsenter --target "$init" --mount --pid -- systemctl is-system-running --wait >/dev/null || true

say "start: READY comes from the server itself"
must inside systemctl start remote-pin-server
must test "$(property remote-pin-server ActiveState)" = active
must grep -q '^serving wallets on 127.0.0.1:' <<<"$(property remote-pin-server StatusText)"
must test "$(property remote-pin-server User)" = remote-pin
must inside runuser -u remote-pin -- remote-pin-server admin status --config /etc/remote-pin/server.yaml >/dev/null

say "a wallet, under the sandbox"
printf '135790\n' >"$root/var/lib/remote-pin/pin"
chroot "$root" chown remote-pin /var/lib/remote-pin/pin
chmod 600 "$root/var/lib/remote-pin/pin"
wallet() { as_server wallet "$@" --lab /var/lib/remote-pin/lab --home /var/lib/remote-pin/phone --pin-file /var/lib/remote-pin/pin; }
must wallet setup >/dev/null
must wallet unlock --code-written-down >/dev/null

say "the portal"
must inside systemctl start remote-pin-portal
must grep -q '^serving the page on' <<<"$(property remote-pin-portal StatusText)"
must inside curl -fsS -o /dev/null http://127.0.0.1:7480/livez

say "reload: a good certificate, then a bad one, which the command tells and the old one outlives"
must inside systemctl reload remote-pin-server
must test "$(property remote-pin-server ActiveState)" = active
certificate=$root/var/lib/remote-pin/lab/server/tls.pem
cp "$certificate" "$work/good.pem"
printf 'no certificate\n' >"$certificate"
fails inside systemctl reload remote-pin-server
must test "$(property remote-pin-server ActiveState)" = active
must grep -q 'the old certificate stays' <<<"$(property remote-pin-server StatusText)"
cat "$work/good.pem" >"$certificate"
must inside systemctl kill --signal=HUP remote-pin-server
must wallet unlock >/dev/null

say "a server that hangs is ended and started again by the watchdog"
old=$(property remote-pin-server MainPID)
must inside kill -STOP "$old"
another() { local now; now=$(property remote-pin-server MainPID); [ "$now" != 0 ] && [ "$now" != "$old" ] && [ "$(property remote-pin-server ActiveState)" = active ]; }
for _ in $(seq 300); do another && break; read -rt 0.2 <> <(:) || :; done
must another
must wallet unlock >/dev/null
must inside journalctl --no-pager -u remote-pin-server --grep 'Watchdog timeout' >/dev/null

say "stop, and what the sandbox says of itself"
must inside systemctl stop remote-pin-portal remote-pin-server
must test "$(property remote-pin-server Result)" = success
inside systemd-analyze security --no-pager remote-pin-server.service | tail -1
inside systemd-analyze security --no-pager remote-pin-portal.service | tail -1
must inside systemd-analyze verify /lib/systemd/system/remote-pin-server.service /lib/systemd/system/remote-pin-portal.service
echo "the units work under systemd"
