// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]

let package = Package(
    name: "ThirdEngine",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [.library(name: "JournalEngine", targets: ["JournalEngine"])],
    dependencies: [.package(name: "HabitStore", path: "../..", traits: [])],
    targets: [
        .target(
            name: "JournalEngine",
            dependencies: [.product(name: "HabitStore", package: "HabitStore")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ThirdEngine",
            dependencies: [
                "JournalEngine",
                .product(name: "HabitStore", package: "HabitStore"),
                .product(name: "HabitStoreRollout", package: "HabitStore"),
                .product(name: "HabitStoreSQLite", package: "HabitStore"),
                .product(name: "HabitTracker", package: "HabitStore"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "JournalWriter",
            dependencies: [
                "JournalEngine",
                .product(name: "HabitStore", package: "HabitStore"),
                .product(name: "HabitTracker", package: "HabitStore"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "JournalEngineTests",
            dependencies: [
                "JournalEngine", "JournalWriter",
                .product(name: "HabitStore", package: "HabitStore"),
                .product(name: "HabitStoreLMDB", package: "HabitStore"),
                .product(name: "HabitStoreSQLite", package: "HabitStore"),
                .product(name: "HabitStoreTesting", package: "HabitStore"),
                .product(name: "HabitTracker", package: "HabitStore"),
                .product(name: "RolloutTesting", package: "HabitStore"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
