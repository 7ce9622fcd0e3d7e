#!/usr/bin/env python3
"""Asks a phone in a lab: every question goes to it as an HTTP POST, and its answer comes back as it is.

    wallet ... --key-hook 'docs/hooks/key.py http://192.168.1.20:8080/key'

On the phone a small app listens, makes the key in its secure hardware, and answers as docs/devices.md says.
"""
import sys
import urllib.request

request = urllib.request.Request(
    sys.argv[1], data=sys.stdin.buffer.read(), headers={"Content-Type": "application/json"}
)
with urllib.request.urlopen(request, timeout=25) as answer:
    sys.stdout.buffer.write(answer.read(65536))
