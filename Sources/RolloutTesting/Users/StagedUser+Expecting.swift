@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import ShadowVerifier

extension StagedUser {
    /// How many habits one of the two stores has; nil if there is no store.
    func habitCount(_ side: StoreSide) throws -> Int? {
        guard try engines.identity(of: address(side)) != nil else { return nil }
        return try withStore(side) { try $0.fetchCount(FetchDescriptor<Habit>()) }
    }

    /// - Throws: ``HabitStoreTesting/ContractViolation`` unless the store is at the stage, on the engine that serves there, and has exactly these
    ///   habits.
    func expect(_ store: UserStore, at stage: Stage, habits: [String]) throws {
        try expectEqual(try store.all(Habit.self).map(\.name).sorted(), habits.sorted(), "what is read")
        try expectEqual(try store.stage(), stage, "the stage")
        try expectEqual(try store.engine(), stage.authority == .old ? old : new, "the engine that serves")
    }

    /// - Throws: ``HabitStoreTesting/ContractViolation`` unless the verifier finds both stores equal and at the same token.
    func expectEqualStores() throws {
        let report = try withStore(.old) { old in
            try withStore(.new) { new in
                try ShadowVerifier(.init(name: "old", store: old), .init(name: "new", store: new)).run()
            }
        }
        try expectEqual(report.verdict, .match, "the verdict on the two stores, of \(report.differences),")
        try expectEqual(report.a.information.token, report.b.information.token, "the old store's token")
    }
}
