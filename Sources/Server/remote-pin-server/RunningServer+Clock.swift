internal import HostSystem
internal import LabFiles
internal import ServerCommandLine
internal import Vocabulary
internal import WalletStore

extension RunningServer {
    /// The lab's clock, that of all servers of the store, or this machine's.
    static func clock(of lab: LabFolder?, _ lease: (any ServerLease)? = nil) throws -> any WallClock {
        guard let lab else { return lease?.clock ?? SystemClock() }
        return try explaining(.files, "the lab's clock cannot be used") { try LabClock(file: lab.clockFile) }
    }
}
