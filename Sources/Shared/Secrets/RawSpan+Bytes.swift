extension RawSpan {
    /// Returns the byte at `index`, with a bounds check.
    package func byte(at index: Int) -> UInt8 {
        unsafe self.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }
}
