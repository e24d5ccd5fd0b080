import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

// These tests use the parts of the public kit, too.
typealias TemporaryFolder = HabitStoreTesting.TemporaryFolder
typealias StagedUser = RolloutTesting.StagedUser
typealias FaultyUser = RolloutTesting.FaultyUser
typealias StageTemplates = RolloutTesting.StageTemplates
typealias Ledger = RolloutTesting.Ledger

extension RolloutUnderTest {
    static let fromSQLite = RolloutUnderTest(from: SQLiteProvider(), to: LMDBProvider())
    static let fromLMDB = fromSQLite.reversed
    static let intoMemory = RolloutUnderTest(from: SQLiteProvider(), to: InMemoryProvider())
    static let outOfMemory = RolloutUnderTest(from: InMemoryProvider(), to: LMDBProvider())

    /// From one of the two engines that come with the package to the other one.
    static func standard(from old: EngineName) -> RolloutUnderTest { old == .sqlite ? fromSQLite : fromLMDB }
}

extension StagedUser {
    /// - Parameter new: the user's new engine; nil for the other one of the two default engines.
    init(old: EngineName = .sqlite, new: EngineName? = nil, engines: Engines = .standard) throws {
        try self.init(EnginePair(old: old, new: new ?? old.otherStandard), engines)
    }

    /// A user with records who has reached a stage.
    ///
    /// - Parameter model: what the shadow reads for the evidence fetch.
    init<M: PersistentModel>(
        at stage: Stage,
        old: EngineName = .sqlite,
        reading model: M.Type = Habit.self,
        _ fill: (UserStore) throws -> Void
    ) throws {
        try self.init(old: old)
        try with { store in
            try fill(store)
            try bring(store, to: stage) { _ = try $0.all(model) }
        }
    }
}

extension FaultyUser {
    init(at stage: Stage, old: EngineName = .sqlite) throws { try self.init(at: stage, .standard(from: old)) }
}

extension Ledger {
    /// A ledger whose complaints fail the test.
    convenience init() { self.init { Issue.record("\($0)") } }
}
