internal import Glibc

/// The replacement of this process's program by another one.
package enum OtherProgram {
    /// The path of a program of this name in the folder of the running program.
    package static func path(besideThisOne name: String) throws(FileError) -> String {
        let link = "/proc/self/exe"
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try SystemCall.retrying(link) { unsafe readlink(link, &buffer, buffer.count) }
        let own = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let slash = own.lastIndex(of: "/") else { throw .notFound(own) }
        return "\(own[..<slash])/\(name)"
    }

    /// Replaces this program with the one at `path`, with the same process id, environment and standard streams.
    ///
    /// - Returns: The reason, if the program cannot be started; on success this function does not return.
    package static func become(_ path: String, arguments: [String]) -> FileError {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        unsafe execv(path, &pointers)
        let code = errno
        while let pointer = unsafe pointers.popLast() { unsafe free(pointer) }
        return SystemCall.error(code, path)
    }
}
