import Foundation
import HabitStore
import HabitStoreSQLite
import HabitTracker
import Testing

@testable import HabitStoreImport

/// A mapped import once lost the relationships that no mapping named: a join table of 1,893 rows was neither in the store nor in the attachment nor
/// in the report, and the comparison said IDENTICAL.
@Suite struct PlantedMappedLossTests {
    private static let mapping = CoreDataMapping(entities: [
        .init(
            source: "Book",
            target: "Habit",
            identity: "isbn",
            attributes: ["title": "name", "published": "createdAt", "price": "target", "isColoured": nil],
            constants: [
                "streak": .int(0), "timesPerPeriod": .int(1), "periodDays": .int(1), "isArchived": .bool(false),
            ]
        ),
        .init(source: "Page", target: "Entry", attributes: ["number": "value"], constants: ["date": .double(0.5)]),
        .init(source: "Tag", target: "Tag", attributes: ["name": "name"]),
    ])

    private final class Scene {
        let fixture: CoreDataFixture
        let path: String
        let report: CoreDataImportReport

        init(_ mapping: CoreDataMapping) throws {
            fixture = try CoreDataFixture()
            try fixture.writeLibrary()
            try fixture.writeHistory()
            try fixture.sql("UPDATE ZBOOK SET ZPUBLISHED = 7; UPDATE ZTAG SET ZNAME = 'same'")
            path = fixture.folder.appendingPathComponent("habits.sqlite").path
            let file = try CoreDataFile(path: fixture.path)
            let store = try SQLiteHabitStore(path: path, schema: HabitSchema.current)
            defer { store.close() }
            report = try CoreDataImporter(file, mapping, into: store, notesPath: path).run()
        }

        func unaccounted(_ mapping: CoreDataMapping) throws -> [String] {
            let file = try CoreDataFile(path: fixture.path)
            let store = try SQLiteHabitStore(path: path, schema: HabitSchema.current)
            defer { store.close() }
            return try CoreDataAccount(of: file, in: store, mapping: mapping).unaccounted.map(\.message)
        }

        func drop(_ suffix: String, _ text: String) throws {
            let lines = try String(contentsOfFile: path + suffix, encoding: .utf8).split(separator: "\n")
            let left = lines.filter { !$0.contains(text) }
            #expect(left.count < lines.count, "nothing was planted")
            try Data((left.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path + suffix))
        }
    }

    @Test func whatTheMappingDoesNotNameIsKeptAndReported() throws {
        let scene = try Scene(Self.mapping)
        #expect(try scene.unaccounted(Self.mapping) == [])
        let counts = Dictionary(
            scene.report.losses.map { ("\($0.entity).\($0.property ?? "-")", $0.count) },
            uniquingKeysWith: +
        )
        #expect(counts["Page.book"] == 3)
        #expect(counts["Z_1TAGS.Book.tags"] == 3)
        #expect(counts["Z_1SEQUELS.Book.prequels"] ?? counts["Z_1SEQUELS.Book.sequels"] == 1)
    }

    static let losses: [(file: String, text: String, place: String)] = [
        (".unmapped.jsonl", "Z_1TAGS", "Z_1TAGS"), (".unmapped.jsonl", "Z_1SEQUELS", "Z_1SEQUELS"),
        (".unmapped.jsonl", "\"ZBOOK\",\"entity\":\"Page\"", "ZPAGE.ZBOOK"),
        (".unmapped.jsonl", "Z_FOK_BOOK", "ZPAGE.Z_FOK_BOOK"),
        (".unmapped.jsonl", "borrowed", "ZNOTE.ZTEXT"), (".unmapped.jsonl", "ZLINK", "ZBOOK.ZLINK"),
        (".unmapped.jsonl", "not brought over", "ZTAG.ZNAME"), (".unmapped.jsonl", "\"transaction\":2", "ATRANSACTION"),
        (".ledger.jsonl", "Page 5", "ZPAGE.Z_PK"),
    ]

    @Test(arguments: losses)
    func aLossBesideTheStoreIsFound(_ loss: (file: String, text: String, place: String)) throws {
        let scene = try Scene(Self.mapping)
        try scene.drop(loss.file, loss.text)
        let found = try scene.unaccounted(Self.mapping)
        #expect(found.contains { $0.contains(loss.place) }, "\(loss.text): \(found)")
    }

    @Test func anAttributeThatIsMappedAndLostIsFound() throws {
        let scene = try Scene(Self.mapping)
        let store = try SQLiteHabitStore(path: scene.path, schema: HabitSchema.current)
        try store.write(author: "me") { transaction in
            for var habit in try transaction.all(Habit.self) {
                habit.target = nil
                try transaction.save(habit)
            }
        }
        store.close()
        #expect(try scene.unaccounted(Self.mapping).contains { $0.contains("ZBOOK.ZPRICE") } == true)
    }
}
