package import Transport

extension ServerConnection {
    /// Waits for the next request, and decodes it.
    package func next() async -> Incoming { self.decode(await self.received()) }
}
