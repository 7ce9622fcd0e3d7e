/// The channels on which the database wakes servers (`notify`).
///
/// A lost notification only delays: each server looks into the tables with every renewal.
enum LeaseChannel: String {
    /// A revocation was committed.
    case revoked = "pin_revoked"
    /// A server has acknowledged revocations.
    case acknowledged = "pin_acknowledged"
}
