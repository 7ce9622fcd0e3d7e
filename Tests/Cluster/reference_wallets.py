"""Wallets for the reference server. Each checks every answer: its n-th attempt must be answered with n.

A lost acknowledged commit makes a later answer too small; an attempt that was counted twice makes it too large. An
attempt without an answer is repeated with the same id until it is answered.
"""
import asyncio
import json
import os
import threading
import time


class Wallets(threading.Thread):
    """Clients that send attempts through the balancer, each for its own wallets."""

    def __init__(self, port, clients, wallets_each, pause):
        super().__init__(daemon=True)
        self.port, self.clients, self.wallets_each, self.pause = port, clients, wallets_each, pause
        self.answers = [[] for _ in range(clients)]
        self.counts = [0] * (clients * wallets_each)
        self.violations = []
        self.answered = self.repeated = self.unavailable = 0
        self.is_ending = False

    def run(self):
        asyncio.run(self._run())

    async def _run(self):
        await asyncio.gather(*(self._client(number) for number in range(self.clients)))

    async def _client(self, number):
        connection = None
        turn = 0
        # The last round asks every wallet once more, since only the next answer shows a loss.
        rest = None
        while True:
            if self.is_ending and rest is None:
                rest = self.wallets_each
            if rest is not None:
                rest -= 1
                if rest < 0:
                    return
            wallet = number * self.wallets_each + turn % self.wallets_each
            turn += 1
            connection = await self._attempt(number, wallet, connection)
            await asyncio.sleep(self.pause)

    async def _attempt(self, number, wallet, connection):
        """Sends one attempt until it is answered; returns the connection."""
        line, is_unknown = None, False
        while True:
            if line is None:
                attempt = {"wallet": wallet, "attempt": os.urandom(16).hex(), "after": self.counts[wallet]}
                line, is_unknown = json.dumps(attempt).encode() + b"\n", False
            try:
                if connection is None:
                    connection = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.port), 2)
                reader, writer = connection
                writer.write(line)
                reply = await asyncio.wait_for(reader.readline(), 5)
                if not reply:
                    raise ConnectionResetError
            except (OSError, asyncio.TimeoutError):
                # Unless the connection failed at the start, the attempt may be counted: only its id can tell.
                is_unknown = is_unknown or connection is not None
                self.repeated += 1
                if connection is not None:
                    connection[1].transport.abort()
                connection = None
                await asyncio.sleep(0.1)
                continue
            answer = json.loads(reply)
            if "count" in answer:
                break
            self.unavailable += 1
            # Not counted, so the next attempt is a new one, as if a person entered another PIN.
            if not is_unknown:
                line = None
            await asyncio.sleep(0.1)
        expected = self.counts[wallet] + 1
        if answer["count"] != expected or "error" in answer:
            self.violations.append(f"wallet {wallet}: attempt {expected} was answered with {answer}")
        self.counts[wallet] = answer["count"]
        self.answered += 1
        self.answers[number].append(time.monotonic())
        return connection

    # Measurement

    def are_served(self, since, within=1.0):
        """Returns whether every client was answered within the last second, and since a time."""
        now = time.monotonic()
        return all(times and times[-1] > max(since, now - within) for times in self.answers)

    def gap(self, start):
        """Returns the longest time that a client waited between two answers, of which the second came after `start`."""
        longest = 0.0
        for times in self.answers:
            previous = None
            for moment in times:
                if previous is not None and moment > start:
                    longest = max(longest, moment - max(previous, start))
                previous = moment
            if previous is not None:
                longest = max(longest, time.monotonic() - max(previous, start))
        return longest
