// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is held to the same rules; a target may not opt out.
let houseRules: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// What `--version` says of the commit: from the environment, so that a commit alone makes nobody build anything again.
let buildID = (Context.environment["REMOTE_PIN_BUILD_ID"] ?? "").filter {
    $0.isLetter || $0.isNumber || ".-+".contains($0)
}

// Libraries from outside, each named once.
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
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

// What both sides of the boundary share; depends on neither of them.
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
    .target(name: "Spelling", dependencies: [yams], path: "Sources/Shared/Spelling"),
    .target(
        name: "CBuildID",
        path: "Sources/Shared/CBuildID",
        cSettings: buildID.isEmpty ? [] : [.define("REMOTE_PIN_BUILD_ID", to: "\"\(buildID)\"")]
    ),
    .target(name: "CHostSystem", path: "Sources/Shared/CHostSystem"),
    .target(
        name: "HostSystem",
        dependencies: ["CBuildID", "CHostSystem", "Vocabulary"],
        path: "Sources/Shared/HostSystem"
    ),
    .target(
        name: "RemotePINProto",
        dependencies: ["CProtobufC"],
        path: "Proto",
        exclude: ["remotepin", "generate.sh"],
        sources: ["generated"],
        publicHeadersPath: "generated"
    ),
    .target(name: "Secrets", dependencies: ["COpenSSL", crypto], path: "Sources/Shared/Secrets"),
    .target(
        name: "JointVerification",
        dependencies: ["COpenSSL", "Secrets", "Vocabulary"],
        path: "Sources/Shared/JointVerification"
    ),
    .target(
        name: "Statements",
        dependencies: ["JointVerification", "Secrets", "Vocabulary", crypto],
        path: "Sources/Shared/Statements"
    ),
    .target(
        name: "Wire",
        dependencies: ["CProtobufC", "RemotePINProto", "Secrets", "Vocabulary"],
        path: "Sources/Shared/Wire"
    ),
    .target(
        name: "Transport",
        dependencies: ["COpenSSL", "HostSystem", "Secrets", "Vocabulary", "Wire", nioCore, nioPosix],
        path: "Sources/Shared/Transport"
    ),
    .target(name: "Evidence", dependencies: ["Vocabulary", asn1, crypto], path: "Sources/Shared/Evidence"),
    .target(
        name: "Lab",
        dependencies: ["Evidence", "HostSystem", "Vocabulary", asn1, crypto, yams],
        path: "Sources/Shared/Lab"
    ),
]

let server: [Target] = [
    .target(name: "PINPolicy", dependencies: ["Vocabulary"], path: "Sources/Server/PINPolicy"),
    .target(
        name: "AttestationVerifier",
        dependencies: ["Evidence", "Vocabulary", crypto, cryptoExtras],
        path: "Sources/Server/AttestationVerifier"
    ),
    .target(
        name: "Vault",
        dependencies: ["Secrets", "HostSystem", "Vocabulary", crypto, metrics],
        path: "Sources/Server/Vault"
    ),
    .target(
        name: "AuditLog",
        dependencies: ["HostSystem", "Vault", "Vocabulary", crypto],
        path: "Sources/Server/AuditLog"
    ),
    .target(name: "PreparedSQL", dependencies: [grdb, grdbSQLite], path: "Sources/Server/PreparedSQL"),
    .target(
        name: "WalletStore",
        dependencies: ["PINPolicy", "PreparedSQL", "Secrets", "HostSystem", "Vocabulary", grdb, metrics],
        path: "Sources/Server/WalletStore"
    ),
    .target(
        name: "ServerSettings",
        dependencies: ["AttestationVerifier", "HostSystem", "Spelling", "Vocabulary", yams],
        path: "Sources/Server/ServerSettings"
    ),
    .target(
        name: "EventHooks",
        dependencies: [
            "HostSystem", "Vocabulary", lifecycle, logging, metrics, nioCore, nioPosix, subprocess, systemPackage,
        ],
        path: "Sources/Server/EventHooks"
    ),
    .target(
        name: "RemotePINServer",
        dependencies: [
            "AttestationVerifier", "AuditLog", "Evidence", "JointVerification", "LogLines", "PINPolicy", "Secrets",
            "Statements",
            "HostSystem", "Transport", "Vault", "Vocabulary", "WalletStore", "Wire", crypto, lifecycle, logging,
            metrics, nioCore,
            nioPosix,
        ],
        path: "Sources/Server/RemotePINServer"
    ),
    .executableTarget(
        name: "remote-pin-server",
        dependencies: [
            "AttestationVerifier", "AuditLog", "EventHooks", "Evidence", "Lab", "PINPolicy", "RemotePINServer",
            "Secrets",
            "ServerSettings",
            "HostSystem", "LogLines", "ServerObservation", "Spelling", "Transport", "Vault", "Vocabulary",
            "WalletStore", "Wire",
            argumentParser,
            lifecycle, logging, metrics,
            nioCore,
            nioPosix, unixSignals, crypto,
        ],
        path: "Sources/Server/remote-pin-server"
    ),
    .target(
        name: "ServerObservation",
        dependencies: ["AttestationVerifier", "HostSystem", coreMetrics, nioCore, nioHTTP1, nioPosix],
        path: "Sources/Server/ServerObservation"
    ),
    .target(
        name: "LogLines",
        dependencies: ["HostSystem", "ServerSettings", logging],
        path: "Sources/Server/LogLines"
    ),
    // The only targets that link Hummingbird: what faces the web is a process of its own.
    .target(
        name: "DeletionPortal",
        dependencies: [
            "LogLines", "ServerSettings", "Transport", "Vocabulary", "Wire", crypto, httpTypes, hummingbird,
            hummingbirdCore,
            lifecycle, logging, mustache, nioCore, unixSignals,
        ],
        path: "Sources/Server/DeletionPortal"
    ),
    .executableTarget(
        name: "remote-pin-portal",
        dependencies: ["DeletionPortal", "HostSystem", "Lab", "LogLines", "ServerSettings", argumentParser, logging],
        path: "Sources/Server/remote-pin-portal"
    ),
]

let client: [Target] = [
    .target(name: "Presence", path: "Sources/Client/Presence"),
    .target(
        name: "WalletFlows",
        dependencies: ["Presence", "Secrets", "Statements", "Vocabulary"],
        path: "Sources/Client/WalletFlows"
    ),
    .target(
        name: "Devices",
        dependencies: [
            "Evidence", "Lab", "Presence", "Secrets", "HostSystem", "Spelling", "Vocabulary", crypto, subprocess, yams,
        ],
        path: "Sources/Client/Devices"
    ),
    .target(
        name: "WalletCore",
        dependencies: [
            "Devices", "Secrets", "Statements", "HostSystem", "Transport", "Presence", "Vocabulary", "WalletFlows",
            "Wire", crypto,
            logging, nioCore, nioPosix,
        ],
        path: "Sources/Client/WalletCore"
    ),
    .target(
        name: "Phone",
        dependencies: [
            "Devices", "HostSystem", "Lab", "Presence", "Spelling", "Vocabulary", "WalletCore", "WalletFlows", yams,
        ],
        path: "Sources/Client/Phone"
    ),
    .target(
        name: "TerminalApp",
        dependencies: ["HostSystem", "Phone", "Presence", "Vocabulary", "WalletCore", "WalletFlows"],
        path: "Sources/Client/TerminalApp"
    ),
    .target(
        name: "Scenarios",
        dependencies: [
            "Devices", "HostSystem", "Lab", "Phone", "Presence", "Secrets", "Spelling", "Transport", "Vocabulary",
            "WalletCore", "WalletFlows", "Wire", yams,
        ],
        path: "Sources/Client/Scenarios"
    ),
    .executableTarget(
        name: "wallet",
        dependencies: [
            "Devices", "HostSystem", "Phone", "Presence", "Scenarios", "Secrets", "Spelling", "TerminalApp",
            "Vocabulary", "WalletCore", "WalletFlows", argumentParser, unixSignals,
        ],
        path: "Sources/Client/wallet"
    ),
    .target(name: "VerdictOracle", dependencies: ["Vocabulary"], path: "Sources/Client/VerdictOracle"),
    .target(name: "LoadPlan", dependencies: ["Spelling", "Vocabulary", yams], path: "Sources/Client/LoadPlan"),
    .systemLibrary(
        name: "CZlib",
        path: "Sources/Client/CZlib",
        pkgConfig: "zlib",
        providers: [.apt(["zlib1g-dev"])]
    ),
    .target(name: "Zlib", dependencies: ["CZlib"], path: "Sources/Client/Zlib"),
    .target(
        name: "LoadReport",
        dependencies: ["Spelling", "Vocabulary", "Zlib", histogram],
        path: "Sources/Client/LoadReport"
    ),
    .target(
        name: "LoadFleet",
        dependencies: [
            "Evidence", "HostSystem", "JointVerification", "Lab", "Secrets", "Statements", "Transport", "VerdictOracle",
            "Vocabulary", "Wire", crypto,
        ],
        path: "Sources/Client/LoadFleet"
    ),
    .target(
        name: "LoadRun",
        dependencies: [
            "HostSystem", "Lab", "LoadFleet", "LoadPlan", "LoadReport", "Secrets", "Spelling", "Statements",
            "Transport", "VerdictOracle", "Vocabulary", "Wire",
        ],
        path: "Sources/Client/LoadRun"
    ),
    .target(name: "LoadFlood", dependencies: [nioCore, nioPosix], path: "Sources/Client/LoadFlood"),
    .executableTarget(
        name: "pin-load",
        dependencies: [
            "HostSystem", "Lab", "LoadFleet", "LoadFlood", "LoadPlan", "LoadReport", "LoadRun", "Spelling", "Transport",
            "VerdictOracle", "Vocabulary", "Wire", argumentParser, unixSignals,
        ],
        path: "Sources/Client/pin-load"
    ),
]

// One test target for each target that it tests, and those that look at the whole.
let tests: [Target] = [
    .target(
        name: "TestSupport",
        dependencies: [
            "Devices", "Evidence", "Lab", "Secrets", "Statements", "HostSystem", "Transport", "Vocabulary", "Wire",
            crypto, nioCore, nioPosix,
        ],
        path: "Tests/TestSupport"
    ),
    .testTarget(name: "VocabularyTests", dependencies: ["Vocabulary"]),
    .testTarget(name: "HostSystemTests", dependencies: ["HostSystem", "TestSupport", "Vocabulary"]),
    .testTarget(name: "SecretsTests", dependencies: ["Secrets", crypto]),
    .testTarget(
        name: "JointVerificationTests",
        dependencies: ["COpenSSL", "JointVerification", "Secrets", "Vocabulary", crypto]
    ),
    .testTarget(name: "StatementsTests", dependencies: ["JointVerification", "Secrets", "Statements", "Vocabulary"]),
    .testTarget(name: "WireTests", dependencies: ["RemotePINProto", "Secrets", "TestSupport", "Vocabulary", "Wire"]),
    .testTarget(
        name: "TransportTests",
        dependencies: [
            "Lab", "Secrets", "TestSupport", "Transport", "Vocabulary", "Wire", nioCore, nioEmbedded, nioPosix,
        ]
    ),
    .testTarget(name: "EvidenceTests", dependencies: ["Evidence", "TestSupport", "Vocabulary"]),
    .testTarget(name: "LabTests", dependencies: ["Lab", "Evidence", "HostSystem", "Vocabulary"]),
    .testTarget(name: "PINPolicyTests", dependencies: ["PINPolicy", "TestSupport", "Vocabulary"]),
    .testTarget(
        name: "AttestationVerifierTests",
        dependencies: ["AttestationVerifier", "Evidence", "Lab", "TestSupport", "Vocabulary", crypto]
    ),
    .testTarget(name: "VaultTests", dependencies: ["Secrets", "HostSystem", "Vault", "Vocabulary"]),
    .testTarget(
        name: "AuditLogTests",
        dependencies: ["AuditLog", "HostSystem", "TestSupport", "Vault", "Vocabulary"]
    ),
    .testTarget(
        name: "EventHooksTests",
        dependencies: [
            "EventHooks", "HostSystem", "ServerObservation", "TestSupport", "Vocabulary", logging, nioCore, nioPosix,
        ]
    ),
    .testTarget(
        name: "WalletStoreTests",
        dependencies: [
            "PINPolicy", "PreparedSQL", "HostSystem", "TestSupport", "Vocabulary", "WalletStore", grdb,
        ]
    ),
    .testTarget(
        name: "ServerSettingsTests",
        dependencies: ["ServerSettings", "AttestationVerifier", "Spelling", "Vocabulary"]
    ),
    .testTarget(
        name: "ServerObservationTests",
        dependencies: ["HostSystem", "ServerObservation", "TestSupport", coreMetrics, nioCore, nioPosix]
    ),
    .testTarget(
        name: "DeletionPortalTests",
        dependencies: [
            "DeletionPortal", "ServerSettings", "TestSupport", "Transport", "Vocabulary", "Wire", httpTypes,
            hummingbird, lifecycle, logging, nioCore, nioPosix,
        ]
    ),
    .testTarget(
        name: "RemotePINServerTests",
        dependencies: [
            "AttestationVerifier", "AuditLog", "Devices", "Evidence", "Lab", "JointVerification", "PINPolicy",
            "RemotePINServer",
            "Secrets", "ServerObservation", "Statements", "HostSystem", "TestSupport", "Transport", "Vault",
            "Vocabulary", "WalletStore", "Wire",
            crypto,
            logging,
        ]
    ),
    .testTarget(
        name: "WalletFlowsTests",
        dependencies: ["Secrets", "Statements", "TestSupport", "Presence", "Vocabulary", "WalletFlows"]
    ),
    .testTarget(
        name: "DevicesTests",
        dependencies: [
            "AttestationVerifier", "Devices", "Evidence", "HostSystem", "Lab", "Presence", "Secrets", "TestSupport",
            "Vocabulary", crypto,
        ]
    ),
    .testTarget(
        name: "WalletCoreTests",
        dependencies: [
            "Devices", "Lab", "Secrets", "Statements", "HostSystem", "TestSupport", "Transport", "Vocabulary",
            "Presence", "WalletCore", "WalletFlows", "Wire",
        ]
    ),
    .testTarget(
        name: "TerminalAppTests",
        dependencies: ["HostSystem", "Presence", "TerminalApp", "TestSupport", "Vocabulary", "WalletFlows"]
    ),
    .testTarget(
        name: "ScenariosTests",
        dependencies: [
            "HostSystem", "Lab", "Scenarios", "ServerSettings", "TestSupport", yams, "remote-pin-server",
        ]
    ),
    .testTarget(name: "VerdictOracleTests", dependencies: ["TestSupport", "VerdictOracle", "Vocabulary"]),
    .testTarget(name: "LoadPlanTests", dependencies: ["LoadPlan", "TestSupport", "Vocabulary"]),
    .testTarget(name: "ZlibTests", dependencies: ["TestSupport", "Zlib"]),
    .testTarget(
        name: "LoadReportTests",
        dependencies: ["LoadReport", "TestSupport", "Zlib", argumentParser, histogram, "pin-load"],
        exclude: ["Goldens"]
    ),
    .testTarget(
        name: "LoadFleetTests",
        dependencies: [
            "HostSystem", "Lab", "LoadFleet", "Secrets", "Statements", "TestSupport", "Transport", "VerdictOracle",
            "Vocabulary", "Wire", "pin-load", "remote-pin-server",
        ]
    ),
    .testTarget(
        name: "LoadFloodTests",
        dependencies: [
            "Lab", "LoadFlood", "TestSupport", "Transport", "Vocabulary", "Wire", "pin-load", "remote-pin-server",
        ]
    ),
    .testTarget(
        name: "LoadRunTests",
        dependencies: [
            "HostSystem", "Lab", "LoadFleet", "LoadPlan", "LoadReport", "LoadRun", "TestSupport", "Transport",
            "VerdictOracle", "Vocabulary", "Wire", "pin-load", "remote-pin-server",
        ]
    ),
    .testTarget(
        name: "EndToEndTests",
        dependencies: [
            "Devices", "Evidence", "Lab", "Secrets", "Statements", "HostSystem", "TestSupport", "Transport",
            "Vocabulary", "Wire",
            nioCore, nioPosix, "remote-pin-portal", "remote-pin-server", "wallet",
        ]
    ),
    .testTarget(name: "ArchitectureTests"),
]

/// What `make bench` runs.
let benchmarks: [Target] = [
    .executableTarget(
        name: "remote-pin-bench",
        dependencies: [
            "AttestationVerifier", "Evidence", "Lab", "Secrets", "Statements", "TestSupport", "Transport", "Vocabulary",
            "Wire", argumentParser, crypto,
        ],
        path: "Benchmarks"
    )
]

let package = Package(
    name: "remote-pin",
    products: [
        .executable(name: "remote-pin-server", targets: ["remote-pin-server"]),
        .executable(name: "remote-pin-portal", targets: ["remote-pin-portal"]),
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
    targets: shared + server + client + tests + benchmarks,
    swiftLanguageModes: [.v6]
)

for target in package.targets where [.regular, .test, .executable].contains(target.type) {
    target.swiftSettings = houseRules
}
