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

/// The object with ICU's data for release builds, made by `deploy/release/icu-data.py`.
let icuData = Context.environment["REMOTE_PIN_ICU_DATA"]

/// The products of other packages, by package.
let libraries = [
    "hdrhistogram-swift": "Histogram",
    "hummingbird": "Hummingbird HummingbirdCore",
    "swift-argument-parser": "ArgumentParser",
    "swift-asn1": "SwiftASN1",
    "swift-crypto": "Crypto CryptoExtras",
    "swift-http-types": "HTTPTypes",
    "swift-log": "Logging",
    "swift-metrics": "CoreMetrics Metrics MetricsTestKit",
    "swift-mustache": "Mustache",
    "swift-nio": "NIOCore NIOEmbedded NIOHTTP1 NIOPosix",
    "swift-service-lifecycle": "ServiceLifecycle UnixSignals",
    "swift-subprocess": "Subprocess",
    "swift-system": "SystemPackage",
    "Yams": "Yams",
]

extension [Target.Dependency] {
    /// Returns the named targets and products of other packages.
    static func named(_ names: String) -> [Target.Dependency] {
        names.split(whereSeparator: \.isWhitespace).map(String.init).map { name in
            let library = libraries.first { $0.value.split(separator: " ").contains(Substring(name)) }
            return library.map { .product(name: name, package: $0.key) } ?? .target(name: name)
        }
    }
}

// The last component of a path is the name of the target, unless it has another one.
extension Target {
    static func module(_ path: String, _ names: String = "", resources: [Resource] = []) -> Target {
        .target(name: lastComponent(path), dependencies: .named(names), path: path, resources: resources)
    }

    static func program(_ path: String, named name: String? = nil, _ names: String = "") -> Target {
        .executableTarget(name: name ?? lastComponent(path), dependencies: .named(names), path: path)
    }

    static func system(_ path: String, pkgConfig: String? = nil, apt package: String) -> Target {
        .systemLibrary(name: lastComponent(path), path: path, pkgConfig: pkgConfig, providers: [.apt([package])])
    }

    static func tests(_ name: String, _ names: String = "") -> Target {
        .testTarget(name: name, dependencies: .named(names))
    }

    private static func lastComponent(_ path: String) -> String {
        String(path.split(separator: "/").last ?? "")
    }
}

// Shared by client and server; depends on neither.
let shared: [Target] = [
    .system("Sources/Shared/COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
    .system("Sources/Shared/CProtobufC", pkgConfig: "libprotobuf-c", apt: "libprotobuf-c-dev"),
    .module("Sources/Shared/Vocabulary"),
    .module("Sources/Shared/ConfigText", "Yams"),
    .target(
        name: "CHostSystem",
        path: "Sources/Shared/CHostSystem",
        cSettings: buildID.isEmpty ? [] : [.define("REMOTE_PIN_BUILD_ID", to: "\"\(buildID)\"")],
        linkerSettings: icuData.map { [.unsafeFlags([$0])] } ?? []
    ),
    .module("Sources/Shared/HostSystem", "CHostSystem Vocabulary"),
    .target(
        name: "RemotePINProto",
        dependencies: ["CProtobufC"],
        path: "Proto",
        exclude: ["remotepin", "generate.sh"],
        sources: ["generated"],
        publicHeadersPath: "generated"
    ),
    .module("Sources/Shared/Secrets", "COpenSSL Crypto"),
    .module("Sources/Shared/ChildPrograms", "HostSystem Subprocess"),
    .module("Sources/Shared/Statements", "Secrets Vocabulary Crypto"),
    .module("Sources/Shared/Wire", "CProtobufC RemotePINProto Secrets Vocabulary"),
    .module("Sources/Shared/Transport", "COpenSSL HostSystem Secrets Vocabulary Wire NIOCore NIOPosix"),
    .module("Sources/Shared/MetricsEndpoint", "HostSystem Vocabulary CoreMetrics NIOCore NIOHTTP1 NIOPosix"),
    .module("Sources/Shared/AdminProtocol", "Transport Vocabulary"),
    .module("Sources/Shared/Evidence", "Vocabulary SwiftASN1 Crypto"),
    // Where a lab's files lie, without the keys in them: production programs may link it.
    .module("Sources/Shared/LabFiles", "ConfigText HostSystem Vocabulary Yams"),
    // The test authority with its private keys; ArchitectureTests keeps it out of the production programs.
    .module("Sources/Shared/Lab", "Evidence HostSystem Vocabulary"),
]

let server: [Target] = [
    .system("Sources/Server/CPostgreSQL", pkgConfig: "libpq", apt: "libpq-dev"),
    .system("Sources/Server/CPKCS11", apt: "libp11-kit-dev"),
    // Loads the libraries of vendors; ArchitectureTests keeps it out of the server.
    .module("Sources/Server/PKCS11", "CPKCS11 Secrets"),
    .module("Sources/Server/PINPolicy", "Vocabulary"),
    .module("Sources/Server/AttestationVerifier", "Evidence Vocabulary Crypto CryptoExtras"),
    .module("Sources/Server/Vault", "HostSystem Secrets Statements Vocabulary Metrics NIOCore NIOPosix"),
    .module("Sources/Server/AuditLog", "HostSystem Vault Vocabulary Crypto"),
    .module("Sources/Server/CSQLite"),
    .module("Sources/Server/SQLiteClient", "CSQLite HostSystem"),
    .module(
        "Sources/Server/WalletStore",
        "HostSystem PINPolicy Secrets SQLiteClient Statements Vocabulary Metrics"
    ),
    .module("Sources/Server/PostgreSQLClient", "CPostgreSQL"),
    .module(
        "Sources/Server/PostgreSQLStore",
        "HostSystem PINPolicy PostgreSQLClient Secrets Statements Vocabulary WalletStore Metrics"
    ),
    .module(
        "Sources/Server/ServerSettings",
        "AdminProtocol ConfigText HostSystem LabFiles Secrets Vocabulary ArgumentParser"
    ),
    .module(
        "Sources/Server/OperatorChannels",
        """
        AuditLog ChildPrograms HostSystem ServerSettings Telemetry Vocabulary ServiceLifecycle Logging Metrics \
        NIOCore NIOPosix Subprocess SystemPackage
        """
    ),
    .module(
        "Sources/Server/StoreMaintenance",
        """
        AuditLog HostSystem PINPolicy PostgreSQLStore Secrets ServerSettings Vault Vocabulary WalletStore Crypto \
        ServiceLifecycle Logging
        """
    ),
    .module(
        "Sources/Server/RemotePINServer",
        """
        AttestationVerifier AuditLog Evidence HostSystem Secrets Statements Telemetry Transport Vault Vocabulary \
        WalletStore Wire Crypto ServiceLifecycle Logging Metrics
        """
    ),
    .module(
        "Sources/Server/Administration",
        """
        AdminProtocol AuditLog ConfigText HostSystem PINPolicy RemotePINServer Secrets ServerSettings \
        StoreMaintenance Transport Vault Vocabulary WalletStore Wire ArgumentParser ServiceLifecycle Logging
        """
    ),
    .program(
        "Sources/Server/remote-pin-server",
        """
        Administration AdminProtocol AttestationVerifier AuditLog Evidence HostSystem LabFiles MetricsEndpoint \
        OperatorChannels PINPolicy PostgreSQLClient PostgreSQLStore RemotePINServer ServerSettings Statements \
        StoreMaintenance Telemetry Transport Vault Vocabulary WalletStore ArgumentParser Crypto ServiceLifecycle \
        Logging Metrics NIOPosix UnixSignals
        """
    ),
    // Makes labs; a program of its own, so that the server links no test authority.
    .program(
        "Sources/Server/remote-pin-lab",
        """
        AttestationVerifier Evidence HostSystem Lab LabFiles ServerSettings StoreMaintenance Vocabulary \
        ArgumentParser
        """
    ),
    .program(
        "Sources/Server/remote-pin-keys",
        """
        ConfigText HostSystem MetricsEndpoint PKCS11 Secrets ServerSettings Telemetry Transport Vocabulary \
        ArgumentParser CoreMetrics Logging NIOCore NIOPosix
        """
    ),
    .module("Sources/Server/Telemetry", "HostSystem MetricsEndpoint ServerSettings NIOCore Logging"),
    // The only targets that link Hummingbird: what faces the web is a process of its own.
    .module(
        "Sources/Server/DeletionPortal",
        """
        ConfigText HostSystem ServerSettings Telemetry Transport Vocabulary Wire Crypto HTTPTypes Hummingbird \
        HummingbirdCore ServiceLifecycle Logging Metrics Mustache NIOCore NIOHTTP1 UnixSignals
        """,
        resources: [.embedInCode("Resources")]
    ),
    .program(
        "Sources/Server/remote-pin-portal",
        "ConfigText DeletionPortal HostSystem LabFiles MetricsEndpoint ServerSettings Telemetry ArgumentParser Logging"
    ),
]

let client: [Target] = [
    .module("Sources/Client/Wallet/WalletFlows", "HostSystem Secrets Vocabulary"),
    .module("Sources/Client/Wallet/WalletCore", "HostSystem Secrets Statements Transport Vocabulary WalletFlows Wire"),
    .module(
        "Sources/Client/Wallet/SimulatedPhone",
        """
        ChildPrograms ConfigText Evidence HostSystem Lab LabFiles Secrets Transport Vocabulary WalletCore \
        WalletFlows Wire NIOCore NIOPosix Subprocess
        """
    ),
    .module(
        "Sources/Client/Wallet/Scenarios",
        """
        AdminProtocol ConfigText HostSystem Lab LabFiles Secrets SimulatedPhone Transport Vocabulary WalletCore \
        WalletFlows Wire Mustache Yams
        """,
        resources: [.embedInCode("Resources")]
    ),
    .program(
        "Sources/Client/Wallet/wallet",
        """
        ConfigText HostSystem Scenarios SimulatedPhone Vocabulary WalletCore WalletFlows ArgumentParser UnixSignals
        """
    ),
    .module("Sources/Client/Load/HistoryChecker", "Vocabulary"),
    .module(
        "Sources/Client/Load/LoadEngine",
        """
        AdminProtocol ChildPrograms ConfigText Evidence HistoryChecker HostSystem Lab LabFiles Secrets Statements \
        Transport Vocabulary Wire Histogram Mustache NIOCore NIOPosix Subprocess
        """,
        resources: [.embedInCode("Report/Resources")]
    ),
    .program(
        "Sources/Client/Load/pin-load",
        """
        ConfigText HostSystem LabFiles LoadEngine MetricsEndpoint Transport Vocabulary Wire ArgumentParser CoreMetrics
        """
    ),
]

// One test target for each target under test, and those that test the whole.
let tests: [Target] = [
    .module(
        "Tests/TestSupport",
        """
        HostSystem Lab LabFiles Secrets SimulatedPhone Statements Transport Vocabulary WalletFlows Wire NIOCore \
        NIOPosix
        """
    ),
    .tests("VocabularyTests", "Vocabulary"),
    .tests("HostSystemTests", "HostSystem TestSupport Vocabulary"),
    .tests("SecretsTests", "Secrets Crypto"),
    .tests("StatementsTests", "Secrets Statements TestSupport Vocabulary"),
    .tests("WireTests", "RemotePINProto Secrets TestSupport Vocabulary Wire"),
    .tests("TransportTests", "COpenSSL Lab TestSupport Transport Vocabulary Wire NIOCore NIOEmbedded NIOPosix"),
    .tests("EvidenceTests", "Evidence TestSupport Vocabulary"),
    .tests("LabTests", "Evidence HostSystem Lab LabFiles TestSupport Vocabulary"),
    .tests("PINPolicyTests", "PINPolicy TestSupport Vocabulary"),
    .tests("AttestationVerifierTests", "AttestationVerifier Evidence Lab remote-pin-lab Vocabulary"),
    .tests("VaultTests", "HostSystem Secrets TestSupport Vault Vocabulary"),
    .tests("AuditLogTests", "AuditLog HostSystem TestSupport Vault Vocabulary"),
    .tests(
        "OperatorChannelsTests",
        "ChildPrograms MetricsEndpoint OperatorChannels Telemetry TestSupport Vocabulary Logging NIOCore NIOPosix"
    ),
    // A store in memory, for tests of the rules, the explorer and the simulator.
    .module("Tests/DictionaryStore", "PINPolicy Vocabulary WalletStore"),
    .tests(
        "WalletStoreTests",
        """
        CSQLite DictionaryStore HostSystem PINPolicy PostgreSQLClient PostgreSQLStore Secrets SQLiteClient Statements \
        TestSupport Vocabulary WalletStore MetricsTestKit
        """
    ),
    .tests("ServerSettingsTests", "ConfigText ServerSettings Vocabulary"),
    .tests("TelemetryTests", "AttestationVerifier HostSystem MetricsEndpoint Telemetry TestSupport NIOCore NIOPosix"),
    .tests("MetricsEndpointTests", "MetricsEndpoint TestSupport CoreMetrics NIOCore NIOPosix"),
    .tests(
        "DeletionPortalTests",
        """
        DeletionPortal ServerSettings TestSupport Transport Vocabulary HTTPTypes Hummingbird ServiceLifecycle \
        Logging NIOCore
        """
    ),
    // A server in the test's process, for the tests of the server's targets.
    .module(
        "Tests/ServerTestSupport",
        """
        Administration AdminProtocol AttestationVerifier AuditLog HostSystem Lab MetricsEndpoint PINPolicy \
        RemotePINServer SimulatedPhone Statements StoreMaintenance Telemetry TestSupport Transport Vault \
        Vocabulary WalletStore Logging
        """
    ),
    .tests(
        "AdministrationTests",
        """
        Administration AdminProtocol AuditLog HostSystem RemotePINServer ServerTestSupport TestSupport Transport \
        Vocabulary WalletStore
        """
    ),
    .tests(
        "StoreMaintenanceTests",
        """
        Administration AdminProtocol AuditLog HostSystem PINPolicy RemotePINServer Secrets \
        ServerTestSupport SimulatedPhone SQLiteClient StoreMaintenance TestSupport Transport Vault Vocabulary \
        WalletStore Wire Logging
        """
    ),
    .tests(
        "RemotePINServerTests",
        """
        Administration AdminProtocol AttestationVerifier AuditLog Evidence HostSystem Lab MetricsEndpoint \
        RemotePINServer Secrets ServerTestSupport SimulatedPhone Statements StoreMaintenance TestSupport Transport \
        Vault Vocabulary WalletFlows WalletStore Wire Logging
        """
    ),
    .tests("KeysTests", "remote-pin-keys TestSupport Crypto"),
    .tests("WalletFlowsTests", "Secrets TestSupport Vocabulary WalletFlows"),
    .tests(
        "SimulatedPhoneTests",
        """
        AttestationVerifier ConfigText Evidence HostSystem Lab Secrets SimulatedPhone TestSupport Transport \
        Vocabulary WalletCore WalletFlows Wire Crypto
        """
    ),
    .tests(
        "WalletCoreTests",
        "Lab Secrets SimulatedPhone Statements TestSupport Transport Vocabulary WalletCore WalletFlows Wire"
    ),
    .tests("TerminalAppTests", "HostSystem SimulatedPhone TestSupport Vocabulary WalletFlows"),
    .tests(
        "ScenariosTests",
        """
        ConfigText HostSystem LabFiles remote-pin-lab remote-pin-server Scenarios ServerSettings SimulatedPhone \
        TestSupport Vocabulary WalletCore WalletFlows
        """
    ),
    .tests("HistoryCheckerTests", "HistoryChecker TestSupport Vocabulary"),
    .tests("LoadPlanTests", "LoadEngine TestSupport"),
    .testTarget(
        name: "LoadReportTests",
        dependencies: .named("LoadEngine pin-load TestSupport ArgumentParser Histogram"),
        exclude: ["Goldens"]
    ),
    .tests(
        "LoadFleetTests",
        """
        Evidence HistoryChecker HostSystem LoadEngine pin-load remote-pin-lab remote-pin-server Secrets Statements \
        TestSupport Transport Vocabulary Wire
        """
    ),
    .tests("LoadFloodTests", "Lab LoadEngine pin-load remote-pin-lab remote-pin-server TestSupport Vocabulary Wire"),
    .tests(
        "LoadEngineTests",
        """
        HostSystem Lab LabFiles LoadEngine pin-load remote-pin-lab remote-pin-server TestSupport Transport Vocabulary \
        Wire
        """
    ),
    // Creates the scenario files that `explore` writes. It is a separate target, so that a test can use it.
    .module("Tests/PlayedCounterexamples"),
    .tests(
        "EndToEndTests",
        """
        Evidence HostSystem Lab LabFiles PlayedCounterexamples remote-pin-keys remote-pin-lab remote-pin-portal \
        remote-pin-server Secrets SimulatedPhone Statements TestSupport Transport Vocabulary wallet Wire NIOCore \
        NIOPosix
        """
    ),
    .tests("ArchitectureTests"),
    .tests(
        "PublicSurfaceTests",
        """
        ConfigText CProtobufC HostSystem MetricsEndpoint pin-load PostgreSQLStore remote-pin-keys \
        remote-pin-lab remote-pin-portal remote-pin-server RemotePINProto ServerSettings SimulatedPhone Telemetry \
        TestSupport wallet Crypto
        """
    ),
]

/// The archive of libFuzzer without its main function, for `make fuzz`; nil in other builds.
let fuzzer = Context.environment["REMOTE_PIN_FUZZER"]

/// Programs of `make bench`, `make bench-attestation`, `make bench-receipts`, `make explore` and `make simulate`, left
/// out of a default build.
let benchmarks: [Target] =
    Context.environment["REMOTE_PIN_BENCHMARKS"] == nil
    ? []
    : [
        .program(
            "Benchmarks/Attestation",
            named: "attestation-bench",
            "AttestationVerifier Evidence Lab Vocabulary Crypto"
        ),
        .program("Benchmarks/Handshakes", named: "handshake-bench", "LoadEngine Transport"),
        .program(
            "Benchmarks/Receipts",
            named: "receipt-bench",
            "PINPolicy Secrets Statements Vocabulary WalletStore Wire"
        ),
        .program(
            "Tests/Explore",
            named: "explore",
            """
            Administration AttestationVerifier AuditLog DictionaryStore EmbeddedServer HostSystem PINPolicy \
            PlayedCounterexamples PostgreSQLStore RemotePINServer Secrets ServerSettings Statements StoreMaintenance \
            Vault Vocabulary WalletStore Wire Logging NIOEmbedded
            """
        ),
        .program(
            "Tests/Simulate",
            named: "simulate",
            """
            Administration AttestationVerifier AuditLog DictionaryStore HistoryChecker HostSystem Lab PINPolicy \
            PostgreSQLClient PostgreSQLStore RemotePINServer Secrets ServerSettings SimulatedPhone StoreMaintenance \
            Transport Vault Vocabulary WalletCore WalletFlows WalletStore Wire CSQLite Logging NIOCore NIOEmbedded
            """
        ),
    ]

/// The production server's connection loop without a network, for `explore` and `fuzz`.
///
/// It sees what the server hides from its users, as tests do, so a default build leaves it out.
let embeddedServer: [Target] =
    benchmarks.isEmpty && fuzzer == nil
    ? []
    : [
        .module("Tests/EmbeddedServer", "RemotePINServer Transport Vocabulary Wire NIOCore NIOEmbedded")
    ]

/// The program of `make fuzz`.
let fuzzing: [Target] =
    fuzzer.map { archive in
        [
            .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
            .executableTarget(
                name: "fuzz",
                dependencies: .named(
                    """
                    Administration AttestationVerifier AuditLog CFuzzer ConfigText DeletionPortal EmbeddedServer \
                    Evidence HostSystem Lab PINPolicy RemotePINServer Scenarios Secrets ServerSettings \
                    SimulatedPhone Statements StoreMaintenance TestSupport Transport Vault Vocabulary \
                    WalletStore Wire Crypto HTTPTypes Logging Metrics NIOCore
                    """
                ),
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
        .executable(name: "remote-pin-keys", targets: ["remote-pin-keys"]),
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
