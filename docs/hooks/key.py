#!/usr/bin/env python3
"""Forwards each question to a phone in a lab by HTTP POST and returns its answer unchanged.

    wallet ... --key-hook 'docs/hooks/key.py http://192.168.1.20:8080/key'

An app on the phone creates the key in its secure hardware and answers as docs/devices.md describes.
"""
import sys
import urllib.request

request = urllib.request.Request(
    sys.argv[1], data=sys.stdin.buffer.read(), headers={"Content-Type": "application/json"}
)
with urllib.request.urlopen(request, timeout=25) as answer:
    sys.stdout.buffer.write(answer.read(65536))
