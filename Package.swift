// swift-tools-version: 6.2
import PackageDescription

/// The compiler settings of every Swift target; no target may opt out.
let houseRules: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// The commit that `--version` reports.
///
/// It comes from the environment, so that a new commit alone rebuilds nothing.
let buildID = (Context.environment["REMOTE_PIN_BUILD_ID"] ?? "").filter {
    $0.isLetter || $0.isNumber || ".-+".contains($0)
}

// External libraries.
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

// Shared by client and server; depends on neither.
let shared: [Target] = [
    .systemLibrary(
        name: "COpenSSL",
        path: "Sources/Shared/COpenSSL",
        pkgConfig: "openssl",
        providers: [.apt(["libssl-dev"])]
    ),
    .systemLibrary(
        name: "CProtobufC",
        path: "Sources/Shared/CProtobufC",
        pkgConfig: "libprotobuf-c",
        providers: [.apt(["libprotobuf-c-dev"])]
    ),
    .target(name: "Vocabulary", path: "Sources/Shared/Vocabulary"),
    .target(
        name: "ConfigText",
        dependencies: [
            yams
        ],
        path: "Sources/Shared/ConfigText"
    ),
    .target(
        name: "CBuildID",
        path: "Sources/Shared/CBuildID",
        cSettings: buildID.isEmpty ? [] : [.define("REMOTE_PIN_BUILD_ID", to: "\"\(buildID)\"")]
    ),
    .target(name: "CHostSystem", path: "Sources/Shared/CHostSystem"),
    .target(
        name: "HostSystem",
        dependencies: [
            "CBuildID",
            "CHostSystem",
            "Vocabulary",
        ],
        path: "Sources/Shared/HostSystem"
    ),
    .target(
        name: "RemotePINProto",
        dependencies: [
            "CProtobufC"
        ],
        path: "Proto",
        exclude: ["remotepin", "generate.sh"],
        sources: ["generated"],
        publicHeadersPath: "generated"
    ),
    .target(
        name: "Secrets",
        dependencies: [
            "COpenSSL",
            crypto,
        ],
        path: "Sources/Shared/Secrets"
    ),
    .target(
        name: "ChildPrograms",
        dependencies: [
            "HostSystem",
            subprocess,
        ],
        path: "Sources/Shared/ChildPrograms"
    ),
    .target(
        name: "CurveArithmetic",
        dependencies: [
            "COpenSSL"
        ],
        path: "Sources/Shared/CurveArithmetic"
    ),
    .target(
        name: "Statements",
        dependencies: [
            "Secrets",
            "Vocabulary",
            crypto,
        ],
        path: "Sources/Shared/Statements"
    ),
    .target(
        name: "Wire",
        dependencies: [
            "CProtobufC",
            "RemotePINProto",
            "Secrets",
            "Vocabulary",
        ],
        path: "Sources/Shared/Wire"
    ),
    .target(
        name: "Transport",
        dependencies: [
            "COpenSSL",
            "HostSystem",
            "Secrets",
            "Vocabulary",
            "Wire",
            nioCore,
            nioPosix,
        ],
        path: "Sources/Shared/Transport"
    ),
    .target(
        name: "MetricsEndpoint",
        dependencies: [
            "HostSystem",
            "Vocabulary",
            coreMetrics,
            nioCore,
            nioHTTP1,
            nioPosix,
        ],
        path: "Sources/Shared/MetricsEndpoint"
    ),
    .target(
        name: "AdminProtocol",
        dependencies: [
            "Transport",
            "Vocabulary",
        ],
        path: "Sources/Shared/AdminProtocol"
    ),
    .target(
        name: "Evidence",
        dependencies: [
            "Vocabulary",
            asn1,
            crypto,
        ],
        path: "Sources/Shared/Evidence"
    ),
    // Where a lab's files lie, without the keys in them: production programs may link it.
    .target(
        name: "LabFiles",
        dependencies: [
            "ConfigText",
            "HostSystem",
            "Vocabulary",
            yams,
        ],
        path: "Sources/Shared/LabFiles"
    ),
    // The test authority with its private keys; ArchitectureTests keeps it out of the production programs.
    .target(
        name: "Lab",
        dependencies: [
            "Evidence",
            "HostSystem",
            "Vocabulary",
        ],
        path: "Sources/Shared/Lab"
    ),
]

let server: [Target] = [
    .systemLibrary(
        name: "CPostgreSQL",
        path: "Sources/Server/CPostgreSQL",
        pkgConfig: "libpq",
        providers: [.apt(["libpq-dev"])]
    ),
    .target(
        name: "PINPolicy",
        dependencies: [
            "Vocabulary"
        ],
        path: "Sources/Server/PINPolicy"
    ),
    .target(
        name: "AttestationVerifier",
        dependencies: [
            "Evidence",
            "Vocabulary",
            crypto,
            cryptoExtras,
        ],
        path: "Sources/Server/AttestationVerifier"
    ),
    .target(
        name: "Vault",
        dependencies: [
            "HostSystem",
            "Secrets",
            "Statements",
            "Vocabulary",
            metrics,
        ],
        path: "Sources/Server/Vault"
    ),
    .target(
        name: "AuditLog",
        dependencies: [
            "HostSystem",
            "Vault",
            "Vocabulary",
            crypto,
        ],
        path: "Sources/Server/AuditLog"
    ),
    .target(name: "CSQLiteSettings", path: "Sources/Server/CSQLiteSettings"),
    .target(
        name: "PreparedSQL",
        dependencies: [
            "CSQLiteSettings",
            grdb,
            grdbSQLite,
        ],
        path: "Sources/Server/PreparedSQL"
    ),
    .target(
        name: "WalletStore",
        dependencies: [
            "HostSystem",
            "PINPolicy",
            "PreparedSQL",
            "Secrets",
            "Statements",
            "Vocabulary",
            grdb,
            metrics,
        ],
        path: "Sources/Server/WalletStore"
    ),
    .target(
        name: "PostgreSQLClient",
        dependencies: [
            "CPostgreSQL"
        ],
        path: "Sources/Server/PostgreSQLClient"
    ),
    .target(
        name: "PostgreSQLStore",
        dependencies: [
            "HostSystem",
            "PINPolicy",
            "PostgreSQLClient",
            "Secrets",
            "Statements",
            "Vocabulary",
            "WalletStore",
            metrics,
        ],
        path: "Sources/Server/PostgreSQLStore"
    ),
    .target(
        name: "ServerSettings",
        dependencies: [
            "ConfigText",
            "HostSystem",
            "Vocabulary",
        ],
        path: "Sources/Server/ServerSettings"
    ),
    .target(
        name: "EventHooks",
        dependencies: [
            "ChildPrograms",
            "HostSystem",
            "Vocabulary",
            lifecycle,
            logging,
            metrics,
            nioCore,
            nioPosix,
            subprocess,
            systemPackage,
        ],
        path: "Sources/Server/EventHooks"
    ),
    .target(
        name: "Witness",
        dependencies: [
            "ChildPrograms",
            "HostSystem",
            lifecycle,
            logging,
            metrics,
            nioCore,
            nioPosix,
            subprocess,
            systemPackage,
        ],
        path: "Sources/Server/Witness"
    ),
    .target(
        name: "StoreMaintenance",
        dependencies: [
            "AuditLog",
            "HostSystem",
            "PINPolicy",
            "Secrets",
            "Vault",
            "Vocabulary",
            "WalletStore",
            crypto,
            lifecycle,
            logging,
        ],
        path: "Sources/Server/StoreMaintenance"
    ),
    .target(
        name: "BatchVerification",
        dependencies: [
            "CurveArithmetic",
            "Vocabulary",
        ],
        path: "Sources/Server/BatchVerification"
    ),
    .target(
        name: "RemotePINServer",
        dependencies: [
            "AttestationVerifier",
            "AuditLog",
            "BatchVerification",
            "Evidence",
            "HostSystem",
            "LogLines",
            "Secrets",
            "Statements",
            "Transport",
            "Vault",
            "Vocabulary",
            "WalletStore",
            "Wire",
            crypto,
            lifecycle,
            logging,
            metrics,
        ],
        path: "Sources/Server/RemotePINServer"
    ),
    .target(
        name: "ServerCommandLine",
        dependencies: [
            "AdminProtocol",
            "ConfigText",
            "HostSystem",
            "LabFiles",
            "Secrets",
            "ServerSettings",
            "Vocabulary",
            argumentParser,
        ],
        path: "Sources/Server/ServerCommandLine"
    ),
    .target(
        name: "Administration",
        dependencies: [
            "AdminProtocol",
            "AuditLog",
            "ConfigText",
            "HostSystem",
            "PINPolicy",
            "RemotePINServer",
            "Secrets",
            "ServerCommandLine",
            "ServerSettings",
            "StoreMaintenance",
            "Transport",
            "Vault",
            "Vocabulary",
            "WalletStore",
            "Wire",
            argumentParser,
            lifecycle,
            logging,
        ],
        path: "Sources/Server/Administration"
    ),
    .target(
        name: "StoreEpochs",
        dependencies: [
            "AuditLog",
            "HostSystem",
            "PINPolicy",
            "PostgreSQLStore",
            "ServerCommandLine",
            "StoreMaintenance",
            "Vault",
            "Vocabulary",
            "WalletStore",
        ],
        path: "Sources/Server/StoreEpochs"
    ),
    .executableTarget(
        name: "remote-pin-server",
        dependencies: [
            "Administration",
            "AdminProtocol",
            "AttestationVerifier",
            "AuditLog",
            "ChildPrograms",
            "EventHooks",
            "Evidence",
            "HostSystem",
            "LabFiles",
            "LogLines",
            "MetricsEndpoint",
            "PINPolicy",
            "PostgreSQLClient",
            "PostgreSQLStore",
            "RemotePINServer",
            "ServerSettings",
            "Statements",
            "StoreEpochs",
            "StoreMaintenance",
            "Telemetry",
            "Transport",
            "Vault",
            "Vocabulary",
            "WalletStore",
            "Witness",
            argumentParser,
            crypto,
            lifecycle,
            logging,
            metrics,
            nioPosix,
            unixSignals,
        ],
        path: "Sources/Server/remote-pin-server"
    ),
    // Makes labs; a program of its own, so that the server links no test authority.
    .executableTarget(
        name: "remote-pin-lab",
        dependencies: [
            "HostSystem",
            "Lab",
            "LabFiles",
            "ServerSettings",
            "StoreMaintenance",
            argumentParser,
        ],
        path: "Sources/Server/remote-pin-lab"
    ),
    .target(
        name: "Telemetry",
        dependencies: [
            "AttestationVerifier",
            "MetricsEndpoint",
            nioCore,
        ],
        path: "Sources/Server/Telemetry"
    ),
    .target(
        name: "LogLines",
        dependencies: [
            "HostSystem",
            "ServerSettings",
            logging,
        ],
        path: "Sources/Server/LogLines"
    ),
    // The only targets that link Hummingbird: what faces the web is a process of its own.
    .target(
        name: "DeletionPortal",
        dependencies: [
            "ConfigText",
            "HostSystem",
            "LogLines",
            "ServerSettings",
            "Transport",
            "Vocabulary",
            "Wire",
            crypto,
            httpTypes,
            hummingbird,
            hummingbirdCore,
            lifecycle,
            logging,
            metrics,
            mustache,
            nioCore,
            nioHTTP1,
            unixSignals,
        ],
        path: "Sources/Server/DeletionPortal"
    ),
    .executableTarget(
        name: "remote-pin-portal",
        dependencies: [
            "ConfigText",
            "DeletionPortal",
            "HostSystem",
            "LabFiles",
            "LogLines",
            "MetricsEndpoint",
            "ServerSettings",
            "Telemetry",
            argumentParser,
            logging,
        ],
        path: "Sources/Server/remote-pin-portal"
    ),
]

let client: [Target] = [
    .target(
        name: "DeviceInterface",
        dependencies: [
            "Secrets",
            "Vocabulary",
        ],
        path: "Sources/Client/Wallet/DeviceInterface"
    ),
    .target(
        name: "WalletFlows",
        dependencies: [
            "DeviceInterface",
            "HostSystem",
            "Secrets",
            "Vocabulary",
        ],
        path: "Sources/Client/Wallet/WalletFlows"
    ),
    .target(
        name: "WalletCore",
        dependencies: [
            "DeviceInterface",
            "HostSystem",
            "Secrets",
            "Statements",
            "Transport",
            "Vocabulary",
            "WalletFlows",
            "Wire",
        ],
        path: "Sources/Client/Wallet/WalletCore"
    ),
    .target(
        name: "SimulatedPhone",
        dependencies: [
            "ChildPrograms",
            "ConfigText",
            "DeviceInterface",
            "Evidence",
            "HostSystem",
            "Lab",
            "Secrets",
            "Vocabulary",
            "WalletCore",
            "Wire",
            nioCore,
            nioPosix,
            subprocess,
        ],
        path: "Sources/Client/Wallet/SimulatedPhone"
    ),
    .target(
        name: "Phone",
        dependencies: [
            "ConfigText",
            "DeviceInterface",
            "HostSystem",
            "LabFiles",
            "SimulatedPhone",
            "Vocabulary",
            "WalletCore",
            "WalletFlows",
        ],
        path: "Sources/Client/Wallet/Phone"
    ),
    .target(
        name: "TerminalApp",
        dependencies: [
            "DeviceInterface",
            "HostSystem",
            "Phone",
            "WalletCore",
            "WalletFlows",
        ],
        path: "Sources/Client/Wallet/TerminalApp"
    ),
    .target(
        name: "Scenarios",
        dependencies: [
            "AdminProtocol",
            "ConfigText",
            "DeviceInterface",
            "HostSystem",
            "Lab",
            "LabFiles",
            "Phone",
            "Secrets",
            "SimulatedPhone",
            "TerminalApp",
            "Transport",
            "Vocabulary",
            "WalletCore",
            "WalletFlows",
            "Wire",
            mustache,
            yams,
        ],
        path: "Sources/Client/Wallet/Scenarios"
    ),
    .executableTarget(
        name: "wallet",
        dependencies: [
            "ConfigText",
            "DeviceInterface",
            "HostSystem",
            "Phone",
            "Scenarios",
            "SimulatedPhone",
            "TerminalApp",
            "Vocabulary",
            "WalletCore",
            "WalletFlows",
            argumentParser,
            unixSignals,
        ],
        path: "Sources/Client/Wallet/wallet"
    ),
    .target(
        name: "HistoryChecker",
        dependencies: [
            "Vocabulary"
        ],
        path: "Sources/Client/Load/HistoryChecker"
    ),
    .target(
        name: "LoadPlan",
        dependencies: [
            "ConfigText"
        ],
        path: "Sources/Client/Load/LoadPlan"
    ),
    .target(
        name: "LoadReport",
        dependencies: [
            "ConfigText",
            histogram,
            mustache,
        ],
        path: "Sources/Client/Load/LoadReport"
    ),
    // Variable-time signing, which leaks the key; ArchitectureTests keeps it out of every wallet.
    .target(
        name: "FastSigning",
        dependencies: [
            "CurveArithmetic",
            "Secrets",
            "Statements",
            "Vocabulary",
        ],
        path: "Sources/Client/Load/FastSigning"
    ),
    .target(
        name: "LoadFleet",
        dependencies: [
            "ConfigText",
            "Evidence",
            "FastSigning",
            "HistoryChecker",
            "HostSystem",
            "Lab",
            "LabFiles",
            "Secrets",
            "Statements",
            "Transport",
            "Vocabulary",
            "Wire",
        ],
        path: "Sources/Client/Load/LoadFleet"
    ),
    .target(
        name: "LoadEngine",
        dependencies: [
            "AdminProtocol",
            "ChildPrograms",
            "ConfigText",
            "HistoryChecker",
            "HostSystem",
            "Lab",
            "LabFiles",
            "LoadFleet",
            "LoadPlan",
            "LoadReport",
            "Secrets",
            "Statements",
            "Transport",
            "Vocabulary",
            "Wire",
            subprocess,
        ],
        path: "Sources/Client/Load/LoadEngine"
    ),
    .target(
        name: "LoadFlood",
        dependencies: [
            nioCore,
            nioPosix,
        ],
        path: "Sources/Client/Load/LoadFlood"
    ),
    .executableTarget(
        name: "pin-load",
        dependencies: [
            "ConfigText",
            "HostSystem",
            "LabFiles",
            "LoadEngine",
            "LoadFleet",
            "LoadFlood",
            "LoadPlan",
            "LoadReport",
            "MetricsEndpoint",
            "Transport",
            "Vocabulary",
            "Wire",
            argumentParser,
            coreMetrics,
        ],
        path: "Sources/Client/Load/pin-load"
    ),
]

// One test target for each target under test, and those that test the whole.
let tests: [Target] = [
    .target(
        name: "TestSupport",
        dependencies: [
            "CurveArithmetic",
            "DeviceInterface",
            "HostSystem",
            "Lab",
            "LabFiles",
            "Secrets",
            "SimulatedPhone",
            "Statements",
            "Transport",
            "Vocabulary",
            "Wire",
            nioCore,
            nioPosix,
        ],
        path: "Tests/TestSupport"
    ),
    .testTarget(
        name: "VocabularyTests",
        dependencies: [
            "Vocabulary"
        ]
    ),
    .testTarget(
        name: "HostSystemTests",
        dependencies: [
            "HostSystem",
            "TestSupport",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "SecretsTests",
        dependencies: [
            "Secrets",
            crypto,
        ]
    ),
    .testTarget(
        name: "BatchVerificationTests",
        dependencies: [
            "BatchVerification",
            "COpenSSL",
            "CurveArithmetic",
            "TestSupport",
            "Vocabulary",
            crypto,
        ]
    ),
    .testTarget(
        name: "FastSigningTests",
        dependencies: [
            "BatchVerification",
            "FastSigning",
            "Secrets",
            "Statements",
            "TestSupport",
            "Vocabulary",
            crypto,
        ]
    ),
    .testTarget(
        name: "StatementsTests",
        dependencies: [
            "BatchVerification",
            "Secrets",
            "Statements",
            "TestSupport",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "WireTests",
        dependencies: [
            "RemotePINProto",
            "Secrets",
            "TestSupport",
            "Vocabulary",
            "Wire",
        ]
    ),
    .testTarget(
        name: "TransportTests",
        dependencies: [
            "COpenSSL",
            "Lab",
            "TestSupport",
            "Transport",
            "Vocabulary",
            "Wire",
            nioCore,
            nioEmbedded,
            nioPosix,
        ]
    ),
    .testTarget(
        name: "EvidenceTests",
        dependencies: [
            "Evidence",
            "TestSupport",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "LabTests",
        dependencies: [
            "Evidence",
            "HostSystem",
            "Lab",
            "LabFiles",
            "TestSupport",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "PINPolicyTests",
        dependencies: [
            "PINPolicy",
            "TestSupport",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "AttestationVerifierTests",
        dependencies: [
            "AttestationVerifier",
            "Evidence",
            "Lab",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "VaultTests",
        dependencies: [
            "HostSystem",
            "Secrets",
            "Vault",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "AuditLogTests",
        dependencies: [
            "AuditLog",
            "HostSystem",
            "TestSupport",
            "Vault",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "EventHooksTests",
        dependencies: [
            "ChildPrograms",
            "EventHooks",
            "MetricsEndpoint",
            "Telemetry",
            "TestSupport",
            "Vocabulary",
            logging,
            nioCore,
            nioPosix,
        ]
    ),
    .testTarget(
        name: "WitnessTests",
        dependencies: [
            "ChildPrograms",
            "MetricsEndpoint",
            "Telemetry",
            "TestSupport",
            "Witness",
            logging,
            nioCore,
            nioPosix,
        ]
    ),
    .testTarget(
        name: "WalletStoreTests",
        dependencies: [
            "HostSystem",
            "PINPolicy",
            "PostgreSQLClient",
            "PostgreSQLStore",
            "PreparedSQL",
            "Secrets",
            "Statements",
            "TestSupport",
            "Vocabulary",
            "WalletStore",
            grdb,
            metricsTestKit,
        ]
    ),
    .testTarget(
        name: "ServerSettingsTests",
        dependencies: [
            "ConfigText",
            "ServerSettings",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "TelemetryTests",
        dependencies: [
            "HostSystem",
            "MetricsEndpoint",
            "Telemetry",
            "TestSupport",
            nioCore,
            nioPosix,
        ]
    ),
    .testTarget(
        name: "MetricsEndpointTests",
        dependencies: [
            "MetricsEndpoint",
            "TestSupport",
            coreMetrics,
            nioCore,
            nioPosix,
        ]
    ),
    .testTarget(
        name: "DeletionPortalTests",
        dependencies: [
            "DeletionPortal",
            "ServerSettings",
            "TestSupport",
            "Transport",
            "Vocabulary",
            httpTypes,
            hummingbird,
            lifecycle,
            logging,
            nioCore,
        ]
    ),
    // A server in the test's process, for the tests of the server's targets.
    .target(
        name: "ServerTestSupport",
        dependencies: [
            "Administration",
            "AdminProtocol",
            "AttestationVerifier",
            "AuditLog",
            "HostSystem",
            "Lab",
            "MetricsEndpoint",
            "PINPolicy",
            "RemotePINServer",
            "SimulatedPhone",
            "Statements",
            "StoreMaintenance",
            "Telemetry",
            "TestSupport",
            "Transport",
            "Vault",
            "Vocabulary",
            "WalletStore",
            logging,
        ],
        path: "Tests/ServerTestSupport"
    ),
    .testTarget(
        name: "AdministrationTests",
        dependencies: [
            "Administration",
            "AdminProtocol",
            "AuditLog",
            "HostSystem",
            "RemotePINServer",
            "ServerTestSupport",
            "TestSupport",
            "Transport",
            "Vocabulary",
            "WalletStore",
        ]
    ),
    .testTarget(
        name: "StoreMaintenanceTests",
        dependencies: [
            "Administration",
            "AdminProtocol",
            "AuditLog",
            "HostSystem",
            "PINPolicy",
            "PreparedSQL",
            "RemotePINServer",
            "Secrets",
            "ServerTestSupport",
            "SimulatedPhone",
            "StoreMaintenance",
            "TestSupport",
            "Transport",
            "Vault",
            "Vocabulary",
            "WalletStore",
            "Wire",
            logging,
        ]
    ),
    .testTarget(
        name: "RemotePINServerTests",
        dependencies: [
            "Administration",
            "AdminProtocol",
            "AttestationVerifier",
            "AuditLog",
            "BatchVerification",
            "DeviceInterface",
            "Evidence",
            "HostSystem",
            "Lab",
            "MetricsEndpoint",
            "RemotePINServer",
            "Secrets",
            "ServerTestSupport",
            "SimulatedPhone",
            "Statements",
            "TestSupport",
            "Transport",
            "Vault",
            "Vocabulary",
            "WalletStore",
            "Wire",
            logging,
        ]
    ),
    .testTarget(
        name: "WalletFlowsTests",
        dependencies: [
            "DeviceInterface",
            "TestSupport",
            "Vocabulary",
            "WalletFlows",
        ]
    ),
    .testTarget(
        name: "SimulatedPhoneTests",
        dependencies: [
            "AttestationVerifier",
            "ConfigText",
            "DeviceInterface",
            "Evidence",
            "HostSystem",
            "Lab",
            "Secrets",
            "SimulatedPhone",
            "TestSupport",
            "Transport",
            "Vocabulary",
            "WalletCore",
            "Wire",
            crypto,
        ]
    ),
    .testTarget(
        name: "WalletCoreTests",
        dependencies: [
            "DeviceInterface",
            "Lab",
            "Secrets",
            "SimulatedPhone",
            "Statements",
            "TestSupport",
            "Vocabulary",
            "WalletCore",
            "WalletFlows",
            "Wire",
        ]
    ),
    .testTarget(
        name: "TerminalAppTests",
        dependencies: [
            "DeviceInterface",
            "HostSystem",
            "TerminalApp",
            "TestSupport",
            "Vocabulary",
            "WalletFlows",
        ]
    ),
    .testTarget(
        name: "ScenariosTests",
        dependencies: [
            "ConfigText",
            "HostSystem",
            "LabFiles",
            "remote-pin-lab",
            "remote-pin-server",
            "Scenarios",
            "ServerSettings",
            "TerminalApp",
            "TestSupport",
            "WalletFlows",
            yams,
        ]
    ),
    .testTarget(
        name: "HistoryCheckerTests",
        dependencies: [
            "HistoryChecker",
            "TestSupport",
            "Vocabulary",
        ]
    ),
    .testTarget(
        name: "LoadPlanTests",
        dependencies: [
            "LoadPlan",
            "TestSupport",
        ]
    ),
    .testTarget(
        name: "LoadReportTests",
        dependencies: [
            "LoadReport",
            "pin-load",
            "TestSupport",
            argumentParser,
            histogram,
        ],
        exclude: ["Goldens"]
    ),
    .testTarget(
        name: "LoadFleetTests",
        dependencies: [
            "Evidence",
            "FastSigning",
            "HistoryChecker",
            "HostSystem",
            "LoadFleet",
            "pin-load",
            "remote-pin-lab",
            "remote-pin-server",
            "Secrets",
            "Statements",
            "TestSupport",
            "Transport",
            "Vocabulary",
            "Wire",
        ]
    ),
    .testTarget(
        name: "LoadFloodTests",
        dependencies: [
            "Lab",
            "LoadFlood",
            "pin-load",
            "remote-pin-lab",
            "remote-pin-server",
            "TestSupport",
            "Vocabulary",
            "Wire",
        ]
    ),
    .testTarget(
        name: "LoadEngineTests",
        dependencies: [
            "FastSigning",
            "HostSystem",
            "Lab",
            "LabFiles",
            "LoadEngine",
            "LoadFleet",
            "LoadPlan",
            "LoadReport",
            "pin-load",
            "remote-pin-lab",
            "remote-pin-server",
            "TestSupport",
            "Transport",
            "Vocabulary",
            "Wire",
        ]
    ),
    // Creates the scenario files that `explore` writes. It is a separate target, so that a test can use it.
    .target(
        name: "PlayedCounterexamples",
        path: "Tests/PlayedCounterexamples"
    ),
    .testTarget(
        name: "EndToEndTests",
        dependencies: [
            "Evidence",
            "HostSystem",
            "Lab",
            "LabFiles",
            "PlayedCounterexamples",
            "remote-pin-lab",
            "remote-pin-portal",
            "remote-pin-server",
            "Secrets",
            "SimulatedPhone",
            "Statements",
            "TestSupport",
            "Transport",
            "Vocabulary",
            "wallet",
            "Wire",
            nioCore,
            nioPosix,
        ]
    ),
    .testTarget(name: "ArchitectureTests"),
]

/// The archive of libFuzzer without its main function, for `make fuzz`; nil in other builds.
let fuzzer = Context.environment["REMOTE_PIN_FUZZER"]

/// Programs of `make bench`, `make bench-attestation`, `make bench-receipts`, `make explore` and `make simulate`, left
/// out of a default build.
let benchmarks: [Target] =
    Context.environment["REMOTE_PIN_BENCHMARKS"] == nil
    ? []
    : [
        .executableTarget(
            name: "attestation-bench",
            dependencies: [
                "AttestationVerifier",
                "Evidence",
                "Lab",
                "Vocabulary",
                crypto,
            ],
            path: "Benchmarks/Attestation"
        ),
        .executableTarget(
            name: "handshake-bench",
            dependencies: [
                "LoadFleet",
                "LoadReport",
                "Transport",
            ],
            path: "Benchmarks/Handshakes"
        ),
        .executableTarget(
            name: "receipt-bench",
            dependencies: [
                "PINPolicy",
                "Secrets",
                "Statements",
                "Vocabulary",
                "WalletStore",
                "Wire",
            ],
            path: "Benchmarks/Receipts"
        ),
        .executableTarget(
            name: "explore",
            dependencies: [
                "Administration",
                "AttestationVerifier",
                "AuditLog",
                "EmbeddedServer",
                "HostSystem",
                "PINPolicy",
                "PlayedCounterexamples",
                "PostgreSQLStore",
                "RemotePINServer",
                "Secrets",
                "ServerCommandLine",
                "Statements",
                "StoreMaintenance",
                "Vault",
                "Vocabulary",
                "WalletStore",
                "Wire",
                grdb,
                logging,
                nioEmbedded,
            ],
            path: "Tests/Explore"
        ),
        .executableTarget(
            name: "simulate",
            dependencies: [
                "Administration",
                "AttestationVerifier",
                "AuditLog",
                "DeviceInterface",
                "HistoryChecker",
                "HostSystem",
                "Lab",
                "PINPolicy",
                "PostgreSQLClient",
                "PostgreSQLStore",
                "RemotePINServer",
                "Secrets",
                "ServerCommandLine",
                "SimulatedPhone",
                "StoreEpochs",
                "StoreMaintenance",
                "Transport",
                "Vault",
                "Vocabulary",
                "WalletCore",
                "WalletFlows",
                "WalletStore",
                "Wire",
                grdbSQLite,
                logging,
                nioCore,
                nioEmbedded,
            ],
            path: "Tests/Simulate"
        ),
    ]

/// The production server's connection loop without a network, for `explore` and `fuzz`.
///
/// It sees what the server hides from its users, as tests do, so a default build leaves it out.
let embeddedServer: [Target] =
    benchmarks.isEmpty && fuzzer == nil
    ? []
    : [
        .target(
            name: "EmbeddedServer",
            dependencies: [
                "RemotePINServer",
                "Transport",
                "Vocabulary",
                "Wire",
                nioCore,
                nioEmbedded,
            ],
            path: "Tests/EmbeddedServer"
        )
    ]

/// The program of `make fuzz`.
let fuzzing: [Target] =
    fuzzer.map { archive in
        [
            .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
            .executableTarget(
                name: "fuzz",
                dependencies: [
                    "Administration",
                    "AttestationVerifier",
                    "AuditLog",
                    "CFuzzer",
                    "ConfigText",
                    "DeletionPortal",
                    "EmbeddedServer",
                    "Evidence",
                    "HostSystem",
                    "Lab",
                    "PINPolicy",
                    "RemotePINServer",
                    "Scenarios",
                    "Secrets",
                    "ServerSettings",
                    "SimulatedPhone",
                    "Statements",
                    "StoreMaintenance",
                    "TestSupport",
                    "Transport",
                    "Vault",
                    "Vocabulary",
                    "WalletStore",
                    "Wire",
                    crypto,
                    grdb,
                    httpTypes,
                    logging,
                    metrics,
                    nioCore,
                ],
                path: "Tests/Fuzz/Program",
                linkerSettings: [.unsafeFlags(["-Xlinker", archive]), .linkedLibrary("stdc++")]
            ),
        ]
    } ?? []

let package = Package(
    name: "remote-pin",
    products: [
        .executable(name: "remote-pin-server", targets: ["remote-pin-server"]),
        .executable(name: "remote-pin-portal", targets: ["remote-pin-portal"]),
        .executable(name: "remote-pin-lab", targets: ["remote-pin-lab"]),
        .executable(name: "wallet", targets: ["wallet"]),
        .executable(name: "pin-load", targets: ["pin-load"]),
        .library(name: "WalletCore", targets: ["WalletCore"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: shared + server + client + tests + benchmarks + embeddedServer + fuzzing,
    swiftLanguageModes: [.v6]
)

for target in package.targets where [.regular, .test, .executable].contains(target.type) {
    target.swiftSettings = houseRules
}
// A debug build has the access that tests have; the search itself needs the optimizer.
for target in benchmarks where ["explore", "simulate"].contains(target.name) {
    target.swiftSettings = houseRules + [.unsafeFlags(["-O"])]
}
// libFuzzer is guided by the edges of the code under test, not by those of the tests or of other packages. The address
// sanitizer is named again, because only the last of these options counts.
if fuzzer != nil {
    for target in shared + server + client where target.type == .regular {
        target.swiftSettings = houseRules + [.unsafeFlags(["-sanitize=address,fuzzer"])]
    }
}
