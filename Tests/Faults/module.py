"""A SoftHSM token with its daemon, and a thief who has everything of a server but the token.

SoftHSM's token directory stands for the hardware, so the loot leaves it out.
"""
import ctypes
import hmac
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import time

PIN = "271828"
LIBRARY = "/usr/lib/softhsm/libsofthsm2.so"
SHIM = pathlib.Path(__file__).with_name("pkcs11-shim.c")
INSTALLED = pathlib.Path(LIBRARY).exists() and shutil.which("softhsm2-util") is not None


class Module:
    """A token in a folder, and the daemon that serves its keys; with a plan of faults, through the shim."""

    def __init__(self, bench, folder, plan=""):
        self.bench, self.folder = bench, folder
        (folder / "token").mkdir(parents=True)
        (folder / "softhsm2.conf").write_text(f"directories.tokendir = {folder / 'token'}\n")
        self.pin_file = folder / "pin"
        self.pin_file.write_text(PIN)
        self.pin_file.chmod(0o600)
        self.environment = {**os.environ, "SOFTHSM2_CONF": str(folder / "softhsm2.conf")}
        library = LIBRARY
        if plan:
            library = folder / "shim.so"
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SHIM], check=True)
            self.environment |= {"SHIM_MODULE": LIBRARY, "SHIM_PLAN": plan}
        self.options = ["--module", library, "--pin-file", self.pin_file]
        self.socket = folder / "keys.sock"
        command = ["softhsm2-util", "--init-token", "--free", "--label", "remote-pin", "--so-pin", "31415926"]
        subprocess.run([*command, "--pin", PIN], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def must(self, *arguments):
        return self.bench.must("remote-pin-keys", *arguments, *self.options, env=self.environment)

    def start(self, *arguments, before=None):
        """Starts a command and returns its process; calls `before` in it."""
        process = subprocess.Popen(
            [self.bench.program("remote-pin-keys"), *map(str, [*arguments, *self.options])],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment,
            preexec_fn=before,
        )
        self.bench.running.append(process)
        return process

    def serve(self, *options, before=None):
        process = self.start("serve", "--socket", self.socket, *options, before=before)
        while not self.socket.exists():
            time.sleep(0.02)
        return process


def derive(root, info):
    """HKDF-SHA256 with one block of output."""
    key = hmac.digest(bytes(32), root, "sha256")
    return hmac.digest(key, info + b"\1", "sha256")


class Thief:
    """Opens the values of a stolen store with the roots of a stolen key file, without any program of this project."""

    FIELDS = {"unlock_share": "unlock-share", "presence_share": "presence-share", "deletion_code": "deletion-code"}

    def __init__(self, store, key_file):
        self.library = ctypes.CDLL("libcrypto.so.3")
        for function in ("EVP_CIPHER_CTX_new", "EVP_aes_256_gcm"):
            getattr(self.library, function).restype = ctypes.c_void_p
        self.roots = [bytes.fromhex(word) for word in re.findall(r"\b[0-9a-f]{64}\b", key_file.read_text())]
        database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
        columns = ["id", "identity", *self.FIELDS]
        self.rows = [dict(zip(columns, row)) for row in database.execute(f"SELECT {', '.join(columns)} FROM wallets")]
        database.close()

    def opened(self):
        """Returns the number of values that open, by name, of all wallets."""
        found = {name: 0 for name in [*self.FIELDS.values(), "identity", "pin"]}
        for row in self.rows:
            for column, field in self.FIELDS.items():
                found[field] += self.open(row, field, row[column]) is not None
            identity = self.open(row, "identity", row["identity"])
            found["identity"] += identity is not None
            found["pin"] += identity is not None and self.open(row, "pin", identity[:97]) is not None
        return found

    def open(self, row, field, sealed):
        """Tries every root, whatever version the value names."""
        for root in self.roots:
            if field == "identity":
                key = derive(derive(root, b"remote-pin/1 vault seal identity"), row["id"])
            else:
                key = derive(root, b"remote-pin/1 vault wallet\0" + row["id"])
            value = self.decrypt(key, sealed[4:], field.encode() + b"\0" + row["id"])
            if value is not None:
                return value
        return None

    def decrypt(self, key, sealed, data):
        """AES-256-GCM of nonce, text and tag; returns None unless the tag is right."""
        nonce, text, tag = sealed[:12], sealed[12:-16], sealed[-16:]
        library, written = self.library, ctypes.c_int()
        context = ctypes.c_void_p(library.EVP_CIPHER_CTX_new())
        value = ctypes.create_string_buffer(len(text))
        try:
            library.EVP_DecryptInit_ex(context, ctypes.c_void_p(library.EVP_aes_256_gcm()), None, key, nonce)
            library.EVP_DecryptUpdate(context, None, ctypes.byref(written), data, len(data))
            library.EVP_DecryptUpdate(context, value, ctypes.byref(written), text, len(text))
            library.EVP_CIPHER_CTX_ctrl(context, 0x11, 16, tag)
            is_right = library.EVP_DecryptFinal_ex(context, None, ctypes.byref(written)) == 1
        finally:
            library.EVP_CIPHER_CTX_free(context)
        return value.raw if is_right else None
