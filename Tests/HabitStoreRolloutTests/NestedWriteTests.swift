import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A write inside another one of the same store would wait for itself.
///
/// Stores refused it with different errors, so an app's handling of one no longer applied after its user had been moved. Now all refuse it alike.
struct NestedWriteTests {
    /// The error of a write inside another one.
    private func refusal(of store: some HabitStore) throws -> HabitStoreError {
        try store.write(author: nil) { _ in
            try #require(throws: HabitStoreError.self) { try store.save(Tag(name: "inner")) }
        }
    }

    @Test(arguments: EngineName.standard, Stage.allCases)
    func aWriteInsideOfAWriteIsRefusedAlikeWhereverAUserIs(old: EngineName, stage: Stage) throws {
        let expected = try refusal(of: InMemoryHabitStore(schema: HabitSchema.current))
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: stage)
        let found = try refusal(of: store)
        #expect(found.code == expected.code)
        #expect(found.message == expected.message)
        #expect(try store.all(Tag.self).allSatisfy { $0.name != "inner" })
    }
}
