// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]

/// What only debug builds have: bugs that tests plant in planners and live queries.
let plannerSettings = settings + [.define("PLANNER_MUTANTS", .when(configuration: .debug))]

/// What only debug builds have: places at which tests kill the process.
let crashSettings = settings + [.define("CRASH_POINTS", .when(configuration: .debug))]

let package = Package(
    name: "HabitStore",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "HabitStore", targets: ["HabitStore"]),
        .library(name: "HabitStoreMacros", targets: ["HabitStoreMacros"]),
        .library(name: "HabitStoreSQLite", targets: ["HabitStoreSQLite"]),
        .library(name: "HabitStoreLMDB", targets: ["HabitStoreLMDB"]),
        .library(name: "HabitStorePostgres", targets: ["HabitStorePostgres"]),
        .library(name: "FeatureFlags", targets: ["FeatureFlags"]),
        .library(name: "FlagTools", targets: ["FlagTools"]),
        .library(name: "HabitStoreRollout", targets: ["HabitStoreRollout"]),
        .library(name: "HabitStoreFleet", targets: ["HabitStoreFleet"]),
        .library(name: "HabitStoreMetrics", targets: ["HabitStoreMetrics"]),
        .library(name: "HabitStoreOperator", targets: ["HabitStoreOperator"]),
        .library(name: "StandardEngines", targets: ["StandardEngines"]),
        .library(name: "ShadowVerifier", targets: ["ShadowVerifier"]),
        .library(name: "HabitStoreImport", targets: ["HabitStoreImport"]),
        .library(name: "HabitStoreMapped", targets: ["HabitStoreMapped"]),
        .library(name: "HabitTracker", targets: ["HabitTracker"]),
        .library(name: "HabitTrackerImport", targets: ["HabitTrackerImport"]),
        .library(name: "HabitStoreTesting", targets: ["HabitStoreTesting"]),
        .library(name: "RolloutTesting", targets: ["RolloutTesting"]),
        .library(name: "PostgresTesting", targets: ["PostgresTesting"]),
        .executable(name: "habitstore", targets: ["HabitStoreCommand"]),
        .executable(name: "habitstore-trials", targets: ["Trials"]),
    ],
    traits: [
        .trait(
            name: "Macros",
            description:
                "The library HabitStoreMacros. Without it swift-syntax is not fetched; who has it and does not use the library "
                + "builds nothing of it."
        ),
        .default(enabledTraits: ["Macros"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", "602.0.0"..<"604.0.0"),
    ],
    targets: [
        .macro(
            name: "HabitStoreMacrosPlugin",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: .when(traits: ["Macros"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HabitStoreMacros",
            dependencies: ["HabitStore", "HabitStoreMacrosPlugin"],
            swiftSettings: settings
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]
        ),
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CPostgres",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .systemLibrary(
            name: "CLibCrypto",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"])]
        ),
        .target(name: "CSystemCalls"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(name: "CSystemFaults", path: "Lab/CSystemFaults"),
        .target(
            name: "Hashing",
            dependencies: [.target(name: "CLibCrypto", condition: .when(platforms: [.linux]))],
            swiftSettings: settings
        ),
        .target(name: "DurableFiles", swiftSettings: settings),
        .target(name: "JSONText", swiftSettings: settings),
        .target(
            name: "HabitStore",
            dependencies: ["CSystemCalls", "DurableFiles", "Hashing"],
            swiftSettings: plannerSettings
        ),
        .target(
            name: "HabitStoreSQLite",
            dependencies: ["CSQLite", "DurableFiles", "HabitStore"],
            swiftSettings: plannerSettings
        ),
        .target(name: "OrderedKeys", dependencies: ["HabitStore"], swiftSettings: plannerSettings),
        .target(
            name: "HabitStoreLMDB",
            dependencies: ["CLMDB", "DurableFiles", "HabitStore", "OrderedKeys"],
            swiftSettings: plannerSettings
        ),
        .target(
            name: "HabitStorePostgres",
            dependencies: ["CPostgres", "HabitStore", "Hashing", "OrderedKeys"],
            swiftSettings: plannerSettings
        ),
        .target(
            name: "FeatureFlags",
            dependencies: [
                "DurableFiles", "Hashing", "JSONText",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FlagTools",
            dependencies: ["DurableFiles", "FeatureFlags", "JSONText"],
            swiftSettings: settings
        ),
        .target(
            name: "ShadowVerifier",
            dependencies: ["DurableFiles", "HabitStore", "Hashing"],
            swiftSettings: settings
        ),
        .target(
            name: "HabitStoreRollout",
            dependencies: [
                "CSystemCalls", "DurableFiles", "FeatureFlags", "HabitStore", "Hashing", "JSONText",
                "ShadowVerifier",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: crashSettings
        ),
        .target(
            name: "HabitStoreMetrics",
            dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")],
            swiftSettings: settings
        ),
        .target(
            name: "HabitStoreFleet",
            dependencies: [
                "CSQLite", "DurableFiles", "FeatureFlags", "HabitStore", "HabitStoreMetrics", "HabitStoreRollout",
                "Hashing", "JSONText",
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StandardEngines",
            dependencies: ["HabitStore", "HabitStoreLMDB", "HabitStoreRollout", "HabitStoreSQLite", "ShadowVerifier"],
            swiftSettings: settings
        ),
        .target(
            name: "HabitStoreImport",
            dependencies: ["CSQLite", "CZlib", "DurableFiles", "HabitStore", "Hashing", "JSONText", "ShadowVerifier"],
            swiftSettings: crashSettings
        ),
        .target(
            name: "HabitStoreMapped",
            dependencies: ["DurableFiles", "HabitStore", "HabitStoreImport", "HabitStoreSQLite"],
            swiftSettings: settings
        ),
        .target(
            name: "HabitTracker",
            dependencies: ["HabitStore"],
            path: "Tracker/HabitTracker",
            swiftSettings: settings
        ),
        .target(
            name: "HabitTrackerImport",
            dependencies: ["CZlib", "DurableFiles", "HabitStore", "HabitStoreImport", "HabitTracker", "JSONText"],
            path: "Tracker/HabitTrackerImport",
            swiftSettings: crashSettings
        ),
        .target(name: "HabitStoreTesting", dependencies: ["HabitStore", "HabitTracker"], swiftSettings: settings),
        .target(
            name: "RolloutTesting",
            dependencies: [
                "HabitStore", "HabitStoreRollout", "HabitStoreTesting", "ShadowVerifier",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Lab/RolloutTesting",
            swiftSettings: settings
        ),
        .target(
            name: "PostgresTesting",
            dependencies: ["HabitStore", "HabitStorePostgres"],
            path: "Lab/PostgresTesting",
            swiftSettings: settings
        ),
        .target(
            name: "RawStoreFiles",
            dependencies: ["CLMDB", "CSQLite", "HabitStore"],
            path: "Lab/RawStoreFiles",
            swiftSettings: settings
        ),
        .target(
            name: "MappedTesting",
            dependencies: ["HabitStore", "HabitStoreImport", "HabitStoreMapped", "HabitStoreTesting", "RawStoreFiles"],
            path: "Lab/MappedTesting",
            swiftSettings: settings
        ),
        .target(
            name: "TripsSample",
            dependencies: ["HabitStore", "HabitStoreMacros"],
            path: "Tests/TripsSample",
            swiftSettings: settings
        ),
        .target(
            name: "HabitStoreOperator",
            dependencies: [
                "DurableFiles", "FeatureFlags", "FlagTools", "HabitStore", "HabitStoreFleet",
                "HabitStoreImport", "HabitStoreMapped", "HabitStoreMetrics", "HabitStoreRollout", "JSONText",
                "ShadowVerifier", "StandardEngines",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "HabitStoreCommand",
            dependencies: [
                "HabitStore", "HabitStoreImport", "HabitStoreOperator", "HabitStorePostgres",
                "HabitStoreRollout", "HabitTracker", "HabitTrackerImport", "JSONText", "ShadowVerifier",
                "StandardEngines",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tracker/HabitStoreCommand",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "HabitStoreFixtures",
            dependencies: [
                "HabitStore", "HabitStoreLMDB", "HabitStoreRollout", "HabitStoreSQLite", "HabitStoreTesting",
                "RawStoreFiles", "ShadowVerifier", "StandardEngines",
            ],
            path: "Lab/HabitStoreFixtures",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Trials",
            dependencies: [
                "CSystemFaults", "FeatureFlags", "HabitStore", "HabitStoreFleet", "HabitStoreImport", "HabitStoreLMDB",
                "HabitStorePostgres", "HabitStoreRollout", "HabitStoreSQLite", "HabitStoreTesting", "HabitTracker",
                "MappedTesting", "PostgresTesting", "RawStoreFiles", "ShadowVerifier", "StandardEngines",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Lab/Trials",
            swiftSettings: settings
        ),
        .testTarget(name: "DurableFilesTests", dependencies: ["DurableFiles"], swiftSettings: settings),
        .testTarget(
            name: "HabitStoreMacrosTests",
            dependencies: ["HabitStoreLMDB", "HabitStoreMacros", "HabitStoreSQLite", "HabitStoreTesting"],
            swiftSettings: settings
        ),
        .testTarget(name: "HashingTests", dependencies: ["Hashing"], swiftSettings: settings),
        .testTarget(
            name: "HabitStoreTests",
            dependencies: ["HabitStore", "HabitStoreTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreMigrationTests",
            dependencies: [
                "HabitStore", "HabitStoreLMDB", "HabitStoreSQLite", "HabitStoreTesting", "ShadowVerifier",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreFuzzTests",
            dependencies: [
                "HabitStore", "HabitStoreLMDB", "HabitStoreSQLite", "HabitStoreTesting", "OrderedKeys", "Trials",
            ],
            swiftSettings: plannerSettings
        ),
        .testTarget(
            name: "HabitStoreSQLiteTests",
            dependencies: ["CSQLite", "HabitStoreSQLite", "HabitStoreTesting", "RawStoreFiles"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreLMDBTests",
            dependencies: ["CLMDB", "HabitStoreLMDB", "HabitStoreTesting", "OrderedKeys", "RawStoreFiles"],
            swiftSettings: plannerSettings
        ),
        .testTarget(
            name: "HabitStorePostgresTests",
            dependencies: [
                "HabitStoreLMDB", "HabitStorePostgres", "HabitStoreRollout", "HabitStoreSQLite", "HabitStoreTesting",
                "OrderedKeys", "PostgresTesting", "RolloutTesting", "Trials",
            ],
            swiftSettings: plannerSettings
        ),
        .testTarget(
            name: "FeatureFlagsTests",
            dependencies: [
                "FeatureFlags", "FlagTools", "HabitStoreTesting", "JSONText",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitTrackerTests",
            dependencies: ["HabitStoreCommand", "HabitStoreOperator", "HabitStoreTesting", "HabitTracker"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ShadowVerifierTests",
            dependencies: [
                "CSQLite", "HabitStore", "HabitStoreLMDB", "HabitStoreOperator", "HabitStoreSQLite",
                "HabitStoreTesting", "RawStoreFiles", "ShadowVerifier",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreRolloutTests",
            dependencies: [
                "StandardEngines",
                "CPostgres", "CSQLite", "HabitStoreLMDB", "HabitStorePostgres", "HabitStoreRollout",
                "HabitStoreSQLite", "HabitStoreTesting", "OrderedKeys", "PostgresTesting", "RawStoreFiles",
                "RolloutTesting", "ShadowVerifier", "Trials",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreImportTests",
            dependencies: [
                "StandardEngines",
                "CSQLite", "CZlib", "DurableFiles", "HabitStore", "HabitStoreImport", "HabitStoreLMDB",
                "HabitStoreSQLite",
                "HabitStoreTesting", "HabitTracker", "HabitTrackerImport", "JSONText", "RawStoreFiles",
                "ShadowVerifier",
            ],
            swiftSettings: crashSettings
        ),
        .testTarget(
            name: "HabitStoreMappedTests",
            dependencies: [
                "DurableFiles", "HabitStore", "HabitStoreImport", "HabitStoreLMDB", "HabitStoreMapped",
                "HabitStoreRollout",
                "HabitStoreSQLite", "HabitStoreTesting", "HabitTracker", "MappedTesting", "RawStoreFiles",
                "RolloutTesting",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TripsSampleTests",
            dependencies: [
                "StandardEngines",
                "HabitStore", "HabitStoreLMDB", "HabitStoreRollout", "HabitStoreSQLite", "HabitStoreTesting",
                "RolloutTesting", "ShadowVerifier", "TripsSample",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreCrashTests",
            dependencies: ["HabitStoreTesting", "Trials"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreMetricsTests",
            dependencies: [
                "FeatureFlags", "HabitStore", "HabitStoreFleet", "HabitStoreMetrics", "HabitStoreRollout",
                "HabitStoreTesting", "RolloutTesting", "StandardEngines",
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreFleetTests",
            dependencies: [
                "HabitStore", "HabitStoreFleet", "HabitStoreMetrics", "HabitStoreRollout",
                "HabitStoreTesting", "Hashing", "RolloutTesting", "StandardEngines", "Trials",
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "NotesOperator",
            dependencies: [
                "FeatureFlags", "HabitStore", "HabitStoreOperator", "HabitStoreRollout",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/NotesOperator",
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreOperatorTests",
            dependencies: [
                "HabitStore", "HabitStoreOperator", "HabitStoreRollout", "HabitStoreSQLite", "HabitStoreTesting",
                "NotesOperator", "RawStoreFiles", "StandardEngines",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HabitStoreCommandTests",
            dependencies: [
                "StandardEngines",
                "HabitStore", "HabitStoreCommand", "HabitStoreLMDB", "HabitStoreOperator", "HabitStoreRollout",
                "HabitStoreSQLite", "HabitStoreTesting", "RawStoreFiles", "ShadowVerifier", "Trials",
            ],
            swiftSettings: crashSettings
        ),
    ],
    swiftLanguageModes: [.v6]
)
