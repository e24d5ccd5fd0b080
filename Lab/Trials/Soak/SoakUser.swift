import Foundation
@_spi(Engines) import HabitStore
import HabitStorePostgres
import HabitStoreRollout
import HabitTracker
import Logging
import StandardEngines

/// The user whose reads are compared.
struct SoakUser {
    let root: String
    private let engines: Engines
    private let old: EngineName
    private let new: EngineName

    /// - Parameter command: names the user's old and new engine.
    init(root: String, _ command: SoakCommand) throws {
        self.root = root
        old = command.from
        if let server = command.server {
            try PostgresServer(server).prepare()
            engines = try Engines(Engines.standard.providers + [PostgresProvider(server: server)])
            new = .postgres
        } else {
            engines = .standard
            new = Engines.standard.pair(old: command.from).new
        }
    }

    /// A name that is unique on the server.
    private var name: String { URL(fileURLWithPath: root).lastPathComponent }
    private var flags: String { root + "/flags.json" }

    /// Creates the root, with flags that let the user move all the way.
    func make() throws {
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try want(isKilled: false)
    }

    /// Writes the flag file, which sends the user to `complete`.
    func want(isKilled: Bool) throws {
        func flag(_ name: String, _ variants: [String], _ value: String) -> String {
            let named = variants.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
            return
                #""habit-store-\#(name)": {"state": "ENABLED", "variants": {\#(named)}, "defaultVariant": "\#(value)"}"#
        }
        let names = engines.names.map(\.rawValue)
        let flags = [
            flag("stage", Stage.allCases.map(\.rawValue), Stage.complete.rawValue), flag("old", names, old.rawValue),
            flag("new", names, new.rawValue),
            #""habit-store-kill": {"state": "ENABLED", "variants": {"on": \#(isKilled)}, "defaultVariant": "on"}"#,
        ]
        try Data("{\"flags\": {\(flags.joined(separator: ", "))}}".utf8).write(to: URL(fileURLWithPath: self.flags))
    }

    /// The user's store, opened as in any process. Every query is compared.
    func open() throws -> UserStore { try stores().store(for: name) }

    /// Opens the store that serves the user, bypassing the rollout.
    func current() throws -> any UserStoreBackend {
        try engines.open(stores().currentAddress(of: name), .readOnly, schema: HabitSchema.current)
    }

    /// Removes everything that belongs to the user.
    func remove() throws {
        let directory = try UserDirectory(root: root, user: name)
        if engines.isShared(new) {
            let address = engines.address(new, ofUser: name, inFolder: directory.path)
            if try engines.identity(of: address) != nil { try engines.provider(new).remove(address.path) }
        }
        try FileManager.default.removeItem(atPath: root)
    }

    private func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 0
        options.shadowReads.oneIn = 1
        options.shadowReads.recordEvery = 10_000
        options.logger = Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() }
        return try UserStores(root: root, flags: flags, engines: engines, schema: HabitSchema.current, options: options)
    }

    /// The differences in the evidence.
    func differences() throws -> [String] {
        try EvidenceLog(try UserDirectory(root: root, user: name)).read().records.compactMap { record in
            guard case .difference(let stage, let token, let message, _) = record.event else { return nil }
            return "\(stage.rawValue), token \(token): \(message)"
        }
    }
}
