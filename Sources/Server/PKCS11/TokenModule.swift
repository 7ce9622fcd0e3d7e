internal import CPKCS11
internal import Glibc
package import Secrets
internal import Synchronization

/// A loaded PKCS#11 module: the functions that `remote-pin-keys` calls, each with its return value as an error.
///
/// The function list is copied once and never changes, and the module locks for itself (`CKF_OS_LOCKING_OK`), so
/// threads may share this object. The library stays loaded: its exit handlers crash beside those of libcrypto
/// (openssl#22508), so the process must end with `_exit` (``HostSystem/ProcessEnd``).
@safe package final class TokenModule: @unchecked Sendable {
    /// A token in a slot.
    package struct Token: Hashable, Sendable {
        package let slot: UInt
        package let label: String
        package let serial: String
    }

    private struct Calls {
        var last: UInt64 = 0
        var begun: [UInt64: ContinuousClock.Instant] = [:]
    }

    private let functions: CK_FUNCTION_LIST
    private let calls = Mutex(Calls())

    /// Loads the library at `path`; throws the linker's message.
    package init(loading path: String) throws(TokenLoadError) {
        guard let library = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL),
            let entry = unsafe dlsym(library, "C_GetFunctionList")
        else { throw TokenLoadError(reason: unsafe dlerror().map { unsafe String(cString: $0) } ?? path) }
        let list = unsafe unsafeBitCast(
            entry,
            to: (@convention(c) (UnsafeMutablePointer<CK_FUNCTION_LIST_PTR?>) -> CK_RV).self
        )
        var functions: CK_FUNCTION_LIST_PTR?
        guard unsafe list(&functions) == CKR_OK, let functions = unsafe functions else {
            throw TokenLoadError(reason: "C_GetFunctionList failed")
        }
        unsafe self.functions = functions.pointee
    }

    /// The time for which the longest call of all threads has been running.
    package var longestCall: Duration {
        let begun = self.calls.withLock { $0.begun.values.min() }
        return begun.map { .now - $0 } ?? .zero
    }

    package func initialize() throws(TokenError) {
        var arguments = unsafe CK_C_INITIALIZE_ARGS()
        unsafe arguments.flags = CKF_OS_LOCKING_OK
        try self.call("C_Initialize") { unsafe $0.C_Initialize(&arguments) }
    }

    /// Ends all sessions; a failure changes nothing for the caller, who initializes again or exits.
    package func finalize() { try? self.call("C_Finalize") { $0.C_Finalize(nil) } }

    /// Returns the tokens that are present, and the failures of those that cannot be read.
    package func tokens() throws(TokenError) -> (present: [Token], failures: [TokenError]) {
        var (slots, count) = ([CK_SLOT_ID](repeating: 0, count: 256), UInt(256))
        try self.call("C_GetSlotList") { unsafe $0.C_GetSlotList(1, &slots, &count) }
        var (tokens, failures) = ([Token](), [TokenError]())
        for slot in slots.prefix(Int(count)) {
            var info = CK_TOKEN_INFO()
            do throws(TokenError) {
                try self.call("C_GetTokenInfo") { unsafe $0.C_GetTokenInfo(slot, &info) }
                tokens.append(Token(slot: slot, label: Self.text(info.label), serial: Self.text(info.serialNumber)))
            } catch {
                failures.append(error)
            }
        }
        return (tokens, failures)
    }

    /// Returns whether the token computes HMAC-SHA256.
    package func hasHMAC(_ slot: UInt) throws(TokenError) -> Bool {
        var info = CK_MECHANISM_INFO()
        do throws(TokenError) {
            try self.call("C_GetMechanismInfo") { unsafe $0.C_GetMechanismInfo(slot, CKM_SHA256_HMAC, &info) }
        } catch  where error.code == CKR_MECHANISM_INVALID {
            return false
        }
        return info.flags & CKF_SIGN != 0
    }

    /// Opens sessions, as many as the token allows if that is fewer; throws if it allows none.
    package func openSessions(_ count: Int, _ slot: UInt, canWrite: Bool) throws(TokenError) -> [UInt] {
        var sessions: [UInt] = []
        let flags = CKF_SERIAL_SESSION | (canWrite ? CKF_RW_SESSION : 0)
        while sessions.count < count {
            var session: CK_SESSION_HANDLE = 0
            do throws(TokenError) {
                try self.call("C_OpenSession") { unsafe $0.C_OpenSession(slot, flags, nil, nil, &session) }
            } catch {
                guard error.reaction == .serveWithFewer, !sessions.isEmpty else { throw error }
                break
            }
            sessions.append(session)
        }
        return sessions
    }

    /// Logs in all sessions of this process with the token's user PIN.
    ///
    /// If a session is logged in already, the module does not check the PIN.
    package func login(_ session: UInt, _ pin: borrowing SecretBytes) throws(TokenError) {
        var bytes = pin.exposedBytes()
        defer { bytes.wipe() }
        let count = UInt(bytes.count)
        do throws(TokenError) {
            try self.call("C_Login") { unsafe $0.C_Login(session, CKU_USER, &bytes, count) }
        } catch  where error.code == CKR_USER_ALREADY_LOGGED_IN {
        }
    }

    /// Returns HMAC-SHA256 of a message under a key of the token.
    package func code(of message: [UInt8], key: UInt, in session: UInt) throws(TokenError) -> [UInt8] {
        var mechanism = unsafe CK_MECHANISM(mechanism: CKM_SHA256_HMAC, pParameter: nil, ulParameterLen: 0)
        try self.call("C_SignInit") { unsafe $0.C_SignInit(session, &mechanism, key) }
        var (bytes, code, count) = (message, [UInt8](repeating: 0, count: 32), UInt(32))
        let length = UInt(message.count)
        try self.call("C_Sign") { unsafe $0.C_Sign(session, &bytes, length, &code, &count) }
        guard count == 32 else { throw TokenError(function: "C_Sign", code: CKR_GENERAL_ERROR) }
        return code
    }

    /// Returns the handles of all secret keys, or of those with this label.
    package func secretKeys(_ label: String?, in session: UInt) throws(TokenError) -> [UInt] {
        var wanted = [(CKA_CLASS, KeyTemplate.bytes(CKO_SECRET_KEY))]
        if let label { wanted.append((CKA_LABEL, Array(label.utf8))) }
        try unsafe self.call("C_FindObjectsInit", wanted) { unsafe $0.C_FindObjectsInit(session, $1, $2) }
        defer { try? self.call("C_FindObjectsFinal") { $0.C_FindObjectsFinal(session) } }
        var (found, part, count) = ([UInt](), [CK_OBJECT_HANDLE](repeating: 0, count: 64), UInt(0))
        repeat {
            try self.call("C_FindObjects") { unsafe $0.C_FindObjects(session, &part, 64, &count) }
            found += part.prefix(Int(count))
        } while count > 0
        return found
    }

    /// Returns an attribute of a key, or nil if the module does not have it.
    package func attribute(_ type: UInt, of key: UInt, in session: UInt) throws(TokenError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 512)
        var length = UInt(bytes.count)
        do throws(TokenError) {
            try self.call("C_GetAttributeValue") { functions in
                unsafe bytes.withUnsafeMutableBytes { buffer in
                    var one = unsafe CK_ATTRIBUTE(type: type, pValue: buffer.baseAddress, ulValueLen: length)
                    defer { length = unsafe one.ulValueLen }
                    return unsafe functions.C_GetAttributeValue(session, key, &one, 1)
                }
            }
        } catch  where error.code == CKR_ATTRIBUTE_TYPE_INVALID {
            return nil
        }
        return length <= bytes.count ? Array(bytes.prefix(Int(length))) : nil
    }

    /// Makes a random key in the token.
    ///
    /// - Returns: Whether the token limits the key to HMAC-SHA256.
    package func makeKey(_ label: String, in session: UInt) throws(TokenError) -> Bool {
        var (mechanism, key) = (unsafe CK_MECHANISM(), CK_OBJECT_HANDLE(0))
        unsafe mechanism.mechanism = CKM_GENERIC_SECRET_KEY_GEN
        let length = (CKA_VALUE_LEN, KeyTemplate.bytes(KeyTemplate.byteCount))
        return try self.limited(label, length) { template throws(TokenError) in
            try unsafe self.call("C_GenerateKey", template) {
                unsafe $0.C_GenerateKey(session, &mechanism, $1, $2, &key)
            }
        }
    }

    /// Stores a key in the token, which has been outside from then on.
    ///
    /// - Returns: Whether the token limits the key to HMAC-SHA256.
    package func storeKey(
        _ value: borrowing SecretBytes,
        _ label: String,
        in session: UInt
    ) throws(TokenError) -> Bool {
        var (bytes, key) = (value.exposedBytes(), CK_OBJECT_HANDLE(0))
        defer { bytes.wipe() }
        return try self.limited(label, (CKA_VALUE, bytes)) { template throws(TokenError) in
            try unsafe self.call("C_CreateObject", template) { unsafe $0.C_CreateObject(session, $1, $2, &key) }
        }
    }

    /// Calls `make` with the template of a key, and again without the limit to one mechanism if the token knows none.
    private func limited(
        _ label: String,
        _ own: (UInt, [UInt8]),
        _ make: ([(type: UInt, value: [UInt8])]) throws(TokenError) -> Void
    ) throws(TokenError) -> Bool {
        let template =
            KeyTemplate.attributes.map { (type: $0.type, value: $0.value) }
            + [(type: CKA_LABEL, value: Array(label.utf8)), (type: own.0, value: own.1)]
        do throws(TokenError) {
            try make(template + [(type: CKA_ALLOWED_MECHANISMS, value: KeyTemplate.bytes(CKM_SHA256_HMAC))])
            return true
        } catch  where error.code == CKR_ATTRIBUTE_TYPE_INVALID {
            try make(template)
            return false
        }
    }

    /// Calls a function of the module and throws its return value unless that is `CKR_OK`.
    private func call(_ name: String, _ body: (borrowing CK_FUNCTION_LIST) -> CK_RV) throws(TokenError) {
        let number = self.calls.withLock { calls in
            calls.last += 1
            calls.begun[calls.last] = .now
            return calls.last
        }
        let code = body(self.functions)
        self.calls.withLock { $0.begun[number] = nil }
        guard code == CKR_OK else { throw TokenError(function: name, code: code) }
    }

    /// Calls a function that takes a template of attributes.
    private func call(
        _ name: String,
        _ template: [(type: UInt, value: [UInt8])],
        _ body: (borrowing CK_FUNCTION_LIST, UnsafeMutablePointer<CK_ATTRIBUTE>?, UInt) -> CK_RV
    ) throws(TokenError) {
        // One buffer for all values, which may include a key.
        var bytes = template.flatMap(\.value)
        defer { bytes.wipe() }
        try self.call(name) { functions in
            unsafe bytes.withUnsafeMutableBytes { buffer in
                var (attributes, place) = (unsafe [CK_ATTRIBUTE](), 0)
                for (type, value) in template {
                    let start = unsafe buffer.baseAddress?.advanced(by: place)
                    unsafe attributes.append(CK_ATTRIBUTE(type: type, pValue: start, ulValueLen: UInt(value.count)))
                    place += value.count
                }
                return unsafe attributes.withUnsafeMutableBufferPointer {
                    unsafe body(functions, $0.baseAddress, UInt($0.count))
                }
            }
        }
    }

    /// Reads a fixed-size text that is padded with spaces.
    private static func text(_ characters: some Any) -> String {
        let bytes = unsafe withUnsafeBytes(of: characters) { unsafe Array($0) }
        return String(decoding: bytes.reversed().drop { $0 == UInt8(ascii: " ") }.reversed(), as: UTF8.self)
    }
}
