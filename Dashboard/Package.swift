// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]

let package = Package(
    name: "HabitStoreDashboard",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "habitstore-serve", targets: ["HabitStoreServe"])],
    dependencies: [
        .package(name: "HabitStore", path: "..", traits: []),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    ],
    targets: [
        .executableTarget(
            name: "HabitStoreServe",
            dependencies: [
                .product(name: "HabitStore", package: "HabitStore"),
                .product(name: "HabitStoreFleet", package: "HabitStore"),
                .product(name: "HabitStoreMetrics", package: "HabitStore"),
                .product(name: "HabitStoreRollout", package: "HabitStore"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Mustache", package: "swift-mustache"),
            ],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
