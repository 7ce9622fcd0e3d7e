#!/usr/bin/env python3
"""Runs tlsfuzzer's test of record sizes against a lab's server, and compares the failed cases with the expected ones.

    Tests/interop/tlsfuzzer.py FOLDER-OF-THE-PROGRAMS

docs/decisions/boundary.md explains each expected failure. This script adds an ECDSA signature scheme and the ALPN
name of this protocol to the test, without which the server rejects every connection. Needs git and python3-venv.
tlsfuzzer is not on PyPI. TLSFUZZER names a repository other than the one on GitHub, such as a local clone. All files
are in a temporary folder.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

COMMIT = "14555fe211456c46deccc4b2d94751dbd894aece"
REPOSITORY = os.environ.get("TLSFUZZER", "https://github.com/tlsfuzzer/tlsfuzzer")
REQUIREMENTS = ["tlslite-ng==0.9.0b2", "ecdsa==0.19.1"]

# Runs tlsfuzzer's test with the two additions described above.
CHANGED_TEST = """
import sys
import tlslite.extensions as extensions
from tlsfuzzer import messages
from tlslite.constants import ExtensionType, SignatureScheme

def adding_ecdsa(create):
    return lambda self, schemes: create(self, list(schemes) + [SignatureScheme.ecdsa_secp256r1_sha256])

for kind in (extensions.SignatureAlgorithmsExtension, extensions.SignatureAlgorithmsCertExtension):
    kind.create = adding_ecdsa(kind.create)

def adding_alpn(init):
    def adding(self, *words, **options):
        if options.get("extensions"):
            alpn = extensions.ALPNExtension().create([bytearray(b"remote-pin/1")])
            options["extensions"] = type(options["extensions"])(
                [(ExtensionType.alpn, alpn), *options["extensions"].items()]
            )
        init(self, *words, **options)
    return adding

messages.ClientHelloGenerator.__init__ = adding_alpn(messages.ClientHelloGenerator.__init__)
from tlsfuzzer._apps import test_tls13_record_layer_limits
test_tls13_record_layer_limits.main()
"""

CIPHERS = ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"]
EXPECTED = {
    "max size of ClientHello msg, with 16167 bytes of padding",
    "too big ClientHello msg, with 16168 bytes of padding",
    *(f"max size of Finished msg, with 16587 bytes of record layer padding {cipher}" for cipher in CIPHERS),
    *(
        f"max size payload (2**14) of Finished msg, with 16348 bytes of left padding, cipher {cipher}"
        for cipher in CIPHERS
    ),
    *(
        f"too big plaintext, size: 2**14 - 8, with an additional 9 bytes of padding, cipher {cipher}"
        for cipher in CIPHERS
    ),
}


def failed_cases(output):
    """Returns the names that the test lists as failed."""
    lines = iter(output.splitlines())
    for line in lines:
        if line == "FAILED:":
            return {line.strip().strip("'") for line in lines if line.startswith("\t")}
    return set()


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    server = pathlib.Path(sys.argv[1]).resolve() / "remote-pin-server"
    with tempfile.TemporaryDirectory(prefix="remote-pin-tlsfuzzer.") as work:
        python, source, lab = f"{work}/venv/bin/python", f"{work}/tlsfuzzer", f"{work}/lab"
        subprocess.run([sys.executable, "-m", "venv", f"{work}/venv"], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *REQUIREMENTS], check=True)
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", REPOSITORY, source], check=True)
        subprocess.run(["git", "-C", source, "checkout", "--quiet", COMMIT, "--", "tlsfuzzer"], check=True)
        subprocess.run([server, "init", "--lab", lab], check=True, stdout=subprocess.DEVNULL)
        process = subprocess.Popen([server, "lab", "up", lab], stdout=subprocess.PIPE, text=True)
        try:
            if not any(line.startswith("ready") for line in process.stdout):
                raise SystemExit("the server did not start")
            address = pathlib.Path(lab, "lab.yaml").read_text().split("address:", 1)[1].split("'")[1]
            test = [python, "-c", CHANGED_TEST, "-h", "127.0.0.1", "-p", address.rpartition(":")[2], "-n", "0"]
            both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            output = subprocess.run(test, text=True, cwd=source, **both).stdout
        finally:
            process.terminate()
            process.communicate()
    if "Test end" not in output:
        raise SystemExit(f"the test did not end:\n{output[-2000:]}")
    print("\n".join(line for line in output.splitlines() if line.startswith(("TOTAL:", "PASS:", "FAIL:"))))
    failed = failed_cases(output)
    for name in sorted(failed | EXPECTED):
        print(f"{'expected' if name in failed & EXPECTED else 'UNEXPECTED' if name in failed else 'PASSED'}: {name}")
    sys.exit(failed != EXPECTED)


if __name__ == "__main__":
    main()
