internal import CHostSystem

/// The processors of this machine.
package enum Processors {
    /// The number of processors that this thread may run on, or nil if the system does not report it.
    package static var allowed: Int? {
        let count = Int(host_system_allowed_processors())
        return count > 0 ? count : nil
    }
}
