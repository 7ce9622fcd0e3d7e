internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension DeniedEntry {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__DeniedEntry> {
        let message = unsafe arena.place(remotepin__v1__denied_entry__init)
        unsafe message.pointee.mac = arena.bytes(self.mac)
        unsafe message.pointee.denied_at_ms = self.deniedAt.wireMilliseconds
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__DeniedEntry) throws(FieldFault) {
        self.init(
            mac: try unsafe message.mac.fixed(.mac),
            deniedAt: try unsafe Timestamp(wireMilliseconds: message.denied_at_ms, .deniedAt)
        )
    }
}

extension DeniedPage {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__DeniedPage> {
        let message = unsafe arena.place(remotepin__v1__denied_page__init)
        let count = self.entries.count
        let list = unsafe arena.pieces(of: UnsafeMutablePointer<Remotepin__V1__DeniedEntry>?.self, count: count)
        for (index, entry) in self.entries.enumerated() { unsafe list[index] = entry.placed(in: arena) }
        unsafe message.pointee.entries = unsafe list
        unsafe message.pointee.n_entries = count
        unsafe message.pointee.has_more = self.hasMore ? 1 : 0
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__DeniedPage) throws(FieldFault) {
        guard unsafe message.n_entries <= AdminCommand.mostDenied else { throw .invalid(.deniedEntry) }
        var entries: [DeniedEntry] = []
        for index in unsafe 0..<message.n_entries {
            entries.append(try unsafe DeniedEntry(copying: required(message.entries[index], .deniedEntry).pointee))
        }
        self.init(entries: entries, hasMore: unsafe message.has_more != 0)
    }
}

extension DeniedReport {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__DeniedReport> {
        let message = unsafe arena.place(remotepin__v1__denied_report__init)
        unsafe message.pointee.mac = arena.bytes(self.mac)
        unsafe message.pointee.denied = self.deniedAt == nil ? 0 : 1
        if let deniedAt { unsafe message.pointee.denied_at_ms = deniedAt.wireMilliseconds }
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__DeniedReport) throws(FieldFault) {
        let deniedAt = try unsafe Timestamp(wireMilliseconds: message.denied_at_ms, .deniedAt)
        self.init(mac: try unsafe message.mac.fixed(.mac), deniedAt: unsafe message.denied != 0 ? deniedAt : nil)
    }
}

extension FlagReport {
    private static let most = 16

    /// The message of all flags in the arena.
    static func placed(
        _ flags: [FlagReport],
        in arena: borrowing Arena
    ) -> UnsafeMutablePointer<Remotepin__V1__FlagsReport> {
        let message = unsafe arena.place(remotepin__v1__flags_report__init)
        let list = unsafe arena.pieces(of: UnsafeMutablePointer<Remotepin__V1__FlagReport>?.self, count: flags.count)
        for (index, report) in flags.enumerated() {
            let flag = unsafe arena.place(remotepin__v1__flag_report__init)
            unsafe flag.pointee.name = report.flag.wire
            unsafe flag.pointee.rollout = report.rollout.placed(in: arena)
            unsafe flag.pointee.changed_at_ms = report.changedAt?.wireMilliseconds ?? 0
            unsafe list[index] = unsafe flag
        }
        unsafe message.pointee.flags = unsafe list
        unsafe message.pointee.n_flags = flags.count
        return unsafe message
    }

    /// Copies the flags out of the tree; those of a newer server are passed over.
    static func list(copying message: Remotepin__V1__FlagsReport) throws(FieldFault) -> [FlagReport] {
        guard unsafe (1...Self.most).contains(message.n_flags) else { throw .invalid(.flag) }
        var reports: [FlagReport] = []
        for index in unsafe 0..<message.n_flags {
            let flag = try unsafe required(message.flags[index], .flag).pointee
            guard let name = try? unsafe FeatureFlag(wire: flag.name) else { continue }
            let changedAt = try unsafe Timestamp(wireMilliseconds: flag.changed_at_ms, .changedAt)
            reports.append(
                FlagReport(
                    name,
                    try unsafe Rollout(copying: required(flag.rollout, .rollout).pointee),
                    changedAt: changedAt.milliseconds == 0 ? nil : changedAt
                )
            )
        }
        return reports
    }
}

extension UpdatePolicyReport {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__UpdatePolicyReport> {
        let message = unsafe arena.place(remotepin__v1__update_policy_report__init)
        unsafe message.pointee.now_ms = self.now.wireMilliseconds
        unsafe message.pointee.android = self.android.placed(in: arena)
        unsafe message.pointee.ios = self.iOS.placed(in: arena)
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__UpdatePolicyReport) throws(FieldFault) {
        self.init(
            now: try unsafe Timestamp(wireMilliseconds: message.now_ms, .now),
            android: try unsafe Rules(copying: required(message.android, .policy).pointee),
            iOS: try unsafe Rules(copying: required(message.ios, .policy).pointee)
        )
    }
}

extension UpdatePolicyReport.Rules {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__PlatformUpdatePolicy> {
        let message = unsafe arena.place(remotepin__v1__platform_update_policy__init)
        unsafe message.pointee.rules = arena.list(self.rules)
        unsafe message.pointee.n_rules = self.rules.count
        unsafe message.pointee.set_by_operator = self.setAt == nil ? 0 : 1
        if let setAt { unsafe message.pointee.changed_at_ms = setAt.wireMilliseconds }
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__PlatformUpdatePolicy) throws(FieldFault) {
        let changedAt = try unsafe Timestamp(wireMilliseconds: message.changed_at_ms, .changedAt)
        self.init(
            try unsafe updateRules(message.rules, message.n_rules),
            setAt: unsafe message.set_by_operator != 0 ? changedAt : nil
        )
    }
}
