#!/usr/bin/env bash
# Packages server and portal with the Debian libraries that they need as an OCI image, without a registry:
#
#   deploy/container/build.sh PROGRAMS OUT VERSION
#
# PROGRAMS is the folder of a release build with the static Swift runtime. OUT receives the image as an OCI archive
# (….oci.tar), the Debian packages in it with their digests (….oci.packages), and the manifests for Kubernetes with the
# image's digest. SOURCE_DATE_EPOCH is the time of all files.
set -euo pipefail
# The same bytes for every user.
umask 022
export LC_ALL=C.UTF-8 TZ=UTC

here=$(cd "$(dirname "$0")" && pwd)
programs=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
version=$3
date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
architecture=$(dpkg --print-architecture)
name=remote-pin-server_${version}_$architecture
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 0755 "$work"
tree=$work/tree
mkdir -p "$work/debs" "$tree/var/lib/dpkg/status.d"

# The programs name the libraries. The portal formats times of its time zone. The pods' helpers need a shell, the server
# and the portal do not (docs/packaging.md).
libraries=$(ldd "$programs"/remote-pin-{server,portal} | sed -nE 's/.*=> (\S+).*/\1/p' | sort -u)
packages=$(while read -r library; do
    dpkg-query --search "$library" 2>/dev/null || dpkg-query --search "/usr$library"
done <<<"$libraries" | cut -d : -f 1 | sort -u | paste -sd ,)
mmdebstrap --quiet --variant=extract --format=null --include="$packages,tzdata,busybox-static" \
    --extract-hook="cp \"\$1\"/var/cache/apt/archives/*.deb '$work/debs'" bookworm - >/dev/null

for deb in "$work"/debs/*.deb; do
    package=$(dpkg-deb --field "$deb" Package)
    # Its scripts configure packages, and none is configured here.
    [ "$package" != debconf ] || continue
    dpkg-deb --fsys-tarfile "$deb" | tar --extract --directory "$tree" --no-same-owner \
        --exclude='./usr/share/man' --exclude='./usr/share/lintian' --exclude='./usr/share/locale' \
        --exclude='./usr/share/doc/*/[!c]*' --exclude='./usr/share/doc/*/changelog*' \
        --exclude='./usr/lib/*/gconv' --exclude='./usr/share/initramfs-tools'
    # Scanners of images find the packages here.
    dpkg-deb --field "$deb" >"$tree/var/lib/dpkg/status.d/$package"
    printf '%s %s %s %s\n' "$package" "$(dpkg-deb --field "$deb" Version)" "$(dpkg-deb --field "$deb" Architecture)" \
        "$(sha256sum <"$deb" | cut -d ' ' -f 1)"
done >"$out/$name.oci.packages"

mkdir -p "$tree"/{etc/remote-pin,proc,sys,dev,run,tmp,usr/bin}
chmod 1777 "$tree/tmp"
ldconfig -r "$tree" -X
rm -rf "$tree/var/cache"
for applet in sh cat cp ls mv readlink rm sleep test; do ln -s busybox "$tree/bin/$applet"; done
printf 'root:x:0:0::/:/bin/false\nremote-pin:x:7400:7400::/var/lib/remote-pin:/bin/false\n' >"$tree/etc/passwd"
printf 'root:x:0:\nremote-pin:x:7400:\n' >"$tree/etc/group"
printf 'PRETTY_NAME="remote-pin %s on Debian 12"\nID=debian\nVERSION_ID="12"\n' "$version" >"$tree/etc/os-release"
install -m 0755 -s -t "$tree/usr/bin" "$programs"/remote-pin-{server,portal}
install -m 0755 -t "$tree/usr/bin" "$here/follow-certificate"
install -m 0644 -t "$tree/etc/remote-pin" "$here/server.yaml"

# pack OWNER FOLDER PATH…: appends to the layer, in order of names.
pack() {
    tar --append --file "$work/layer.tar" --format=gnu --sort=name --numeric-owner --owner="$1" --group="$1" \
        --mtime="@$SOURCE_DATE_EPOCH" --directory "$2" --no-recursion --null --files-from <(
            cd "$2" && find "${@:3}" -print0 | LC_ALL=C sort -z)
}
pack 0 "$tree" .
# The only writable paths; the root file system may be read-only.
writable=(var/lib/remote-pin var/lib/remote-pin-key var/log/remote-pin run/remote-pin)
for path in "${writable[@]}"; do install -d -m 0700 "$work/own/$path"; done
pack 7400 "$work/own" "${writable[@]}"

image=$work/image:$version
umoci init --layout "$work/image"
umoci new --image "$image"
umoci raw add-layer --image "$image" --history.created "$date" --history.created_by deploy/container/build.sh \
    "$work/layer.tar"
# The user is numeric, so that a cluster can verify that it is not root. A crash report of the Swift runtime would write
# registers and memory to the log.
umoci config --image "$image" --no-history --created "$date" --architecture "$architecture" --os linux \
    --config.user 7400:7400 --config.stopsignal SIGTERM --config.env PATH=/usr/bin:/bin \
    --config.env SWIFT_BACKTRACE=enable=no --config.exposedports 7400 --config.exposedports 9464 \
    --config.entrypoint /usr/bin/remote-pin-server --config.cmd serve --config.cmd --config \
    --config.cmd /etc/remote-pin/server.yaml "${writable[@]/#/--config.volume=/}"
umoci gc --layout "$work/image"
sed -i "s|ref.name\":\"$version\"|ref.name\":\"remote-pin-server:$version\"|" "$work/image/index.json"
tar --create --file "$out/$name.oci.tar" --format=gnu --sort=name --numeric-owner --owner=0 --group=0 \
    --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" --directory "$work/image" blobs index.json oci-layout

digest=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["manifests"][0]["digest"])' <"$work/image/index.json")
mkdir -p "$out/kubernetes"
for manifest in "$here"/../kubernetes/*.yaml "$here"/../kubernetes/*.example; do
    sed "s|\(image: .*registry.example/remote-pin-server\)\$|\1:$version@$digest|" "$manifest" \
        >"$out/kubernetes/${manifest##*/}"
done
echo "$out/$name.oci.tar: $digest"
