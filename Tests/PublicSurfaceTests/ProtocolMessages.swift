import CProtobufC
import RemotePINProto

/// The fields of all messages and the values of all enums, from the descriptors in the generated C.
enum ProtocolMessages {
    /// Requests, responses, and the signed bodies that these hold as bytes.
    private static var roots: [ProtobufCMessageDescriptor] {
        unsafe [
            remotepin__v1__request__descriptor, remotepin__v1__response__descriptor,
            remotepin__v1__register_body__descriptor, remotepin__v1__open_session_body__descriptor,
            remotepin__v1__instruct_body__descriptor, remotepin__v1__portal_request__descriptor,
            remotepin__v1__portal_response__descriptor,
        ]
    }
    /// The names of `ProtobufCType`, in its order.
    private static let types = [
        "int32", "sint32", "sfixed32", "int64", "sint64", "sfixed64", "uint32", "fixed32", "uint64", "fixed64", "float",
        "double", "bool", "enum", "string", "bytes", "message",
    ]

    static func lines() -> [String] {
        var parts: [String: [String]] = [:]
        let roots = unsafe self.roots
        for index in 0..<(unsafe roots.count) { unsafe self.add(roots[index], to: &parts) }
        return parts.sorted { $0.key < $1.key }.flatMap { [$0.key] + $0.value.map { "  \($0)" } }
    }

    private static func add(_ message: ProtobufCMessageDescriptor, to parts: inout [String: [String]]) {
        let name = "message \(unsafe self.text(message.name))"
        guard parts[name] == nil else { return }
        parts[name] = []
        for index in 0..<Int(unsafe message.n_fields) {
            let field = unsafe message.fields[index]
            let isRepeated = unsafe field.label == PROTOBUF_C_LABEL_REPEATED
            let isAlternative = unsafe field.flags & PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue != 0
            var type = self.types[Int(unsafe field.type.rawValue)]
            if let part = unsafe field.descriptor {
                if unsafe field.type == PROTOBUF_C_TYPE_MESSAGE {
                    let message = unsafe part.assumingMemoryBound(to: ProtobufCMessageDescriptor.self).pointee
                    type = unsafe self.text(message.name)
                    unsafe self.add(message, to: &parts)
                } else {
                    let list = unsafe part.assumingMemoryBound(to: ProtobufCEnumDescriptor.self).pointee
                    type = unsafe self.text(list.name)
                    parts["enum \(type)"] = (0..<Int(unsafe list.n_values)).map { index in
                        unsafe "\(list.values[index].value) \(self.text(list.values[index].name))"
                    }
                }
            }
            let words = [isRepeated ? "repeated" : nil, isAlternative ? "oneof" : nil, type].compactMap { $0 }
            parts[name]?.append(unsafe "\(field.id) \(self.text(field.name)) \(words.joined(separator: " "))")
        }
    }

    private static func text(_ name: UnsafePointer<CChar>) -> String {
        let text = unsafe String(cString: name)
        return text.hasPrefix("remotepin.v1.") ? String(text.dropFirst(13)) : text
    }
}
