#!/usr/bin/env bash
# Tests the packages' life cycle in a chroot: install, configure, serve, use with a wallet, upgrade with data kept,
# remove, purge. Tests/Packaging/run.sh DEBS
#
# DEBS is the folder with the four packages; they replace an older release. Needs root, mmdebstrap and a mirror of
# Debian 12. The chroot has no service manager, so the script starts the server with the
# command, user and umask of its unit and receives its notifications.
set -euo pipefail

debs=$(cd "$1" && pwd)
work=$(mktemp -d /tmp/remote-pin-packaging.XXXXXX)
root=$work/root

inside() {
    chroot "$root" \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
as_server() { inside runuser -u remote-pin -- "$@"; }
say() { printf '== %s ==\n' "$*"; }
must() { "$@" || { printf 'not so: %s\n' "$*" >&2; exit 1; }; }
fails() { if "$@"; then printf 'should have failed: %s\n' "$*" >&2; exit 1; fi; }

leave() {
    local status=$?
    if [ "$status" != 0 ]; then tail -n 40 "$work"/*.out >&2 || true; fi
    if [ -n "${server:-}" ]; then kill -KILL "$server" 2>/dev/null || true; fi
    umount "$root/proc" "$root/var/lib/remote-pin/volume" 2>/dev/null || true
    rm -rf --one-file-system "$work"
    exit "$status"
}
trap leave EXIT

say "bootstrap a minimal Debian 12"
mmdebstrap --quiet --variant=minbase --include=adduser bookworm "$root"
mount -t proc proc "$root/proc"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs/"
"$(dirname "$0")/older.sh" "$debs" "$root/older"

say "install"
inside apt-get update -qq
inside sh -c 'apt-get install -y -qq --no-install-recommends /older/*.deb' >"$work/install.out" 2>&1
for program in remote-pin-server remote-pin-portal remote-pin-keys remote-pin-lab wallet pin-load; do
    inside "$program" --version
    fails inside sh -c "ldd /usr/bin/$program | grep -E 'not found|libswift|/opt/'"
    must inside test -s "/usr/share/man/man1/$program.1.gz" -a -s "/usr/share/bash-completion/completions/$program"
done
for folder in /var/lib/remote-pin /var/lib/remote-pin-key /var/log/remote-pin; do
    must test "$(inside stat -c '%U:%G %a' "$folder")" = "remote-pin:remote-pin 700"
done
must inside test -x /usr/share/remote-pin-server/witness/tpm2-witness
must inside test -x /usr/share/remote-pin-keys/tpm2-keys
must test "$(inside stat -c '%U:%G %a' /etc/remote-pin-keys)" = "root:remote-pin-keys 750"
# The server may open the daemon's socket, and the daemon none of the server's.
must inside sh -c "id -nG remote-pin | tr ' ' '\n' | grep -qx remote-pin-keys"
fails inside sh -c "id -nG remote-pin-keys | tr ' ' '\n' | grep -qx remote-pin"
must test "$(inside stat -c '%U:%G %a' /var/lib/remote-pin-key/vault.key)" = "remote-pin:remote-pin 600"
must test "$(inside stat -c '%U:%G %a' /etc/remote-pin/server.yaml)" = "root:remote-pin 640"
must inside test -s /var/lib/remote-pin/data/wallets.db
must inside test ! -e /etc/systemd/system/multi-user.target.wants/remote-pin-server.service
must test "$(inside stat -c '%U:%G %a' /var/backups/remote-pin)" = "remote-pin:remote-pin 700"
must inside test -s /usr/share/remote-pin-server/prometheus/alerts.yml \
    -a -s /usr/share/remote-pin-server/grafana/remote-pin.json

say "unconfigured: check-config reports all missing settings at once"
fails as_server remote-pin-server check-config --config /etc/remote-pin/server.yaml >"$work/missing.out" 2>&1
for name in tls.certificate tls.key android.apps; do must grep -q "$name" "$work/missing.out"; done
as_server remote-pin-server config show --config /etc/remote-pin/server.yaml 2>/dev/null >"$work/show.out" || true
must grep -Eq '^data.folder +/var/lib/remote-pin/data +/etc/remote-pin/server.yaml:[0-9]+$' "$work/show.out"

say "configure with a lab's certificate and authority"
as_server remote-pin-server init --lab /var/lib/remote-pin/lab >/dev/null
as_server remote-pin-server config show --json /var/lib/remote-pin/lab |
    "$(dirname "$0")/lab-configuration.py" >"$root/etc/remote-pin/server.yaml"
as_server remote-pin-server check-config --config /etc/remote-pin/server.yaml >"$work/check.out" 2>&1
inside runuser -u remote-pin-portal -- remote-pin-portal --check --config /etc/remote-pin/portal.yaml \
    >"$work/check-portal.out" 2>&1

say "a TLS key owned by root is reported with the remedy"
inside chown root: /var/lib/remote-pin/lab/server/tls.key
fails as_server remote-pin-server check-config --config /etc/remote-pin/server.yaml >"$work/key.out" 2>&1
must grep -q 'tls.key`: /var/lib/remote-pin/lab/server/tls.key: permission denied (EACCES); run this as' "$work/key.out"
inside chown remote-pin: /var/lib/remote-pin/lab/server/tls.key

# Starts the server as its unit does, and waits for READY=1.
serve() {
    local line user umask
    line=$(inside sed -n 's/^ExecStart=//p' /lib/systemd/system/remote-pin-server.service)
    user=$(inside sed -n 's/^User=//p' /lib/systemd/system/remote-pin-server.service)
    umask=$(inside sed -n 's/^UMask=//p' /lib/systemd/system/remote-pin-server.service)
    inside install -d -o "$user" -g "$user" -m 0750 /run/remote-pin
    inside install -d -o "$user" -g remote-pin-portal -m 0750 /run/remote-pin-portal
    python3 - "$root/run/remote-pin/notify" >"$work/notify.out" <<'PYTHON' &
import os, socket, sys
ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ear.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
ear.settimeout(60)
while True:
    text = ear.recv(4096).decode()
    print(text.replace("\n", " "), flush=True)
    if "READY=1" in text:
        break
PYTHON
    local ear=$!
    until [ -S "$root/run/remote-pin/notify" ]; do :; done
    umask "$umask"
    # shellcheck disable=SC2086
    chroot "$root" setpriv --reuid "$user" --regid "$user" --init-groups --no-new-privs --bounding-set=-all \
        env -i PATH=/usr/bin:/bin NOTIFY_SOCKET=/run/remote-pin/notify $line >"$work/server.out" 2>&1 &
    server=$!
    umask 022
    wait "$ear"
    must grep -q 'READY=1 STATUS=serving wallets' "$work/notify.out"
    rm -f "$root/run/remote-pin/notify"
}

stop() {
    kill -TERM "$server"
    wait "$server"
    server=
}

wallet() {
    as_server wallet "$@" --lab /var/lib/remote-pin/lab --home /var/lib/remote-pin/phone --pin-file /tmp/pin
}

say "serve and use a wallet"
serve
printf '135790\n' >"$root/tmp/pin"
chown "$(inside id -u remote-pin)" "$root/tmp/pin"
chmod 600 "$root/tmp/pin"
wallet setup >"$work/setup.out" 2>&1
wallet unlock --code-written-down >"$work/unlock.out" 2>&1
must as_server remote-pin-server admin status --config /etc/remote-pin/server.yaml >"$work/status.out"
printf '000000\n' >"$root/tmp/pin"
fails wallet unlock >"$work/wrong.out" 2>&1

say "upgrade: configuration changes and PIN counts are kept"
stop
sum=$(inside sha256sum /etc/remote-pin/server.yaml)
key=$(inside sha256sum /var/lib/remote-pin-key/vault.key /var/lib/remote-pin/lab/server/vault.key)
old=$(inside dpkg-query -W -f '${Version}' remote-pin-server)
inside sh -c 'apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold /debs/*.deb' \
    >"$work/upgrade.out" 2>&1
must test "$(inside dpkg-query -W -f '${Version}' remote-pin-server)" != "$old"
must test "$(inside sha256sum /etc/remote-pin/server.yaml)" = "$sum"
must test "$(inside sha256sum /var/lib/remote-pin-key/vault.key /var/lib/remote-pin/lab/server/vault.key)" = "$key"
must test "$(inside stat -c '%U:%G %a' /etc/remote-pin/server.yaml)" = "root:remote-pin 640"
serve
id=$(as_server remote-pin-server admin wallet list --json --config /etc/remote-pin/server.yaml |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["wallets"][0]["wallet"])')
must test "$(as_server remote-pin-server admin wallet show "$id" --json --config /etc/remote-pin/server.yaml |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["pin"]["failures"])')" = 1
printf '135790\n' >"$root/tmp/pin"
wallet unlock >"$work/unlock.out" 2>&1
stop

say "remove: programs are deleted, configuration and data stay"
inside apt-get remove -y -qq remote-pin-server remote-pin-portal remote-pin-keys remote-pin-tools \
    >"$work/remove.out" 2>&1
must inside test ! -e /usr/bin/remote-pin-server -a ! -e /usr/bin/wallet
must inside test -s /var/lib/remote-pin-key/vault.key -a -s /etc/remote-pin/server.yaml \
    -a -s /var/lib/remote-pin/data/wallets.db

say "reinstall: the existing key and store are kept"
inside sh -c 'apt-get install -y -qq --no-install-recommends /debs/*.deb' >"$work/again.out" 2>&1
must test "$(inside sha256sum /var/lib/remote-pin-key/vault.key /var/lib/remote-pin/lab/server/vault.key)" = "$key"

say "purge: only the users remain; a folder may be a link, and a volume inside one is not emptied"
inside sh -c 'mv /var/lib/remote-pin-key /srv/ && ln -s /srv/remote-pin-key /var/lib/'
mkdir "$root/var/lib/remote-pin/volume" "$root/srv/other"
touch "$root/srv/other/file"
# Of the same file system, so that `find -xdev` would enter it.
mount --bind "$root/srv/other" "$root/var/lib/remote-pin/volume"
fails inside apt-get purge -y -qq remote-pin-server remote-pin-portal remote-pin-keys remote-pin-tools \
    >"$work/purge.out" 2>&1
must grep -q 'no data was removed.*remote-pin/volume' "$work/purge.out"
must test -e "$root/srv/other/file" -a -s "$root/srv/remote-pin-key/vault.key" \
    -a -s "$root/var/lib/remote-pin/data/wallets.db"
umount "$root/var/lib/remote-pin/volume"
must inside dpkg --purge remote-pin-server >"$work/purge.out" 2>&1
must test -z "$(ls "$root/srv/remote-pin-key")"
rm "$root/var/lib/remote-pin-key"
for path in /var/lib/remote-pin /var/lib/remote-pin-key /var/log/remote-pin /var/backups/remote-pin /etc/remote-pin \
    /etc/remote-pin-keys /run/remote-pin /usr/share/doc/remote-pin-server /usr/share/remote-pin-server \
    /usr/share/remote-pin-keys; do
    must inside test ! -e "$path"
done
must inside getent passwd remote-pin >/dev/null
echo "packaging test passed: install, serve, upgrade, remove, purge"
