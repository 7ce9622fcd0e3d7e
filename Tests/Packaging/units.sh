#!/usr/bin/env bash
# Tests the packages' life cycle under systemd, in a container booted by systemd-nspawn: install, configure, start, use
# with wallets, load and portal, back up, reload, hang, upgrade with data kept, downgrade, remove, reinstall, purge.
# Tests/Packaging/units.sh DEBS
#
# DEBS is the folder with the four packages; they replace an older release. Needs root, mmdebstrap, systemd-container
# and a mirror of Debian 12. The container has only a loopback network.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
debs=$(cd "$1" && pwd)
work=$(mktemp -d /tmp/remote-pin-units.XXXXXX)
root=$work/root

say() { printf '== %s ==\n' "$*"; }
must() { "$@" || { printf 'failed: %s\n' "$*" >&2; exit 1; }; }
fails() { if "$@"; then printf 'should have failed: %s\n' "$*" >&2; exit 1; fi; }
# ends STATUS COMMAND…: requires this exit status.
ends() {
    local status=0
    "${@:2}" || status=$?
    [ "$status" = "$1" ] || { printf 'status %s, not %s: %s\n' "$status" "$1" "${*:2}" >&2; exit 1; }
}
inside() {
    nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup -- \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
as_server() { inside runuser -u remote-pin -- "$@"; }
property() { inside systemctl show --value --property "$2" "$1"; }
is_running() { inside pgrep -f "^/usr/bin/remote-pin-$1" >/dev/null; }
of() { inside stat -c '%U:%G %a' "$1"; }
# Waits until a command succeeds, for at most a minute.
within() { timeout 60 bash -c 'until "$@"; do read -rt 0.2 <> <(:) || :; done' bash "$@"; }

leave() {
    local status=$?
    if [ "$status" != 0 ]; then
        tail -n 40 "$work"/*.out >&2 || true
        [ -z "${init:-}" ] || inside journalctl --no-pager -u remote-pin-server -u remote-pin-portal -n 30 >&2 || true
    fi
    [ -z "${nspawn:-}" ] || { kill -KILL "${init:-$nspawn}" 2>/dev/null || true; wait "$nspawn" 2>/dev/null || true; }
    rm -rf --one-file-system "$work"
    exit "$status"
}
trap leave EXIT

say "bootstrap Debian 12 with systemd"
mmdebstrap --quiet --variant=minbase --include=adduser,systemd,systemd-sysv,dbus,procps,curl bookworm "$root"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs/"
"$here/older.sh" "$debs" "$root/older"
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get update -qq && apt-get install -y -qq --no-install-recommends --download-only /debs/*.deb' \
    >"$work/download.out" 2>&1
systemd-nspawn --quiet --directory "$root" --register=no --keep-unit --private-network --boot >"$work/boot.out" 2>&1 &
nspawn=$!
within pgrep --parent "$nspawn" >/dev/null
init=$(pgrep --parent "$nspawn")
within nsenter --target "$init" --mount --pid -- systemctl is-system-running --wait >/dev/null || true

say "install: no unit is started or enabled"
inside sh -c 'apt-get install -y -qq --no-install-recommends /older/*.deb' >"$work/install.out" 2>&1
for unit in remote-pin-server remote-pin-portal; do
    must test "$(property "$unit" ActiveState) $(property "$unit" UnitFileState)" = "inactive disabled"
done
for folder in /var/lib/remote-pin /var/lib/remote-pin-key /var/log/remote-pin /var/backups/remote-pin; do
    must test "$(of "$folder")" = "remote-pin:remote-pin 700"
done

say "a start without certificate and apps fails with the missing settings and is not retried"
fails inside systemctl start remote-pin-server 2>/dev/null
must test "$(property remote-pin-server ExecMainStatus) $(property remote-pin-server NRestarts)" = "78 0"
must inside journalctl --no-pager -u remote-pin-server --grep 'tls.certificate' >/dev/null
inside systemctl reset-failed remote-pin-server

say "configure with a lab's certificate and authority"
# The lab's folder lies in the state directory, where the unit allows writes. Its key and its audit log lie in the
# package's folders for them.
as_server remote-pin-server init --lab /var/lib/remote-pin/lab >/dev/null
as_server remote-pin-server config show --json /var/lib/remote-pin/lab >"$work/lab.json"
as_server mv /var/lib/remote-pin/lab/server/vault.key /var/lib/remote-pin-key/lab.key
"$here/lab-configuration.py" vault.key-file=/var/lib/remote-pin-key/lab.key audit.file=/var/log/remote-pin/audit.log \
    admin.socket=/run/remote-pin/admin.sock portal.socket=/run/remote-pin-portal/portal.sock \
    portal.group=remote-pin-portal log.file=none observation.listen=127.0.0.1:9464 \
    <"$work/lab.json" >"$root/etc/remote-pin/server.yaml"
as_server remote-pin-server check-config --config /etc/remote-pin/server.yaml >"$work/check.out" 2>&1
inside runuser -u remote-pin-portal -- remote-pin-portal --check --config /etc/remote-pin/portal.yaml \
    >"$work/check-portal.out" 2>&1
# Shorten the watchdog interval of 30 s for the test.
mkdir -p "$root/etc/systemd/system/remote-pin-server.service.d"
printf '[Service]\nWatchdogSec=5s\n' >"$root/etc/systemd/system/remote-pin-server.service.d/test.conf"
inside systemctl daemon-reload

say "start: the server reports READY"
must inside systemctl enable --now remote-pin-server remote-pin-portal 2>"$work/enable.out"
must test "$(property remote-pin-server ActiveState)" = active
must grep -q '^serving wallets on 127.0.0.1:' <<<"$(property remote-pin-server StatusText)"
must test "$(property remote-pin-server User)" = remote-pin
must is_running server
must is_running portal
must inside remote-pin-server admin status --config /etc/remote-pin/server.yaml >/dev/null

say "a removed audit log is found at the start, which is not retried"
inside systemctl stop remote-pin-server
as_server mv /var/log/remote-pin/audit.log /var/log/remote-pin/away
fails inside systemctl start remote-pin-server 2>/dev/null
must test "$(property remote-pin-server ExecMainStatus) $(property remote-pin-server NRestarts)" = "79 0"
must inside journalctl --no-pager -u remote-pin-server --grep 'Put the log back' >/dev/null
as_server mv /var/log/remote-pin/away /var/log/remote-pin/audit.log
must inside systemctl start remote-pin-server

say "wallets register and unlock with the sandbox active"
pin() {
    printf '%s\n' "$1" >"$root/var/lib/remote-pin/pin"
    chmod 600 "$root/var/lib/remote-pin/pin"
    inside chown remote-pin /var/lib/remote-pin/pin
}
phone() {
    as_server wallet "$2" --home "/var/lib/remote-pin/$1" --lab /var/lib/remote-pin/lab \
        --pin-file /var/lib/remote-pin/pin "${@:3}"
}
pin 135790
must phone phone setup --code-written-down >"$work/setup.out"
must phone phone unlock >"$work/unlock.out"
must inside test -s /var/log/remote-pin/audit.log
id=$(as_server remote-pin-server admin wallet list --json --config /etc/remote-pin/server.yaml |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["wallets"][0]["wallet"])')
must phone lost setup --platform ios >"$work/lost.out"
must phone lost unlock >"$work/unlock.out"
must as_server pin-load provision --lab /var/lib/remote-pin/lab --wallets 50 --out /var/tmp/wallets \
    >"$work/provision.out" 2>&1
must as_server pin-load run --lab /var/lib/remote-pin/lab --wallets /var/tmp/wallets --connections 8 --duration 3s \
    --mix right=80,wrong=20 >"$work/load.out" 2>&1

say "the portal serves its page and deletes a wallet"
must grep -q '^serving the page on' <<<"$(property remote-pin-portal StatusText)"
must test "$(property remote-pin-portal User)" = remote-pin-portal
page() { inside curl -fsS "$@" http://127.0.0.1:7480/en; }
must inside curl -fsS -o /dev/null http://127.0.0.1:7480/livez
page >"$work/page.out"
code=$(grep -oE '[0-9A-Z]{4}(-[0-9A-Z]{4}){3}-[0-9A-Z]{2}' "$work/lost.out" | head -1)
# The seal of the main form, which follows the language forms.
seal() { sed -n '/<main>/,$p' | sed -nE 's/.*name="seal" value="([^"]*)".*/\1/p' | head -1; }
page --data-urlencode "code=$code" --data-urlencode "seal=$(seal <"$work/page.out")" --data step=check \
    >"$work/question.out"
must grep -q 'class="button final"' "$work/question.out"
page --data-urlencode "code=$code" --data-urlencode "seal=$(seal <"$work/question.out")" --data step=delete \
    >"$work/deleted.out"
must grep -q 'class="notice good"' "$work/deleted.out"
ends 13 phone lost unlock >"$work/revoked.out" 2>&1
must phone phone unlock >"$work/unlock.out"

say "backups succeed in the documented folder as root and as the server's user, and fail outside the sandbox"
must inside remote-pin-server backup /var/backups/remote-pin/root.backup --config /etc/remote-pin/server.yaml \
    >"$work/backup.out"
must as_server remote-pin-server backup /var/backups/remote-pin/own.backup --config /etc/remote-pin/server.yaml \
    >"$work/backup.out"
for name in root own; do must test "$(of /var/backups/remote-pin/$name.backup)" = "remote-pin:remote-pin 600"; done
inside install -d -o remote-pin -g remote-pin /srv/elsewhere
ends 74 inside remote-pin-server backup /srv/elsewhere/x.backup --config /etc/remote-pin/server.yaml \
    >"$work/elsewhere.out" 2>&1
must grep -q 'x.backup.partial: read-only file system (EROFS)' "$work/elsewhere.out"

say "timers: none is enabled; each unit does its work, and the server exports the times"
for name in backup status-list audit-verify; do
    must test "$(property "remote-pin-$name.timer" UnitFileState)" = disabled
    must inside systemctl enable --now "remote-pin-$name.timer" 2>"$work/timer.out"
done
touch -d '8 days ago' "$root"/var/backups/remote-pin/{own,2026-01-0{1..7}-000000}.backup
must inside systemctl start remote-pin-backup.service
must inside test -e /var/backups/remote-pin/own.backup -a ! -e /var/backups/remote-pin/2026-01-01-000000.backup
must inside test -e /var/backups/remote-pin/2026-01-02-000000.backup
must inside sh -c 'ls /var/backups/remote-pin/20*.backup' >/dev/null
must inside systemctl start remote-pin-audit-verify.service
must test "$(of /var/log/remote-pin/audit.log.verified)" = "remote-pin:remote-pin 600"
# The journal has older marks, too, which a log without its end still contains.
sed 's#/var/log/remote-pin/audit.log#/srv/cut.log#' "$root/etc/remote-pin/server.yaml" >"$root/srv/cut.yaml"
(umask 077; head -n 2 "$root/var/log/remote-pin/audit.log" >"$root/srv/cut.log")
ends 65 inside /usr/share/remote-pin-server/maintenance/verify-audit-log /srv/cut.yaml >"$work/cut.out" 2>&1
must grep -q 'the log was cut' "$work/cut.out"
ends 73 inside /usr/share/remote-pin-server/maintenance/copy-backup /srv/copies >"$work/copy.out" 2>&1
inside mkdir /srv/copies
for _ in 1 2; do
    must inside /usr/share/remote-pin-server/maintenance/copy-backup /srv/copies >"$work/copy.out" 2>&1
    must inside sh -c 'cmp -n "$(wc -c </srv/copies/audit.log)" /srv/copies/audit.log /var/log/remote-pin/audit.log'
    must inside sh -c 'ls /srv/copies/20*.backup' >/dev/null
done
must test "$(of /srv/copies/audit.log)" = "root:root 600"
# As docs/operating.md has it, after a backup that fails, too.
mkdir -p "$root/etc/systemd/system/remote-pin-backup.service.d"
copying=$root/etc/systemd/system/remote-pin-backup.service.d/copy.conf
printf '[Service]\nExecStart=\nExecStart=/bin/false\nExecStopPost=+%s /srv/copies\nTimeoutStopSec=1h\n' \
    /usr/share/remote-pin-server/maintenance/copy-backup >"$copying"
inside systemctl daemon-reload
old=$(inside stat -c %s /srv/copies/audit.log)
as_server remote-pin-server admin status --config /etc/remote-pin/server.yaml >/dev/null
fails inside systemctl start remote-pin-backup.service 2>/dev/null
must test "$(inside stat -c %s /srv/copies/audit.log)" -gt "$old"
rm "$copying"
inside systemctl daemon-reload
inside systemctl reset-failed remote-pin-backup.service
# The container has no network: the fetch fails, and the old list stays.
printf '{"entries":{}}' >"$root/var/lib/remote-pin/status.json"
fails inside systemctl start remote-pin-status-list.service 2>/dev/null
must inside test -s /var/lib/remote-pin/status.json
# With a list at hand it succeeds in its sandbox, which hides the keys and the administration.
printf '{"entries":{"1":{"status":"REVOKED"}}}' >"$root/srv/list"
mkdir "$root/etc/systemd/system/remote-pin-status-list.service.d"
cat >"$root/etc/systemd/system/remote-pin-status-list.service.d/test.conf" <<'END'
[Service]
ExecStart=
ExecStart=/usr/share/remote-pin-server/maintenance/fetch-status-list /var/lib/remote-pin/status.json file:///srv/list
ExecStartPre=/bin/sh -c '! cat /var/lib/remote-pin-key/lab.key'
ExecStartPre=/bin/sh -c '! ls /run/remote-pin'
END
inside systemctl daemon-reload
must inside systemctl start remote-pin-status-list.service
must cmp "$root/srv/list" "$root/var/lib/remote-pin/status.json"
# The last one although ProcSubset=pid hides /proc/stat.
for metric in remote_pin_backup_timestamp remote_pin_audit_verified_timestamp process_start_time; do
    must grep -q "^${metric}_seconds 1" <<<"$(inside curl -fsS http://127.0.0.1:9464/metrics)"
done

say "timers: each starts its unit, also after a time that the machine slept through"
for name in backup status-list audit-verify; do
    inside systemctl stop "remote-pin-$name.timer"
    mkdir "$root/etc/systemd/system/remote-pin-$name.timer.d"
    printf '[Timer]\nRandomizedDelaySec=0\n' >"$root/etc/systemd/system/remote-pin-$name.timer.d/test.conf"
    touch -d '2 days ago' "$root/var/lib/systemd/timers/stamp-remote-pin-$name.timer"
done
inside systemctl daemon-reload
for name in backup status-list audit-verify; do
    job=$(property "remote-pin-$name.service" InvocationID)
    must inside systemctl start "remote-pin-$name.timer"
    has_run() {
        [ "$(property "remote-pin-$name.service" InvocationID)" != "$job" ] &&
            [ "$(property "remote-pin-$name.service" ActiveState)" = inactive ]
    }
    for _ in $(seq 300); do has_run && break; read -rt 0.2 <> <(:) || :; done
    must has_run
    must test "$(property "remote-pin-$name.service" Result)" = success
done

say "reload: a good certificate is used; a bad one is reported and the old one stays"
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
must phone phone unlock >"$work/unlock.out"

say "the watchdog kills and restarts a hung server"
old=$(property remote-pin-server MainPID)
must inside kill -STOP "$old"
another() {
    local now
    now=$(property remote-pin-server MainPID)
    [ "$now" != 0 ] && [ "$now" != "$old" ] && [ "$(property remote-pin-server ActiveState)" = active ]
}
for _ in $(seq 300); do another && break; read -rt 0.2 <> <(:) || :; done
must another
must phone phone unlock >"$work/unlock.out"
must inside journalctl --no-pager -u remote-pin-server --grep 'Watchdog timeout' >/dev/null

say "upgrade: both services restart, and no running job; configuration changes and PIN counts are kept"
mkdir -p "$root/etc/systemd/system/remote-pin-backup.service.d"
printf '[Service]\nExecStartPost=/bin/sleep 300\n' >"$root/etc/systemd/system/remote-pin-backup.service.d/test.conf"
inside systemctl daemon-reload
inside systemctl start --no-block remote-pin-backup.service
for _ in $(seq 300); do
    [ "$(property remote-pin-backup.service SubState)" != start-post ] || break
    read -rt 0.2 <> <(:) || :
done
job=$(property remote-pin-backup.service InvocationID)
pin 000000
ends 10 phone phone unlock >"$work/wrong.out" 2>&1
kept() {
    inside sha256sum /etc/remote-pin/server.yaml /var/lib/remote-pin-key/vault.key /var/lib/remote-pin-key/lab.key \
        /var/backups/remote-pin/root.backup
}
before=$(kept)
old=$(property remote-pin-server MainPID) old_portal=$(property remote-pin-portal MainPID)
version() { inside dpkg-query -W -f '${Version}' remote-pin-server; }
old_version=$(version)
upgrade() {
    inside sh -c "apt-get install -y -qq --no-install-recommends --allow-downgrades \
        -o Dpkg::Options::=--force-confold /$1/*.deb" >"$work/upgrade.out" 2>&1
}
must upgrade debs
must test "$(version)" != "$old_version"
must test "$(kept)" = "$before"
# The new configuration file, with settings that the old one did not have, is beside the changed one.
must inside grep -q '^drain:' /etc/remote-pin/server.yaml.dpkg-dist
must test "$(of /etc/remote-pin/server.yaml)" = "root:remote-pin 640"
must another
must test "$(property remote-pin-backup.service InvocationID)" = "$job"
inside systemctl stop remote-pin-backup.service
must test "$(property remote-pin-portal ActiveState)" = active \
    -a "$(property remote-pin-portal MainPID)" != "$old_portal"
must test "$(as_server remote-pin-server admin wallet show "$id" --json --config /etc/remote-pin/server.yaml |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["pin"]["failures"])')" = 1
pin 135790
must phone phone unlock >"$work/unlock.out"
ends 13 phone lost unlock >"$work/revoked.out" 2>&1
must page -o /dev/null

say "downgrade: a server that does not know the store's format is not retried, and says what to do"
inside systemctl stop remote-pin-server
store=$root/var/lib/remote-pin/lab/server/data/wallets.db
format() { python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute(sys.argv[2])' "$store" "$1"; }
format 'PRAGMA user_version = 999'
must upgrade older
must test "$(version)" = 0.0.1
fails inside systemctl start remote-pin-server 2>/dev/null
must test "$(property remote-pin-server ExecMainStatus) $(property remote-pin-server NRestarts)" = "78 0"
must inside journalctl --no-pager -u remote-pin-server --grep 'wrote it, restore the backup' >/dev/null
fails is_running server
must upgrade debs
format 'PRAGMA user_version = 1'
must inside systemctl start remote-pin-server
must phone phone unlock >"$work/unlock.out"

say "systemd-analyze security"
inside systemd-analyze security --no-pager remote-pin-server.service | tail -1
inside systemd-analyze security --no-pager remote-pin-portal.service | tail -1
must inside systemd-analyze verify --man=no /lib/systemd/system/remote-pin-server.service \
    /lib/systemd/system/remote-pin-portal.service \
    /lib/systemd/system/remote-pin-{backup,status-list,audit-verify}.{service,timer}

say "remove: both services stop cleanly; configuration, data and backups stay"
inside apt-get remove -y -qq remote-pin-server remote-pin-portal remote-pin-keys remote-pin-tools \
    >"$work/remove.out" 2>&1
must inside journalctl --no-pager -u remote-pin-server --grep ' stopped' >/dev/null
fails is_running server
fails is_running portal
must inside test ! -e /usr/bin/remote-pin-server -a ! -e /usr/bin/remote-pin-portal -a ! -e /usr/bin/wallet
must test "$(kept)" = "$before"

say "reinstall: the existing data is kept and the wallet opens"
inside sh -c 'apt-get install -y -qq --no-install-recommends /debs/*.deb' >"$work/again.out" 2>&1
must test "$(kept)" = "$before"
must inside systemctl start remote-pin-server
must phone phone unlock >"$work/unlock.out"

say "purge: only the users and backups remain"
inside apt-get purge -y -qq remote-pin-server remote-pin-portal remote-pin-keys remote-pin-tools \
    >"$work/purge.out" 2>&1
for path in /var/lib/remote-pin /var/lib/remote-pin-key /var/log/remote-pin /etc/remote-pin /run/remote-pin \
    /run/remote-pin-portal /etc/remote-pin-keys /usr/share/doc/remote-pin-server /usr/share/remote-pin-server \
    /lib/systemd/system/remote-pin-{server,portal,keys}.service; do
    must inside test ! -e "$path"
done
must inside test -s /var/backups/remote-pin/root.backup
fails is_running server
fails is_running portal
must inside getent passwd remote-pin >/dev/null
echo "systemd packaging test passed"
