internal import ConfigText

/// A key in a device profile, with its documentation and the property it refers to.
struct ProfileField: Sendable {
    let field: Field
    let set: @Sendable (ConfigValue, inout DeviceProfile) -> Void
    let value: @Sendable (DeviceProfile) -> ConfigValue

    init<Value: Sendable>(
        _ name: String,
        _ path: any (WritableKeyPath<DeviceProfile, Value> & Sendable),
        _ kind: Kind<Value>,
        _ text: String
    ) {
        self.field = Field(name, kind.shape, text)
        self.set = { value, profile in
            if let value = kind.read(value, "") { profile[keyPath: path] = value }
        }
        self.value = { kind.write($0[keyPath: path]) }
    }
}
