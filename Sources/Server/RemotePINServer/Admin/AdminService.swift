internal import ServiceLifecycle
package import Transport

extension AdminCommands {
    /// Takes commands until graceful shutdown or cancellation.
    package func serve(_ listener: AdminListener) async {
        await withGracefulShutdownHandler {
            await listener.serve { await self.carryOut($0, by: $1) }
        } onGracefulShutdown: {
            listener.stop()
        }
    }
}
