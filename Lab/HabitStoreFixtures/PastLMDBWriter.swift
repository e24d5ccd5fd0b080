import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import RawStoreFiles

/// Writes an LMDB store of schema version 1 or 2 with liblmdb alone, independent of the engine's code, as described in the article *On-disk formats*.
/// Frozen: it is the file of an older program.
struct PastLMDBWriter {
    private static let habitKinds: [AttributeKind] = [.uuid, .string, .date, .int]
    private static let entryKinds: [AttributeKind] = [.uuid, .date, .string, .double, .uuid]

    static func write(_ past: PastContents, identity: UUID, to path: String) throws {
        let environment = try RawEnvironment(path: path + "-draft")
        var indexes = ["Habit.name", "Habit.createdAt", "Entry.habitID+date", "Entry.date"]
        if past.version == 2 { indexes.insert("Habit.category", at: 1) }
        var metadata = PastMetadata.make(past, identity: identity)
        metadata["format"] = "HabitStore 1"
        metadata["indexes"] = indexes.joined(separator: "\n")
        try environment.write(["metadata", "Habit", "Entry", "history"] + indexes) { put in
            for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
                try put("metadata", Array(key.utf8), Array(value.utf8))
            }
            for habit in past.migrated.habits { try write(habit, past, put) }
            for entry in past.migrated.entries { try write(entry, put) }
            for transaction in past.migrated.history { try write(transaction, put) }
        }
        try environment.finish(compactedTo: path)
    }

    private static func write(_ habit: Habit, _ past: PastContents, _ put: RawEnvironment.Put) throws {
        let category = habit.category.map { Value.string($0) } ?? .null
        let record = try EncodedRecord(
            [.uuid(habit.id), .string(past.name(habit)), .date(habit.createdAt), .int(Int64(habit.streak))]
                + (past.version == 1 ? [] : [category]) + [.string(past.tagText(habit))],
            layout: RecordLayout(kinds: habitKinds + (past.version == 1 ? [] : [.string]) + [.string])
        )
        let id = bytes(habit.id)
        try put("Habit", id, record.bytes)
        try put("Habit.name", [1] + text(past.name(habit)) + id, [])
        try put("Habit.createdAt", [1] + ordered(habit.createdAt) + id, [])
        if past.version == 2 { try put("Habit.category", (habit.category.map { [1] + text($0) } ?? [0]) + id, []) }
    }

    private static func write(_ entry: Entry, _ put: RawEnvironment.Put) throws {
        let record = try EncodedRecord(
            [
                .uuid(entry.id), .date(entry.date), entry.note.map { .string($0) } ?? .null,
                entry.value.map { .double($0) } ?? .null, entry.habitID.map { .uuid($0) } ?? .null,
            ],
            layout: RecordLayout(kinds: entryKinds)
        )
        let id = bytes(entry.id)
        try put("Entry", id, record.bytes)
        let habit = entry.habitID.map { [1] + bytes($0) } ?? [0]
        try put("Entry.habitID+date", habit + [1] + ordered(entry.date) + id, [])
        try put("Entry.date", [1] + ordered(entry.date) + id, [])
    }

    private static func write(_ transaction: HistoryTransaction, _ put: RawEnvironment.Put) throws {
        func key(_ sequence: Int) -> [UInt8] {
            bigEndian(UInt64(transaction.token.rawValue)) + bigEndian(UInt32(sequence))
        }
        var header = littleEndian(transaction.timestamp.timeIntervalSinceReferenceDate.bitPattern)
        header += littleEndian(UInt32(transaction.changes.count))
        header += transaction.author.map { [1] + Array($0.utf8) } ?? [0]
        try put("history", key(0), header)
        for (place, change) in transaction.changes.enumerated() {
            let entity = Array(change.entity.utf8)
            let (kind, json): (UInt8, [UInt8])
            switch change.kind {
            case .insert: (kind, json) = (1, [])
            case .update(let names): (kind, json) = (2, Array(try FixtureWriter.json(names).utf8))
            case .delete(let values): (kind, json) = (3, Array(try FixtureWriter.json(values).utf8))
            }
            let name = littleEndian(UInt16(entity.count)) + entity
            try put("history", key(place + 1), [kind] + name + bytes(change.id) + json)
        }
    }

    // MARK: Bytes

    private static func bytes(_ id: UUID) -> [UInt8] { withUnsafeBytes(of: id.uuid) { Array($0) } }

    private static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func ordered(_ date: Date) -> [UInt8] {
        let bits = date.timeIntervalSinceReferenceDate.bitPattern
        return bigEndian(bits >> 63 == 1 ? ~bits : bits | 1 << 63)
    }

    private static func text(_ text: String) -> [UInt8] {
        text.utf8.flatMap { $0 == 0 ? [0, 0xFF] : [$0] } + [0, 0]
    }
}
