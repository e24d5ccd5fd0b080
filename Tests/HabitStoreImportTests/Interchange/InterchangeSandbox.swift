import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreImport

/// A folder for exports, and stores with odd values.
struct InterchangeSandbox {
    static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../fixtures/lived-in.sqlite").standardizedFileURL.path

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func export(_ store: any HabitStore, _ format: InterchangeFormat, _ name: String = "out") throws -> String {
        _ = try InterchangeExport(store, as: format).write(to: folder.path(name))
        return folder.path(name)
    }

    func open(_ path: String, _ options: InterchangeImport.Options = .init()) throws -> InterchangeImport {
        try #require(try InterchangeImport(path: path, options))
    }

    /// All encoded records of a store.
    func records(_ store: any ReplicableStore) throws -> [[EncodedRecord]] {
        try store.replicaRead { replica in
            try store.schema.entities.indices.map { entity in
                var records: [EncodedRecord] = []
                try replica.enumerate(entity: entity, after: nil) { _, record in
                    records.append(record)
                    return true
                }
                return records
            }
        }
    }

    static let texts = [
        "", " ", "=1+1", "+1", "-1", "@x", "a,b", "\"", "\"\"", "a\nb", "a\r\nb", "\r", "é", "🏃‍♂️", "\u{FEFF}x", "nil",
        "null", "\\", "\u{1}", "\u{7F}", "\u{2028}", "x ", "a\tb", "]", "{\"a\": [",
        String(repeating: "long ", count: 2_000),
    ]

    /// Texts, numbers and dates that no person would write.
    static func oddStore(seed: UInt64) throws -> InMemoryHabitStore {
        var random = SeededGenerator(seed: seed)
        func text() -> String { texts[Int(random.next() % UInt64(texts.count))] }
        func number() -> Double {
            let odd = [
                0, .leastNonzeroMagnitude, -1.7976931348623157e308, 0.1, 1.0 / 3, 1e22, 123_456_789.123_456_789, -0.5,
            ]
            let bits = Double(bitPattern: random.next())
            return random.next() % 2 == 0 || !bits.isFinite ? odd[Int(random.next() % UInt64(odd.count))] : bits
        }
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        try store.write { transaction in
            let tags = texts.map { Tag(name: $0) }
            for tag in tags { try transaction.insert(tag) }
            for _ in 0..<40 {
                var habit = Habit(name: text(), createdAt: Date(timeIntervalSinceReferenceDate: number()))
                habit.streak = random.next() % 2 == 0 ? .max : .min
                habit.category = random.next() % 2 == 0 ? nil : text()
                habit.target = random.next() % 2 == 0 ? nil : number()
                habit.tagIDs = Set(tags.prefix(Int(random.next() % 5)).map(\.id))
                try transaction.insert(habit)
                for _ in 0..<5 {
                    let note = random.next() % 3 == 0 ? nil : text()
                    let date = Date(timeIntervalSinceReferenceDate: 700_000_000 + Double(random.next() % 1_000_000) / 7)
                    let habitID = random.next() % 4 == 0 ? nil : habit.id
                    try transaction.insert(Entry(date: date, note: note, value: number(), habitID: habitID))
                }
                let attachments = (0..<Int(random.next() % 4)).map { _ in text() }
                try transaction.insert(Draft(content: text(), attachments: attachments))
            }
        }
        return store
    }
}
