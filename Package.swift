// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]

let package = Package(
    name: "HabitStore",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "FeatureFlags", targets: ["FeatureFlags"])
    ],
    targets: [
        .target(name: "FeatureFlags", swiftSettings: settings),
        .target(name: "HabitTracking", swiftSettings: settings),
        .testTarget(name: "FeatureFlagsTests", dependencies: ["FeatureFlags"], swiftSettings: settings),
        .testTarget(name: "HabitTrackingTests", dependencies: ["HabitTracking"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
