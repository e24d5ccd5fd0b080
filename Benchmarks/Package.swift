// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "HabitStoreBenchmarks",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "habitstore-bench", targets: ["HabitStoreBench"])],
    dependencies: [
        .package(name: "HabitStore", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "CYardstick",
            dependencies: ["CLibPQ"],
            cSettings: [.unsafeFlags(["-O2"])],
            linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("lmdb")]
        ),
        .executableTarget(
            name: "HabitStoreBench",
            dependencies: [
                "CYardstick",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "FeatureFlags", package: "HabitStore"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HabitStore", package: "HabitStore"),
                .product(name: "HabitStoreImport", package: "HabitStore"),
                .product(name: "HabitStoreMacros", package: "HabitStore"),
                .product(name: "HabitStoreMapped", package: "HabitStore"),
                .product(name: "HabitStoreSQLite", package: "HabitStore"),
                .product(name: "HabitStoreLMDB", package: "HabitStore"),
                .product(name: "HabitStorePostgres", package: "HabitStore"),
                .product(name: "HabitStoreRollout", package: "HabitStore"),
                .product(name: "HabitStoreTesting", package: "HabitStore"),
                .product(name: "HabitTracker", package: "HabitStore"),
                .product(name: "PostgresTesting", package: "HabitStore"),
                .product(name: "StandardEngines", package: "HabitStore"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ShadowVerifier", package: "HabitStore"),
            ],
            swiftSettings: [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]
        ),
    ],
    swiftLanguageModes: [.v6]
)
