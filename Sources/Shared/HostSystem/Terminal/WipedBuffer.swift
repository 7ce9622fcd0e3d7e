internal import Glibc

/// A fixed-size buffer whose bytes are wiped when they are removed or the buffer goes out of scope.
///
/// This is used for typed bytes. It never grows, so no stale copies are left in memory.
@safe package struct WipedBuffer: ~Copyable {
    private let storage: UnsafeMutableRawBufferPointer
    package private(set) var count = 0

    package init(capacity: Int) {
        unsafe self.storage = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        unsafe Self.wipe(self.storage)
        unsafe self.storage.deallocate()
    }

    package var isEmpty: Bool { self.count == 0 }

    /// The number of free bytes.
    package var room: Int { unsafe self.storage.count - self.count }

    /// Removes and wipes all bytes.
    package mutating func removeAll() {
        unsafe Self.wipe(UnsafeMutableRawBufferPointer(rebasing: self.storage[..<self.count]))
        self.count = 0
    }

    /// Removes and wipes the last byte, if any.
    package mutating func removeLast() {
        guard self.count > 0 else { return }
        self.count -= 1
        unsafe self.storage[self.count] = 0
    }

    /// Removes the first `number` bytes and moves the remaining ones to the front.
    mutating func removeFirst(_ number: Int) {
        let rest = self.count - number
        for index in 0..<rest { unsafe self.storage[index] = self.storage[index + number] }
        unsafe Self.wipe(UnsafeMutableRawBufferPointer(rebasing: self.storage[rest..<self.count]))
        self.count = rest
    }

    /// Appends a byte.
    ///
    /// Returns false if the buffer is full.
    package mutating func append(_ byte: UInt8) -> Bool {
        guard unsafe self.count < self.storage.count else { return false }
        unsafe self.storage[self.count] = byte
        self.count += 1
        return true
    }

    /// Reads bytes into the free part of the buffer with read(2), and returns the result of the call.
    mutating func fill(from descriptor: Int32) -> Int {
        let free = unsafe UnsafeMutableRawBufferPointer(rebasing: self.storage[self.count...])
        let count = unsafe read(descriptor, free.baseAddress, free.count)
        if count > 0 { self.count += count }
        return count
    }

    /// Calls `body` with the bytes.
    package borrowing func withBytes<Result: ~Copyable>(_ body: (RawSpan) -> Result) -> Result {
        body(unsafe UnsafeRawBufferPointer(rebasing: self.storage[..<self.count]).bytes)
    }

    /// Calls `body` with a range of the bytes.
    package borrowing func withBytes<Result: ~Copyable>(_ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "the range exceeds the bytes")
        return body(unsafe UnsafeRawBufferPointer(rebasing: self.storage[range]).bytes)
    }

    /// The byte at `index`.
    package subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < self.count, "the index exceeds the bytes")
        return unsafe self.storage[index]
    }

    /// Wipes memory using explicit_bzero(3), which cannot be optimized away.
    private static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        if let start = bytes.baseAddress { unsafe explicit_bzero(start, bytes.count) }
    }
}
