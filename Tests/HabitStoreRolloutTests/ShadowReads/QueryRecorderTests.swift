import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import ShadowVerifier
import Testing

@testable import HabitStoreRollout

/// Recording queries while they run.
struct QueryRecorderTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("recorded.json")
    }

    private func asked(_ recorder: QueryRecorder, _ body: (UserStore) throws -> Void) throws {
        let user = try StagedUser()
        let store = try user.stores { $0.queryRecorder = recorder }.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(id: SampleRecords.id(1), name: "Run", createdAt: SampleRecords.referenceDate))
        try body(store)
    }

    @Test func eachShapeIsRecordedOnceAndWithoutValues() throws {
        let recorder = QueryRecorder(path: path)
        try asked(recorder) { store in
            for name in ["Run", "Read", "my secret"] {
                let filter = try FilterExpression(text: "name == \"\(name)\" AND streak >= 7")
                let order = [SortDescriptor(\Habit.streak, order: .reverse)]
                _ = try store.fetch(FetchDescriptor<Habit>(filter: filter, sortBy: order, fetchLimit: 5))
                _ = try store.fetchCount(FetchDescriptor<Habit>(filter: filter, sortBy: order, fetchLimit: 5))
            }
            _ = try store.all(Tag.self)
            _ = try store.model(Habit.self, id: SampleRecords.id(1))
        }
        try recorder.save()
        let queries = try QueryFile.load(path: path).queries
        #expect(
            queries.map(\.name) == [
                "Habit where name == ? AND streak >= ? by -streak, limited", "Tag", "Habit where id == ?",
            ]
        )
        #expect(queries.map(\.redacted) == [true, nil, true])
        #expect(queries[0].filter == "name == \"x\" AND streak >= 1")
        #expect(queries[0].limit == 5)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!text.contains("secret") && !text.contains("Run"))
        #expect(try permissions() == 0o600)
    }

    @Test func valuesAreKeptOnRequest() throws {
        let recorder = QueryRecorder(path: path, keepsValues: true)
        try asked(recorder) { store in
            _ = try store.fetch(FetchDescriptor<Habit>(filter: try FilterExpression(text: "name == \"my secret\"")))
        }
        try recorder.save()
        let query = try #require(try QueryFile.load(path: path).queries.first)
        #expect(query.filter == "name == \"my secret\"")
        #expect(query.redacted == nil)
        #expect(query.name == "Habit where name == ?")
        #expect(try permissions() == 0o600)
    }

    @Test func questionsOfWritesAreRecordedToo() throws {
        let recorder = QueryRecorder(path: path)
        try asked(recorder) { store in
            _ = try store.delete(Habit.self, where: #Predicate { $0.streak > 100 })
        }
        #expect(recorder.queries.map(\.name) == ["Habit where streak > ?"])
    }

    /// A redacted filter must parse again, whatever kinds of values it compares.
    @Test(arguments: [
        "id == \"00000000-0000-0000-0000-000000000009\"", "createdAt >= \"2020-01-01\"", "target > 0.25",
        "category == nil",
        "category IN [\"a\", \"b\", nil]", "NOT isArchived", "name CONTAINS[cd] \"é\"", "100 / streak == 3",
        "ANY entries { note CONTAINS \"x\" AND value > 1.5 }", "COUNT tags == 2", "LENGTH(name) > 5",
    ])
    func everyKindOfConditionIsReadAgain(filter: String) throws {
        let recorder = QueryRecorder(path: path)
        try asked(recorder) { store in
            do {
                _ = try store.fetch(FetchDescriptor<Habit>(filter: try FilterExpression(text: filter)))
            } catch let error as HabitStoreError where error.code == .evaluationFailed {
                // The query was recorded all the same.
            }
        }
        #expect(recorder.leftOut == 0)
        try recorder.save()
        let query = try #require(try QueryFile.load(path: path).queries.first)
        #expect(try query.shape() == query.name)
        _ = try query.recordQuery().bound(to: HabitSchema.current)
    }

    @Test func whatNoTextCanSayIsCounted() throws {
        let recorder = QueryRecorder(path: path)
        try asked(recorder) { _ = try $0.read { ShadowQuestion.opaque.ask($0) } }
        #expect(recorder.queries.isEmpty)
        #expect(recorder.leftOut == 1)
    }

    @Test func aFileThatIsThereIsAddedTo() throws {
        let first = QueryRecorder(path: path)
        try asked(first) { _ = try $0.all(Tag.self) }
        try first.save()
        let before = try QueryFile.load(path: path).queries
        let second = QueryRecorder(path: path)
        try asked(second) { store in
            _ = try store.all(Tag.self)
            _ = try store.all(Draft.self)
        }
        try second.save()
        let after = try QueryFile.load(path: path).queries
        #expect(after.map(\.name) == ["Tag", "Draft"])
        #expect(after.first == before.first)
    }

    @Test func aFileThatIsNoneIsLeftAsItIs() throws {
        try Data("oops".utf8).write(to: URL(fileURLWithPath: path))
        let recorder = QueryRecorder(path: path)
        try asked(recorder) { _ = try $0.all(Tag.self) }
        let error = #expect(throws: HabitStoreError.self) { try recorder.save() }
        #expect(error?.code == .invalidQuery)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "oops")
    }

    private func permissions() throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue & 0o777
    }
}
