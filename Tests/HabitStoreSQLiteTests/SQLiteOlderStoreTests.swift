import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreSQLite

/// Earlier versions stored text as typed. On another keyboard "é" is two scalars: the habit was there and could not be found. Now text is read, found
/// and ordered in NFC, and reported.
@Suite("SQLite: text of older stores")
struct SQLiteOlderStoreTests {
    private static let composed = "caf\u{e9}"
    private static let kelvin = "K"

    /// Habits 1 and 2 have the same name in two forms, 3 a different one; tag 4 and draft 5 are not in NFC either.
    private func older() throws -> SQLiteTestStore {
        let file = try SQLiteTestStore()
        try file.make { transaction in
            try transaction.insert(Habit(id: testID(1), name: Self.composed))
            try transaction.insert(Habit(id: testID(2), name: Self.composed))
            try transaction.insert(Habit(id: testID(3), name: "cafz"))
            try transaction.insert(Tag(id: testID(4), name: Self.kelvin))
            try transaction.insert(Draft(id: testID(5), content: "c", attachments: ["a", Self.composed]))
        }
        try file.makeOlder(
            """
            UPDATE Habit SET name = 'cafe' || char(0x301) WHERE substr(id, 16) = x'02';
            UPDATE Tag SET name = char(0x212A);
            UPDATE Draft SET attachments = '["a","cafe' || char(0x301) || '"]';
            """
        )
        return file
    }

    @Test func textIsHandedOutInNFC() throws {
        let file = try older()
        let store = try file.open()
        defer { file.close(store) }
        let names = try store.all(Habit.self).map { Array($0.name.unicodeScalars) }
        #expect(names[0] == names[1])
        #expect(try store.all(Tag.self).map { Array($0.name.utf8) } == [Array("K".utf8)])
        let attachments = try store.all(Draft.self).first?.attachments.map { Array($0.utf8) }
        #expect(attachments == [Array("a".utf8), Array(Self.composed.utf8)])
        try store.replicaRead { snapshot in
            let sizes = try [testID(1), testID(2)].map { try snapshot.record(entity: 0, id: $0)?.bytes.count }
            #expect(sizes[0] == sizes[1])
        }
    }

    @Test func textIsFoundInAnyForm() throws {
        let file = try older()
        let store = try file.open()
        defer { file.close(store) }
        let filters = [
            #"name == "café""#, #"name >= "café" AND name <= "café""#, #"name IN ["x", "café"]"#, #"name ENDSWITH "é""#,
        ]
        for filter in filters {
            let found = try store.fetchIdentifiers(FetchDescriptor<Habit>(filter: FilterExpression(text: filter)))
            #expect(found == [testID(1), testID(2)], "\(filter)")
        }
        let tag = RecordQuery(entity: "Tag", filter: try FilterExpression(text: #"name == "K""#))
        #expect(try store.read { try $0.countRecords(tag) } == 1)
    }

    @Test func textIsOrderedByItsNFCForm() throws {
        let file = try older()
        let store = try file.open()
        defer { file.close(store) }
        // Ordered by stored bytes, the second would come before the third.
        let sorted = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name)], fetchLimit: 2)
        #expect(try store.fetchIdentifiers(sorted) == [testID(3), testID(1)])
        #expect(try !store.explain(sorted).orderIsNative)
    }

    @Test func aUniqueValueIsTakenInAnyForm() throws {
        let file = try older()
        let store = try file.open()
        defer { file.close(store) }
        let error = try requireSQLiteWrapperError(.uniqueViolation) { try store.save(Tag(name: "K")) }
        #expect(error.location.id == testID(4))
        try store.save(Tag(name: "L"))
    }

    @Test func otherFormsAreReportedAsAnomaliesAndKept() throws {
        let file = try older()
        let store = try file.open()
        let findings = try store.check { _ in }
        #expect(findings.allSatisfy { $0.kind == "nonCanonicalText" && $0.severity == .anomaly })
        let places = Set(findings.map { "\($0.entity ?? "").\($0.attribute ?? "") \($0.id?.uuid.15 ?? 0)" })
        #expect(places == ["Habit.name 2", "Tag.name 4", "Draft.attachments 5"])
        var habit = try #require(try store.model(Habit.self, id: testID(2)))
        habit.streak = 5
        try store.save(habit)
        #expect(try store.check { _ in }.count == 3)
        habit.name = "caf\u{e9}s"
        try store.save(habit)
        #expect(try store.check { _ in }.count == 2)
        store.close()
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        #expect(try connection.int64("SELECT unicode(name) FROM Tag") == 0x212A)
        connection.close()
    }

    @Test func theFormIsKnownOnceTheStoreSaysSo() throws {
        let file = try older()
        let store = try file.open()
        let named = FetchDescriptor(predicate: #Predicate<Habit> { $0.name == "x" })
        #expect(try store.explain(named).method == .scan)
        store.close()
        let newer = try SQLiteTestStore()
        let other = try newer.open()
        #expect(try other.explain(named).accessPath == "index Habit(name)")
        newer.close(other)
    }
}
