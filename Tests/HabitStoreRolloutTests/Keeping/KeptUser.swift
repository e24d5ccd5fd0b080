import Foundation
import HabitStore
import HabitTracker
import StandardEngines

@testable import HabitStoreRollout

/// A user whose backups are made and restored.
struct KeptUser {
    let user: StagedUser

    /// Brings a user with two drafts to a stage.
    init(at stage: Stage, old: EngineName = .sqlite) throws {
        user = try StagedUser(old: old)
        try with { store in
            try store.save(Draft(content: "a"))
            if stage > .off { try user.bring(store, to: stage) { _ = try $0.all(Draft.self) } }
            try store.save(Draft(content: "b"))
            _ = store.waitUntilMirrorIsIdle(waitSeconds: 60)
        }
    }

    var path: String { get throws { try user.directory.path } }

    /// Opens the user as a process does, and closes it.
    @discardableResult
    func with<R>(_ body: (UserStore) throws -> R) throws -> R { try user.with(body) }

    func write(_ contents: String...) throws {
        try with { store in
            for content in contents { try store.save(Draft(content: content)) }
            _ = store.waitUntilMirrorIsIdle(waitSeconds: 60)
        }
    }

    /// Brings the user to a later stage.
    func bring(to stage: Stage) throws {
        try with { try user.bring($0, to: stage) { _ = try $0.all(Draft.self) } }
    }

    func contents() throws -> [String] { try with { try $0.all(Draft.self).map(\.content).sorted() } }

    @discardableResult
    func backUp(_ name: String = "backup") throws -> UserBackup {
        try user.stores().backUp("alice", to: user.folder.path(name)).backup
    }

    @discardableResult
    func restore(_ backup: UserBackup, replacing: Bool = false) throws -> RestorationOutcome {
        try user.stores().restore(backup, replacing: replacing, by: "a test", because: "it was lost")
    }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    func events() throws -> [EvidenceEvent] { try EvidenceLog(user.directory).read().records.map(\.event) }

    /// The number of restores in the evidence.
    func restorations() throws -> Int {
        try events().count { if case .restored = $0 { true } else { false } }
    }
}
