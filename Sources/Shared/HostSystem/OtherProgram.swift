internal import Glibc

/// Replaces the program running in this process with another one.
package enum OtherProgram {
    /// Returns the path of a program with this name in the same folder as the running program.
    package static func path(besideThisOne name: String) throws(FileError) -> String {
        let link = "/proc/self/exe"
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try SystemCall.retrying(link) { unsafe readlink(link, &buffer, buffer.count) }
        let own = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let slash = own.lastIndex(of: "/") else { throw .notFound(own) }
        return "\(own[..<slash])/\(name)"
    }

    /// Replaces this program with the one at `path`.
    ///
    /// The process id, environment and standard streams stay the same.
    ///
    /// - Returns: The error if the program could not be started. Otherwise, this function does not return.
    package static func become(_ path: String, arguments: [String]) -> FileError {
        QueuedOutput.flushAll(within: StandardStreams.patience)
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        unsafe execv(path, &pointers)
        let code = errno
        while let pointer = unsafe pointers.popLast() { unsafe free(pointer) }
        return SystemCall.error(code, path)
    }
}
