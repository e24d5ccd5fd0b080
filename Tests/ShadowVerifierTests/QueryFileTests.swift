import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import ShadowVerifier

/// Invalid files of queries are refused with the error and its place.
struct QueryFileTests {
    private func load(_ text: String) throws -> QueryFile {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("queries-\(UUID().uuidString).json")
        try Data(text.utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        return try QueryFile.load(path: url.path)
    }

    private func error(_ text: String) -> HabitStoreError? {
        #expect(throws: HabitStoreError.self) { _ = try load(text) }
    }

    @Test func aFileOfQueriesIsRead() throws {
        let file = try load(
            #"{"queries": [{"name": "heroes", "entity": "Habit", "filter": "streak >= 7", "sort": ["-streak"], "limit": 3}]}"#
        )
        let query = try #require(file.queries.first).recordQuery()
        #expect(query.sort == [.init("streak", ascending: false)])
        #expect(query.limit == 3)
        #expect(query.filter == .compare(.greaterOrEqual, .attribute(AttributePath("streak")), .literal(.int(7))))
    }

    @Test func aSyntaxErrorNamesTheQueryAndTheColumn() throws {
        let error = error(#"{"queries": [{"name": "odd", "entity": "Habit", "filter": "streak >= "}]}"#)
        #expect(error?.code == .invalidQuery)
        #expect(error?.message.contains("\"odd\"") == true)
        #expect(error?.location.column == 11)
    }

    @Test func twoQueriesOfOneNameAreRefused() throws {
        let text = #"{"queries": [{"name": "a", "entity": "Habit"}, {"name": "a", "entity": "Tag"}]}"#
        #expect(error(text)?.code == .invalidQuery)
    }

    @Test(arguments: ["", "[]", "{", #"{"queries": 5}"#, #"{"queries": [{"entity": "Habit"}]}"#])
    func whatIsNoFileOfQueriesIsRefusedInOneLine(text: String) throws {
        let error = error(text)
        #expect(error?.code == .invalidQuery)
        #expect(error?.description.contains("\n") == false)
    }

    @Test func aMissingFileAndAFolderAreToldApart() throws {
        let missing = #expect(throws: HabitStoreError.self) {
            _ = try QueryFile.load(path: "/nonexistent/queries.json")
        }
        #expect(missing?.code == .notFound)
        let folder = #expect(throws: HabitStoreError.self) {
            _ = try QueryFile.load(path: FileManager.default.temporaryDirectory.path)
        }
        #expect(folder?.code == .notAStore)
    }

    /// A query for an attribute that does not exist failed alike in both stores, and so passed for equal.
    @Test(arguments: [
        QueryFile.Query(name: "q", entity: "Habbit"),
        QueryFile.Query(name: "q", entity: "Habit", filter: "nmae == \"Run\""),
        QueryFile.Query(name: "q", entity: "Habit", sort: ["nmae"]),
        QueryFile.Query(name: "q", entity: "Habit", filter: "name > 5"),
    ])
    func aQueryForSomethingThatNoStoreHasIsAnErrorAndNoMatch(query: QueryFile.Query) throws {
        let pair = try StorePair()
        let error = #expect(throws: HabitStoreError.self) { _ = try pair.verify { $0.queries = [query] } }
        #expect([.unknownEntity, .unknownAttribute, .invalidQuery].contains(error?.code))
        #expect(error?.message.contains("\"q\"") == true)
    }
}
