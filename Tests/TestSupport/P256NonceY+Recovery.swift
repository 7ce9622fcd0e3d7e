import CurveArithmetic
package import Vocabulary

extension P256NonceY {
    /// Recovers the y coordinate of a signature's point R; nil if the signature is not this key's over this
    /// digest.
    ///
    /// Also nil if R's x coordinate is not r but r + q, once in 2¹³⁰ signatures.
    package init?(of signature: P256Signature, by key: P256PublicKey, for digest: SHA256Digest) {
        let bytes = discardingErrors { Self.y(of: signature.bytes, by: key.bytes, for: digest.bytes) }
        guard let bytes else { return nil }
        self.init(bytes)
    }

    /// The y coordinate of R = e/s·G + r/s·Q; nil if its x coordinate is not r, or a number is out of range
    /// (FIPS 186-5 §6.4.2).
    private static func y(of signature: [UInt8], by publicKey: [UInt8], for digest: [UInt8]) -> [UInt8]? {
        let curve = Curve()
        let (key, nonce) = (CurvePoint(on: curve), CurvePoint(on: curve))
        let (r, s, e) = (BigNumber(), BigNumber(), BigNumber())
        let (ofG, ofQ, x, y) = (BigNumber(), BigNumber(), BigNumber(), BigNumber())
        guard r.read(signature[..<32]), s.read(signature[32...]), e.read(digest[...]),
            curve.isInRange(r), curve.isInRange(s),
            // Checks that the point is on the curve, whose order is prime.
            curve.read(publicKey, into: key),
            curve.invert(s, into: s), curve.multiply(s, e, into: ofG), curve.multiply(s, r, into: ofQ),
            curve.multiplyGenerator(by: ofG, adding: key, times: ofQ, into: nonce),
            curve.readCoordinates(of: nonce, x, y), x.bytes() == r.bytes()
        else { return nil }
        return y.bytes()
    }
}
