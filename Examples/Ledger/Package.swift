// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Ledger",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "HabitStore", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .target(name: "LedgerFile", dependencies: [.product(name: "GRDB", package: "GRDB.swift")]),
        .executableTarget(name: "Ledger1", dependencies: ["LedgerFile"]),
        .target(
            name: "LedgerModel",
            dependencies: [
                "LedgerFile",
                .product(name: "HabitStoreImport", package: "HabitStore"),
                .product(name: "HabitStoreLMDB", package: "HabitStore"),
                .product(name: "HabitStoreMacros", package: "HabitStore"),
                .product(name: "HabitStoreMapped", package: "HabitStore"),
                .product(name: "HabitStoreRollout", package: "HabitStore"),
            ],
            resources: [.embedInCode("mapping.json")]
        ),
        .executableTarget(
            name: "Ledger",
            dependencies: [
                "LedgerModel", .product(name: "HabitStoreImport", package: "HabitStore"),
                .product(name: "HabitStoreMapped", package: "HabitStore"),
            ]
        ),
        .executableTarget(
            name: "ledger-ops",
            dependencies: ["LedgerModel", .product(name: "HabitStoreOperator", package: "HabitStore")]
        ),
        .testTarget(name: "LedgerTests", dependencies: ["LedgerFile", "LedgerModel"]),
    ]
)
