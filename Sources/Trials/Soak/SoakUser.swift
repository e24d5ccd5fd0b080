import Foundation
import HabitStore
import HabitStoreRollout
import Logging
import StandardEngines

/// The user whose reads are compared.
struct SoakUser {
    static let name = "alice"

    let root: String

    private var flags: String { root + "/flags.json" }

    /// Makes the root, with flags that let the user go all the way.
    func make() throws {
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        let stages = Stage.allCases.map { "\"\($0.rawValue)\": \"\($0.rawValue)\"" }.joined(separator: ", ")
        let text = """
            {"flags": {"habit-store-stage": {"state": "ENABLED", "variants": {\(stages)}, "defaultVariant": "complete"}}}
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: flags))
    }

    /// The user's store, as one process sees it. Every question is compared.
    func open() throws -> UserStore { try stores().store(for: Self.name) }

    /// The file that holds what the user has now.
    func address() throws -> StoreAddress { try stores().currentAddress(of: Self.name) }

    private func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 0
        options.shadowReads.oneIn = 1
        options.shadowReads.recordEvery = 10_000
        options.logger = Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() }
        return try UserStores(root: root, flags: flags, options: options)
    }

    /// What the evidence says of differences.
    func differences() throws -> [String] {
        try EvidenceLog(try UserDirectory(root: root, user: Self.name)).read().records.compactMap { record in
            guard case .difference(let stage, let token, let message, _) = record.event else { return nil }
            return "\(stage.rawValue), token \(token): \(message)"
        }
    }
}
