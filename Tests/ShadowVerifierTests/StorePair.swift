import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker

@testable import ShadowVerifier

/// Two in-memory stores, the second a copy of the first, and ways to make them differ.
struct StorePair {
    let a: InMemoryHabitStore
    let b: InMemoryHabitStore

    /// Identifiers that are easy to distinguish, and ordered by their numbers.
    static func id(_ number: Int) -> UUID {
        let digits = String(number, radix: 16)
        let text = "00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - digits.count) + digits
        return UUID(uuidString: text) ?? UUID()
    }

    static let tag = Tag(id: id(1), name: "sport")
    static let run = Habit(
        id: id(2),
        name: "Run",
        createdAt: Date(timeIntervalSinceReferenceDate: 1_000),
        streak: 9,
        tagIDs: [id(1)]
    )
    static let read = Habit(id: id(3), name: "Read", createdAt: Date(timeIntervalSinceReferenceDate: 2_000), streak: 3)
    static let entries = (10..<20).map { number in
        Entry(
            id: id(number),
            date: Date(timeIntervalSinceReferenceDate: Double(number) * 86_400.25),
            note: number.isMultiple(of: 2) ? "note \(number)" : nil,
            habitID: number.isMultiple(of: 3) ? id(3) : id(2)
        )
    }
    static let draft = Draft(
        id: id(30),
        content: "unfinished",
        creationDate: Date(timeIntervalSinceReferenceDate: 5),
        attachments: ["a.png"]
    )

    /// A store with the records above, and its copy with the same history.
    init() throws {
        a = try InMemoryHabitStore(schema: HabitSchema.current)
        try a.write(author: "test") { transaction in
            try transaction.insert(Self.tag)
            try transaction.insert(Self.run)
            try transaction.insert(Self.read)
            for entry in Self.entries { try transaction.insert(entry) }
            try transaction.insert(Self.draft)
        }
        b = try InMemoryHabitStore(schema: HabitSchema.current)
        try a.copyContents(to: b)
    }

    /// Changes values of a record without the history and the rules.
    static func plant(
        _ store: InMemoryHabitStore,
        _ entity: String,
        _ id: UUID,
        _ changes: [String: Value]
    ) throws {
        let position = try store.schema.position(ofEntity: entity)
        let description = store.schema.entities[position]
        try store.replicate { replica in
            guard var values = try replica.record(entity: position, id: id)?.values(description.layout) else {
                throw HabitStoreError(.notFound, "the record to change is not there")
            }
            for (name, value) in changes {
                guard let index = description.position(of: name) else {
                    throw HabitStoreError(.unknownAttribute, "the attribute to change is not there")
                }
                values[index] = value
            }
            try replica.put(entity: position, id: id, try EncodedRecord(values, layout: description.layout))
        }
    }

    /// Removes a record without the history and the rules.
    static func remove(_ store: InMemoryHabitStore, _ entity: String, _ id: UUID) throws {
        let position = try store.schema.position(ofEntity: entity)
        try store.replicate { try $0.remove(entity: position, id: id) }
    }

    /// Compares both.
    func verify(_ configure: (inout VerificationOptions) -> Void = { _ in }) throws -> VerificationReport {
        var options = VerificationOptions()
        options.tokenTries = 2
        configure(&options)
        return try ShadowVerifier(.init(name: "A", store: a), .init(name: "B", store: b), options: options).run()
    }
}
