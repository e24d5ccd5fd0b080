import Foundation
import HabitStore
import StandardEngines
import Synchronization

@testable import HabitStoreRollout

/// Users who have come to each stage on the regular way, to be copied: the way costs more than most tests.
enum StageTemplates {
    private struct Templates {
        let folder: TemporaryFolder

        func path(_ stage: Stage) -> String { folder.path(stage.rawValue) }
    }

    /// What every copied user has written already.
    static let names = (1...3).map { "written \($0)" }

    private static let made = Mutex<[EngineName: Templates]>([:])

    /// Puts a user at a stage under a root at which there is nothing yet.
    static func copy(_ stage: Stage, old: EngineName, to root: String) throws {
        let templates = try made.withLock { made in
            if let templates = made[old] { return templates }
            let templates = try make(old)
            made[old] = templates
            return templates
        }
        try FileManager.default.copyItem(atPath: templates.path(stage), toPath: root)
    }

    private static func make(_ old: EngineName) throws -> Templates {
        let templates = Templates(folder: try TemporaryFolder())
        let user = try StagedUser(old: old)
        for stage in Stage.allCases {
            let store = try user.stores().store(for: "alice")
            if stage == .off {
                for name in names { try store.save(Draft(content: name, creationDate: SampleRecords.referenceDate)) }
            }
            try user.bring(store, to: stage)
            store.close()
            try FileManager.default.copyItem(atPath: user.root, toPath: templates.path(stage))
        }
        return templates
    }
}
