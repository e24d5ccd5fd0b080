@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import Testing

@Suite("SQLite: in lockstep with the reference")
struct SQLiteDifferentialTests {
    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func answersWhatTheReferenceAnswers(_ seed: UInt64) throws {
        print("SQLite differential test: seed \(seed)")
        let report = try DifferentialTest(seed: seed, operations: 8_000, queries: 2_000).run(against: .sqlite)
        print("SQLite differential test: \(report)")
        #expect(report.operations >= 8_000 && report.queries == 2_000)
        #expect(report.answered > report.queries / 10)
    }

    /// A store that does not say in which Unicode form its text is: none of its text may be compared by bytes.
    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func anOlderStoreAnswersTheSame(_ seed: UInt64) throws {
        print("SQLite differential test of an older store: seed \(seed)")
        let older = StoreUnderTest(name: "older SQLite", isDurable: true) { directory, schema, identity, clock in
            let path = directory.appendingPathComponent("store.sqlite").path
            let options = SQLiteHabitStore.Options(identity: identity, now: clock)
            let store = try SQLiteHabitStore(path: path, schema: schema, options: options)
            try store.core.engine.write { try $0.setMetadata("textForm", nil) }
            return store
        }
        let report = try DifferentialTest(seed: seed, operations: 1_500, queries: 600).run(against: older)
        #expect(report.answered > report.queries / 10)
    }
}
