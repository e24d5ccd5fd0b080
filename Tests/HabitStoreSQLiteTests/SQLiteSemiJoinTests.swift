@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreSQLite

@Suite("SQLite: semi-joins")
struct SQLiteSemiJoinTests {
    /// Semi-joins are chosen for large tables, and the test's tables are small.
    private static let joining = StoreUnderTest(name: "joining SQLite", isDurable: true) {
        directory,
        schema,
        identity,
        clock in
        var options = SQLiteHabitStore.Options(identity: identity, now: clock)
        options.joinShare = 0
        let path = directory.appendingPathComponent("store.sqlite").path
        return try SQLiteHabitStore(path: path, schema: schema, options: options)
    }

    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func theyAnswerTheSameWhereverTheyAreChosen(_ seed: UInt64) throws {
        print("SQLite differential test of semi-joins: seed \(seed)")
        let report = try DifferentialTest(seed: seed, operations: 5_000, queries: 3_000).run(against: Self.joining)
        #expect(report.answered > report.queries / 10)
    }

    /// The stores of the differential test have no dangling references, which only old stores have.
    @Test func aDanglingReferenceIsNoRecord() throws {
        let file = try SQLiteTestStore()
        try file.make { try $0.insert(Entry(id: testID(1), habitID: nil)) }
        try file.sql("UPDATE Entry SET habitID = zeroblob(16)")
        let store = try file.open()
        defer { file.close(store) }
        let filter = Filter<Entry>(try FilterExpression(text: "habit != nil"))
        #expect(try store.fetchCount(FetchDescriptor(filter: filter)) == 0)
    }
}
