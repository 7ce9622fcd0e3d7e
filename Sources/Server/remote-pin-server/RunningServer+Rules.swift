internal import RemotePINServer
internal import ServerSettings
internal import Transport

extension RunningServer {
    /// Creates the service rules from the settings.
    static func rules(_ settings: ServerSettings) -> ServiceRules {
        ServiceRules(
            attempts: settings.attemptPolicy,
            offersDeletionCode: settings[SettingTable.deletionCode],
            updates: UpdatePolicy(
                android: UpdatePolicy.Versions(
                    minimum: settings[SettingTable.androidMinimumVersion],
                    notify: settings[SettingTable.androidNotifyVersion]
                ),
                iOS: UpdatePolicy.Versions(
                    minimum: settings[SettingTable.iosMinimumVersion],
                    notify: settings[SettingTable.iosNotifyVersion]
                )
            ),
            sessionLifetime: settings[SettingTable.sessionLifetime],
            tokenLifetime: settings[SettingTable.tokenLifetime],
            unopenedLifetime: settings[SettingTable.unopenedLifetime],
            maxInFlight: TransportLimits().maxInFlight,
            sources: SourceLimits(settings)
        )
    }
}
