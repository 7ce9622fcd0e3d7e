internal import Evidence

/// Replaces the keys in the certificates of a mutated chain with test keys, and signs them again.
///
/// Otherwise, almost every mutated chain is rejected at the first signature. An input can leave out each step, so that
/// wrong values also reach the corresponding check.
struct ChainRepair {
    /// The steps that an input leaves out, according to its first byte; 0 for none.
    struct Omitted: OptionSet {
        let rawValue: UInt8
        static let keys = Omitted(rawValue: 1)
        static let names = Omitted(rawValue: 2)
        static let algorithms = Omitted(rawValue: 4)
        static let signatures = Omitted(rawValue: 8)
        /// The challenge or the nonce.
        static let challenge = Omitted(rawValue: 16)
    }

    let omitted: Omitted
    /// Whether the last certificate is the root, rather than signed by it.
    let includesRoot: Bool

    private static let ecdsaWithSHA256 = InputFormat.der.nodes(of: [
        0x30, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02,
    ])
    /// The members of a TBSCertificate that are sequences, in their order.
    private enum Member: Int { case algorithm, issuer, validity, subject, key }

    /// Returns the chain, leaf first.
    func repaired(_ chain: [Node]) -> [Node] {
        var chain = chain
        let last = chain.count - 1
        for index in chain.indices {
            let isRoot = self.includesRoot && index == last
            if !self.omitted.contains(.keys) {
                let key = isRoot ? TestKeys.root : TestKeys.chain[index % TestKeys.chain.count]
                self.set(.key, of: &chain[index], to: SubjectPublicKey(key.publicKey).encoded)
            }
            if !self.omitted.contains(.algorithms), let algorithm = Self.ecdsaWithSHA256?.first {
                self.set(.algorithm, of: &chain[index], to: InputFormat.der.bytes(of: [algorithm]))
                if chain[index].children.count == 3 { chain[index].children[1] = algorithm }
            }
        }
        if !self.omitted.contains(.names) { self.repairNames(of: &chain) }
        if !self.omitted.contains(.signatures) {
            for index in chain.indices where chain[index].children.count == 3 {
                let isLast = index == last || self.includesRoot && index + 1 == last
                let key = isLast ? TestKeys.root : TestKeys.chain[(index + 1) % TestKeys.chain.count]
                let signedPart = InputFormat.der.bytes(of: [chain[index].children[0]])
                chain[index].children[2] = .bitString(key.derSignature(for: signedPart))
            }
        }
        return chain
    }

    private func repairNames(of chain: inout [Node]) {
        for index in chain.indices {
            let isLast = index == chain.count - 1
            guard !isLast || !self.includesRoot else { continue }
            let subject = isLast ? Self.rootName : Self.member(.subject, of: chain[index + 1])
            guard let subject else { continue }
            self.set(.issuer, of: &chain[index], to: InputFormat.der.bytes(of: [subject]))
        }
    }

    private static let rootName = InputFormat.der.nodes(of: TestKeys.rootCertificate)?.first
        .flatMap { Self.member(.subject, of: $0) }

    private static func place(_ member: Member, in certificate: Node) -> Int? {
        let members = certificate.children.first?.children ?? []
        let places = members.indices.filter { members[$0].header == Node.sequenceTag }
        return places.indices.contains(member.rawValue) ? places[member.rawValue] : nil
    }

    private static func member(_ member: Member, of certificate: Node) -> Node? {
        self.place(member, in: certificate).map { certificate.children[0].children[$0] }
    }

    private func set(_ member: Member, of certificate: inout Node, to encoded: [UInt8]) {
        guard let place = Self.place(member, in: certificate), let node = InputFormat.der.nodes(of: encoded)?.first
        else {
            return
        }
        certificate.children[0].children[place] = node
    }
}
