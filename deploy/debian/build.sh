#!/usr/bin/env bash
# Packages built programs: deploy/debian/build.sh PROGRAMS OUT [VERSION]
#
# PROGRAMS is the folder of a release build with the static Swift runtime; OUT receives the .deb files. The default
# VERSION is that of the programs with their commit.
set -euo pipefail
# The same bytes for every user.
umask 022
export LC_ALL=C.UTF-8 TZ=UTC

root=$(cd "$(dirname "$0")/../.." && pwd)
programs=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)

# A program with the dynamic Swift runtime needs the toolchain, and its package would install without it.
toolchain='lib(swift|dispatch|BlocksRuntime|_?Foundation)|not found'
for name in remote-pin-server remote-pin-portal remote-pin-keys remote-pin-lab wallet pin-load; do
    foreign=$(ldd "$programs/$name" | grep -E "$toolchain") || continue
    printf '%s needs libraries that Debian does not have; build with --static-swift-stdlib:\n%s\n' \
        "$name" "$foreign" >&2
    exit 1
done

said=$("$programs/remote-pin-server" --version)
number=$(sed -E 's/^remote-pin-server ([0-9.]+) .*/\1/' <<<"$said")
git_id=$(sed -nE 's/.*\(git ([^,)]+).*/\1/p' <<<"$said")
# Derived from the programs, since the checkout may have changed after the build.
version=${3:-$number${git_id:++git${git_id//-/.}}}
[ -n "$git_id" ] && time=$(git -C "$root" log -1 --format=%ct "${git_id%-dirty}" 2>/dev/null) || time=$(date +%s)
export SOURCE_DATE_EPOCH=$time
date=$(date -u -d "@$time" +%Y-%m-%d)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/remote-pin
mkdir -p "$tree/docs"
cp -r "$root/deploy/debian" "$tree/debian"
rm "$tree"/debian/{build.sh,manual.py,portal.yaml,token}
cp "$root"/docs/*.md "$root"/docs/*.json "$root/README.md" "$tree/docs/"
cp "$root"/deploy/systemd/remote-pin-{server,portal,keys}.service "$tree/debian/"
cp "$root/deploy/systemd/remote-pin.tmpfiles" "$tree/debian/remote-pin-server.tmpfiles"

# stage PACKAGE PROGRAM…: installs programs, manual pages and completions for one package.
stage() {
    local package=$1 name
    shift
    local to=$tree/stage/$package
    for name in "$@"; do
        install -D "$programs/$name" "$to/usr/bin/$name"
        mkdir -p "$to"/usr/share/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
        "$root/deploy/debian/manual.py" "$programs/$name" "$number" "$date" >"$to/usr/share/man/man1/$name.1"
        "$programs/$name" --generate-completion-script bash | sed '1{/^#!/d}' \
            >"$to/usr/share/bash-completion/completions/$name"
        "$programs/$name" --generate-completion-script zsh >"$to/usr/share/zsh/vendor-completions/_$name"
        "$programs/$name" --generate-completion-script fish >"$to/usr/share/fish/vendor_completions.d/$name.fish"
    done
}
# Yams, the configuration parser, bundles libyaml.
for package in remote-pin-server remote-pin-portal remote-pin-keys remote-pin-tools; do
    printf '%s: embedded-library libyaml *\n' "$package" >"$tree/debian/$package.lintian-overrides"
done
stage remote-pin-server remote-pin-server
stage remote-pin-portal remote-pin-portal
stage remote-pin-keys remote-pin-keys
stage remote-pin-tools remote-pin-lab wallet pin-load

# The commented configuration from the program, with the paths of a package.
"$programs/remote-pin-server" init "$work/made" >/dev/null
configuration=$work/made/server.yaml
while read -r section key value; do
    awk -v section="$section" -v key="$key" -v value="$value" '
        /^[a-z]+:/ { here = $1 }
        here == section ":" && index($0, "  #" key ":") == 1 { print "  " key ": " value; found = 1; next }
        { print }
        END { if (!found) { print "no setting " section "." key >"/dev/stderr"; exit 1 } }
    ' "$configuration" >"$configuration.new"
    mv "$configuration.new" "$configuration"
done <<END
data folder /var/lib/remote-pin/data
vault key-file /var/lib/remote-pin-key/vault.key
audit file /var/log/remote-pin/audit.log
admin socket /run/remote-pin/admin.sock
portal socket /run/remote-pin-portal/portal.sock
portal group remote-pin-portal
END
# The portal's unit reads its own file, so the page's settings have no effect in this one.
note='# Only `socket` and `group` apply here; the page reads its settings, from `listen` on, from'
sed -i "s|^portal:|$note /etc/remote-pin/portal.yaml.\n&|" "$configuration"
grep -q '^# Only `socket` and `group` apply here' "$configuration"
install -D -m 0644 "$configuration" "$tree/stage/remote-pin-server/etc/remote-pin/server.yaml"
share=$tree/stage/remote-pin-server/usr/share/remote-pin-server
# Alert rules and dashboard for the operator's Prometheus and Grafana.
install -D -m 0644 -t "$share/prometheus" "$root/deploy/prometheus/alerts.yml"
install -D -m 0644 -t "$share/grafana" "$root/deploy/grafana/remote-pin.json"
# Timers, with the programs that they run; debhelper finds units that are in place.
install -D -m 0644 -t "$tree/stage/remote-pin-server/lib/systemd/system" "$root"/deploy/systemd/*.timer \
    "$root"/deploy/systemd/remote-pin-{backup,status-list,audit-verify}.service
install -D -m 0755 -t "$share/maintenance" "$root"/deploy/maintenance/*
# Ready-made witnesses (docs/witness.md).
install -D -m 0755 -t "$share/witness" "$root"/deploy/witness/*
install -D -m 0644 "$root/deploy/debian/portal.yaml" "$tree/stage/remote-pin-portal/etc/remote-pin/portal.yaml"
install -D -m 0644 "$root/deploy/debian/token" "$tree/stage/remote-pin-keys/etc/remote-pin-keys/token"
# Daemons for a TPM and for a key service (docs/keys.md).
install -D -m 0755 -t "$tree/stage/remote-pin-keys/usr/share/remote-pin-keys" "$root"/deploy/keys/*

cat >"$tree/debian/changelog" <<END
remote-pin ($version) unstable; urgency=medium

  * Built from ${git_id:-a tree without a git id}.

 -- remote-pin maintainers <maintainers@remote-pin.example>  $(date -u -R -d "@$time")
END

cd "$tree"
# Nothing of the user's environment and settings, such as DEB_BUILD_OPTIONS=nodoc.
env -i PATH="$PATH" HOME="$work" TMPDIR="$work" LC_ALL="$LC_ALL" TZ="$TZ" SOURCE_DATE_EPOCH="$time" \
    ${COMPRESSION:+COMPRESSION="$COMPRESSION"} \
    dpkg-buildpackage --build=binary --unsigned-changes --unsigned-buildinfo --no-check-builddeps >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}
cp "$work"/*.deb "$out/"
ls "$out"/*_"$version"_*.deb
