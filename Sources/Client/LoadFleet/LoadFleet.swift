// The wallets of a load run: their keys in one compact file, and what they say on the wire.
