import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import Synchronization

/// Users who have reached each stage through the gate, to be copied: getting there costs more than most checks.
package final class StageTemplates: Sendable {
    /// The names of the records that every copied user has.
    package static let names = (1...3).map { "written \($0)" }

    private let made = Mutex<TemporaryFolder?>(nil)

    /// Copies a user at a stage to the root of a new user.
    func copy(_ stage: Stage, of rollout: RolloutUnderTest, to user: StagedUser) throws {
        let templates = try made.withLock { made in
            let templates = try made ?? make(rollout)
            made = templates
            return templates
        }
        try rollout.copyUsers(under: templates.path(stage.rawValue), to: user.root)
    }

    private func make(_ rollout: RolloutUnderTest) throws -> TemporaryFolder {
        let templates = try TemporaryFolder()
        let user = try rollout.user()
        for stage in Stage.allCases {
            let store = try user.stores().store(for: "alice")
            if stage == .off {
                let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
                for name in Self.names { try store.save(Draft(content: name, creationDate: date)) }
            }
            try user.bring(store, to: stage)
            store.close()
            try rollout.copyUsers(under: user.root, to: templates.path(stage.rawValue))
        }
        return templates
    }
}

extension RolloutUnderTest {
    /// Copies everything under a root, and the stores that engines keep elsewhere.
    package func copyUsers(under root: String, to target: String) throws {
        try FileManager.default.copyItem(atPath: root, toPath: target)
        let folders = try [root, target].map { try UserDirectory(root: $0, user: "alice").path }
        for provider in providers {
            let places = folders.map { provider.place(ofUser: "alice", inFolder: $0) }
            guard try provider.identity(at: places[0]) != nil, try provider.identity(at: places[1]) == nil else {
                continue
            }
            try provider.copy(places[0], to: places[1])
        }
    }
}
