package import DeviceInterface
package import SimulatedPhone
package import Vocabulary
package import WalletCore

extension Phone {
    /// Wrappers for the disk and device of each wallet.
    ///
    /// Scenarios use them to simulate crashes, the phone's clock, and the time that passes while the simulated network
    /// delays an answer.
    package struct Wrappers: Sendable {
        package var disk: @Sendable (any LocalDisk) -> any LocalDisk
        package var device: @Sendable (any Device) -> any Device
        package var clock: @Sendable (any WallClock) -> any WallClock
        package var wait: SimulatedNetwork.Wait
        package var hold: SimulatedNetwork.Hold

        package init(
            disk: @escaping @Sendable (any LocalDisk) -> any LocalDisk = { $0 },
            device: @escaping @Sendable (any Device) -> any Device = { $0 },
            clock: @escaping @Sendable (any WallClock) -> any WallClock = { $0 },
            wait: @escaping SimulatedNetwork.Wait = SimulatedNetwork.realTime,
            hold: @escaping SimulatedNetwork.Hold = SimulatedNetwork.neverHeld
        ) {
            self.disk = disk
            self.device = device
            self.clock = clock
            self.wait = wait
            self.hold = hold
        }
    }
}
