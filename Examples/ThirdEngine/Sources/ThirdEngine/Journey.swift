import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker
import JournalEngine

/// Moves a user from SQLite to the journal and back, one stage at a time, like an operator: with the flag file.
struct Journey {
    private let folder: URL
    private let engines: Engines
    private var written: [String] = []

    init(in folder: URL) throws {
        self.folder = folder
        engines = try Engines([SQLiteProvider(), JournalProvider()])
    }

    /// Moves the user there and back.
    mutating func run() throws {
        try go(from: .sqlite, to: .journal)
        try go(from: .journal, to: .sqlite)
        print("\(written.count) habits, all there")
    }

    private mutating func go(from old: EngineName, to new: EngineName) throws {
        for stage in Stage.allCases {
            try want(stage, from: old, to: new)
            // A process of the app, which knows nothing about engines and stages.
            let store = try stores().store(for: "alice")
            defer { store.close() }
            try bring(store, to: stage)
            written.append("\(old) to \(new), \(stage.rawValue)")
            try store.save(Habit(name: written[written.count - 1]))
            let found = try store.all(Habit.self).map(\.name)
            guard found.sorted() == written.sorted() else {
                throw HabitStoreError(.internalInconsistency, "\(found.count) of \(written.count) habits are there")
            }
            let mirror = stage.mirror.map { ", mirrored to \($0 == .old ? old : new)" } ?? ""
            print("\(stage.rawValue): served by \(try store.engine())\(mirror), \(found.count) habits")
        }
    }

    /// Plays the operator and the app's reads until the gate opens; not needed in an app whose users advance by themselves.
    private func bring(_ store: UserStore, to stage: Stage) throws {
        while try store.stage() < stage {
            for _ in 0..<5 { _ = try store.all(Habit.self) }
            guard let decision = try store.advance(), decision.isOpen else {
                throw HabitStoreError(.unsupported, "the gate to \(stage.rawValue) is closed")
            }
        }
    }

    private func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        // A rollout of real users requires more; see the article *Rollout*.
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 1
        options.logger.logLevel = .error
        return try UserStores(
            root: folder.appendingPathComponent("root").path,
            flags: flags.path,
            engines: engines,
            schema: HabitSchema.current,
            options: options
        )
    }

    private var flags: URL { folder.appendingPathComponent("flags.json") }

    private func want(_ stage: Stage, from old: EngineName, to new: EngineName) throws {
        func flag(_ variants: [String], _ value: String) -> String {
            let list = variants.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
            return #"{"state": "ENABLED", "variants": {\#(list)}, "defaultVariant": "\#(value)"}"#
        }
        let names = engines.names.map(\.rawValue)
        let text = """
            {"flags": {
              "habit-store-stage": \(flag(Stage.allCases.map(\.rawValue), stage.rawValue)),
              "habit-store-old": \(flag(names, old.rawValue)),
              "habit-store-new": \(flag(names, new.rawValue))
            }}
            """
        try Data(text.utf8).write(to: flags)
    }
}
