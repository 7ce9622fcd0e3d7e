#!/usr/bin/env bash
# Tests the image of a release: Tests/Packaging/container.sh PROGRAMS RELEASE
#
# Runs it with podman as the manifests do: an unprivileged user, no capabilities, a read-only root. PROGRAMS has the lab
# and the wallet, which use the server in the image. Needs root.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
programs=$(cd "$1" && pwd)
release=$(cd "$2" && pwd)
work=$(mktemp -d /tmp/remote-pin-container.XXXXXX)
lab=$work/lab
name=remote-pin-${work##*.}
# runc works with both versions of cgroups.
podman=(podman --root "$work/storage" --runroot "$work/run" --runtime runc)

say() { printf '== %s ==\n' "$*"; }
must() { "$@" || { printf 'failed: %s\n' "$*" >&2; exit 1; }; }
fails() { if "$@"; then printf 'should have failed: %s\n' "$*" >&2; exit 1; fi; }
within() { timeout 60 bash -c 'until "$@"; do read -rt 0.2 <> <(:) || :; done' bash "$@"; }

leave() {
    local status=$?
    if [ "$status" != 0 ]; then
        tail -n 40 "$work"/*.out >&2 || true
        for container in "$name" "$name-certificate"; do
            "${podman[@]}" logs "$container" 2>&1 | tail -20 >&2 || true
        done
    fi
    [ -z "${conmon:-}" ] || kill -CONT "$conmon" 2>/dev/null || true
    "${podman[@]}" rm --force --all --time 0 >/dev/null 2>&1 || true
    "${podman[@]}" unmount --all >/dev/null 2>&1 || true
    umount "$work/storage/overlay" 2>/dev/null || true
    rm -rf --one-file-system "$work"
    exit "$status"
}
trap leave EXIT

image=$("${podman[@]}" load --quiet --input "$release"/*.oci.tar | sed -n 's/^Loaded image: //p')
# The limits are those of a machine that may not raise them.
locked=(
    --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --network host --read-only --read-only-tmpfs=false
    --cap-drop all --security-opt no-new-privileges
)
# volume NAME: a new volume, which belongs to the server's user.
volume() { install -d -o 7400 -g 7400 -m 0700 "$work/volumes/$1" && printf '%s' "$work/volumes/$1"; }
# start OPTION… IMAGE ARGUMENT…: runs a container of the pod. A lab's store must be in the lab's folder.
start() {
    "${podman[@]}" run "${locked[@]}" --volume "$(volume data):/var/lib/remote-pin" \
        --volume "$(volume key):/var/lib/remote-pin-key" --volume "$(volume log):/var/log/remote-pin" \
        --volume "$(volume run):/run/remote-pin" --volume "$(volume tls):/run/tls" --volume "$lab:$lab" \
        --volume "$(volume store):$lab/server/data" --volume "$work/config:/etc/remote-pin:ro" \
        --volume "$work/secret:/secrets/tls:ro" "$@"
}

say "a lab whose server is the image's"
"$programs/remote-pin-lab" init "$lab" >/dev/null
mkdir -p "$work/config" "$work/secret/1"
"$programs/remote-pin-server" config show --json "$lab" | "$here/lab-configuration.py" \
    vault.key-file=/var/lib/remote-pin-key/vault.key \
    audit.file=/var/log/remote-pin/audit.log admin.socket=/run/remote-pin/admin.sock log.file=none log.format=json \
    log.level=debug tls.certificate=/run/tls/tls.crt tls.key=/run/tls/tls.key drain.delay=1s drain.limit=5s \
    >"$work/config/server.yaml"
# As the kubelet mounts a secret: a link to a folder, and files that the group reads.
install -g 7400 -m 0440 "$lab/server/tls.pem" "$work/secret/1/tls.crt"
install -g 7400 -m 0440 "$lab/server/tls.key" "$work/secret/1/tls.key"
ln -s 1 "$work/secret/..data"
mkdir "$work/away"
mv "$lab"/server/data/* "$work/away/"
mv "$lab/server/vault.key" "$work/vault.key"
chown -R 7400:7400 "$lab" "$work/away" "$work/vault.key"

say "the image's user may write nothing in it"
"${podman[@]}" image inspect "$image" --format '{{.Config.User}} {{.Config.StopSignal}}' >"$work/inspect.out"
must grep -q '^7400:7400 SIGTERM$' "$work/inspect.out"
start --rm --entrypoint /bin/sh "$image" -c 'test ! -w / -a ! -w /usr/bin -a ! -w /etc; echo "$?"' \
    >"$work/rights.out" 2>&1
must grep -qx 0 "$work/rights.out"

say "init creates a key and a store on new volumes, and replaces neither"
init() {
    "${podman[@]}" run --rm "${locked[@]}" --volume "$(volume new-data):/var/lib/remote-pin" \
        --volume "$(volume new-key):/var/lib/remote-pin-key" "$image" init --config /etc/remote-pin/server.yaml
}
must init >"$work/init.out" 2>&1
must test -s "$work/volumes/new-key/vault.key" -a -s "$work/volumes/new-data/data/wallets.db"
sum=$(sha256sum "$work/volumes/new-key/vault.key")
fails init >"$work/init.out" 2>&1
must test "$(sha256sum "$work/volumes/new-key/vault.key")" = "$sum"

say "a missing volume is not served as an empty server"
follow=$(sed -nE 's/.*command: \[(follow-certificate[^]]*)\].*/\1/p' "$release/kubernetes/remote-pin.yaml" | tr -d ,)
# Of a copy that was interrupted.
install -o 7400 -m 0400 /dev/null "$(volume tls)/tls.crt.new"
# shellcheck disable=SC2086
start --detach --name "$name-certificate" --entrypoint "${follow%% *}" "$image" ${follow#* } >/dev/null
within test -s "$work/volumes/tls/tls.key"
must test "$(stat -c %a "$work/volumes/tls/tls.key")" = 400
mv "$work"/away/* "$work/volumes/store/"
fails start --rm "$image" >"$work/no-key.out" 2>&1
must grep -q '/var/lib/remote-pin-key/vault.key' "$work/no-key.out"
must test ! -e "$work/volumes/key/vault.key"
mv "$work/vault.key" "$work/volumes/key/"
mv "$work/volumes/store"/* "$work/away/"
fails start --rm "$image" >"$work/no-store.out" 2>&1
must grep -q 'is its volume mounted?' "$work/no-store.out"
must test -z "$(ls "$work/volumes/store" | grep wallets.db)"
rm -f "$work/volumes/store"/*
mv "$work"/away/* "$work/volumes/store/"

say "serve; a wallet registers and unlocks"
# The pod's containers share their processes (shareProcessNamespace).
start --detach --name "$name" --pid "container:$name-certificate" "$image" >/dev/null
# The server writes the port that it got.
address() { sed -nE "s/^address: '?([^']*)'?$/\1/p" "$lab/lab.yaml"; }
answers() {
    local place
    place=$(address)
    (exec 3<>"/dev/tcp/${place%:*}/${place##*:}") 2>/dev/null
}
export -f address answers && export lab
within answers
printf '135790\n' >"$work/pin"
chmod 600 "$work/pin"
phone() { "$programs/wallet" "$1" --lab "$lab" --home "$work/phone" --pin-file "$work/pin" "${@:2}"; }
must phone setup --code-written-down >"$work/setup.out" 2>&1
must phone unlock >"$work/unlock.out" 2>&1

say "a renewed certificate is used without a new pod"
serial() {
    openssl s_client -alpn remote-pin/1 -connect "$(address)" </dev/null 2>/dev/null | openssl x509 -noout -serial
}
export -f serial
before=$(serial)
id=$("${podman[@]}" inspect "$name" --format '{{.Id}} {{.State.Pid}}')
mkdir "$work/secret/2"
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
    -keyout "$work/secret/2/tls.key" -out "$work/request" 2>"$work/request.out"
openssl x509 -req -in "$work/request" -CA "$lab/authority/tls-ca.pem" -CAkey "$lab/authority/tls-ca.key.pem" -days 30 \
    -extfile <(printf '%s\n' subjectAltName=DNS:localhost,IP:127.0.0.1 keyUsage=digitalSignature \
        extendedKeyUsage=serverAuth) -out "$work/secret/2/tls.crt" 2>"$work/request.out"
chgrp 7400 "$work"/secret/2/* && chmod 0440 "$work"/secret/2/*
ln -s 2 "$work/secret/..new" && mv -T "$work/secret/..new" "$work/secret/..data"
export before
within bash -c 'test "$(serial)" != "$before"'
must test "$("${podman[@]}" inspect "$name" --format '{{.Id}} {{.State.Pid}}')" = "$id"
must phone unlock >"$work/unlock.out" 2>&1

say "wallets unlock while nothing reads the log"
conmon=$("${podman[@]}" inspect "$name" --format '{{.State.ConmonPid}}')
kill -STOP "$conmon"
"$programs/pin-load" provision --lab "$lab" --wallets 150 --out "$work/wallets" >"$work/provision.out" 2>&1
is_full() {
    python3 -c 'import os, select, sys
pipe = select.poll()
pipe.register(os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK), select.POLLOUT)
sys.exit(bool(pipe.poll(0)))' "$1"
}
must is_full "/proc/${id#* }/fd/2"
for _ in 1 2 3; do must phone unlock >"$work/unlock.out" 2>&1; done
must "$programs/pin-load" run --lab "$lab" --wallets "$work/wallets" --connections 8 --duration 5s \
    --mix right=80,wrong=20 >"$work/load.out" 2>&1
kill -CONT "$conmon"
conmon=
must phone unlock >"$work/unlock.out" 2>&1

say "SIGTERM ends the server within its grace"
grace=$(sed -nE 's/ *terminationGracePeriodSeconds: ([0-9]+)/\1/p' "$release/kubernetes/remote-pin.yaml")
start=$SECONDS
"${podman[@]}" stop --time "$grace" "$name" >/dev/null
must test $((SECONDS - start)) -lt "$grace"
must test "$("${podman[@]}" inspect "$name" --format '{{.State.ExitCode}}')" = 0

say "the volumes keep the wallet"
"${podman[@]}" start "$name" >/dev/null
within answers
must phone unlock >"$work/unlock.out" 2>&1
# The certificate's container is the first process here, in a pod it is not.
for container in "$name" "$name-certificate"; do "${podman[@]}" stop --time "$grace" "$container" >/dev/null; done
for container in "$name" "$name-certificate"; do
    must test "$("${podman[@]}" inspect "$container" --format '{{.State.ExitCode}}')" = 0
done
echo "image test passed"
