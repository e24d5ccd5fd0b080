// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Notes",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "HabitStore", path: "../habitstore")],
    targets: [
        .target(
            name: "NotesModel",
            dependencies: [
                .product(name: "HabitStoreMacros", package: "HabitStore"),
                .product(name: "HabitStoreRollout", package: "HabitStore"),
                .product(name: "StandardEngines", package: "HabitStore"),
            ]
        ),
        .executableTarget(name: "Notes", dependencies: ["NotesModel"]),
        .executableTarget(
            name: "notes-ops",
            dependencies: ["NotesModel", .product(name: "HabitStoreOperator", package: "HabitStore")]
        ),
    ]
)
