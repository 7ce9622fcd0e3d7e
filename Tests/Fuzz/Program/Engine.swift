internal import CFuzzer
internal import Foundation

/// The connection to libFuzzer, which calls C functions.
enum Engine {
    /// The target of this process; set before the first input.
    nonisolated(unsafe) fileprivate static var target: (any FuzzTarget)?

    /// Runs inputs up to the limit in the arguments, and returns the program's exit status; a crash ends the process.
    static func run(_ target: any FuzzTarget, arguments: [String]) -> Int32 {
        unsafe self.target = target
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var count = Int32(arguments.count)
        return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe LLVMFuzzerRunDriver(&count, &start) { data, count in
                unsafe Engine.target?.run(Array(UnsafeBufferPointer(start: data, count: count)))
                return 0
            }
        }
    }

    /// Changes bytes as libFuzzer does.
    fileprivate static func mutateBytes(_ bytes: [UInt8]) -> [UInt8] {
        let limit = max(16, 2 * bytes.count)
        var buffer = bytes + [UInt8](repeating: 0, count: limit - bytes.count)
        let count = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            unsafe LLVMFuzzerMutate(buffer.baseAddress, bytes.count, limit)
        }
        return Array(buffer.prefix(count))
    }

    fileprivate static func mutator(_ seed: UInt32) -> TreeMutator {
        unsafe TreeMutator(seed: seed, words: self.target?.words ?? [], mutateBytes: self.mutateBytes)
    }

    /// Copies an input to libFuzzer's memory, or returns nil if it does not fit.
    fileprivate static func copy(_ input: [UInt8]?, to data: UnsafeMutablePointer<UInt8>?, limit: Int) -> Int? {
        guard let input, !input.isEmpty, input.count <= limit else { return nil }
        unsafe data?.update(from: input, count: input.count)
        return input.count
    }
}

/// Called by libFuzzer to change an input in place.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutateInput(_ data: UnsafeMutablePointer<UInt8>?, _ count: Int, _ limit: Int, _ seed: UInt32) -> Int {
    let input = unsafe Array(UnsafeBufferPointer(start: data, count: count))
    var mutator = Engine.mutator(seed)
    let mutated = unsafe Engine.target?.mutated(input, by: &mutator, Engine.mutateBytes)
    return unsafe Engine.copy(mutated, to: data, limit: limit) ?? LLVMFuzzerMutate(data, count, limit)
}

/// Called by libFuzzer to combine two inputs.
@_cdecl("LLVMFuzzerCustomCrossOver")
public func crossInputs(
    _ first: UnsafePointer<UInt8>?,
    _ firstCount: Int,
    _ second: UnsafePointer<UInt8>?,
    _ secondCount: Int,
    _ output: UnsafeMutablePointer<UInt8>?,
    _ limit: Int,
    _ seed: UInt32
) -> Int {
    let left = unsafe Array(UnsafeBufferPointer(start: first, count: firstCount))
    let right = unsafe Array(UnsafeBufferPointer(start: second, count: secondCount))
    var mutator = Engine.mutator(seed)
    let crossed = unsafe Engine.target?.crossed(left, right, by: &mutator)
    // Plain bytes: the beginning of one and the end of the other.
    let joined = Array((left.prefix(left.count / 2) + right.suffix(right.count / 2)).prefix(limit))
    return unsafe Engine.copy(crossed, to: output, limit: limit) ?? Engine.copy(joined, to: output, limit: limit) ?? 0
}
