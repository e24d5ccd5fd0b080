import Foundation
import HabitStoreTesting
import HabitTracker
import RawStoreFiles
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreLMDB

/// Files that contradict themselves went unnoticed: missing data was taken for empty.
@Suite("LMDB: files that contradict themselves")
struct LMDBContradictionTests {
    private let folder: TemporaryFolder
    private let path: String
    private let habit = Habit(name: "CafeXX", tagIDs: [])

    init() throws {
        folder = try TemporaryFolder()
        path = folder.store
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.save(habit)
        try store.insert(
            (0..<30).map { Entry(date: Date(timeIntervalSinceReferenceDate: Double($0)), habitID: habit.id) }
        )
        store.close()
    }

    /// Changes the file in one transaction of the library itself.
    private func change(_ body: (RawTransaction) throws -> Void) throws {
        let environment = try RawEnvironment(path: path, isDurable: false)
        defer { environment.close() }
        try environment.write(body)
    }

    private func drop(_ name: String) throws { try change { try $0.drop(name) } }

    /// Changes the bytes of the habit's record, and updates their checksum.
    private func changeHabit(_ body: (inout [UInt8]) -> Void) throws {
        try change { transaction in
            let key = withUnsafeBytes(of: habit.id.uuid) { Array($0) }
            var record = try #require(try transaction.get("Habit", key))
            body(&record)
            Self.seal(&record)
            try transaction.put("Habit", key, record)
        }
    }

    /// Updates the checksum of a record.
    private static func seal(_ record: inout [UInt8]) {
        let checksum = record.withUnsafeBytes { RecordChecksum.compute($0) }
        record.withUnsafeMutableBytes { $0.storeBytes(of: checksum.littleEndian, toByteOffset: 4, as: UInt32.self) }
    }

    private func findings() throws -> [StoreFinding] {
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: true))
        defer { store.close() }
        return try store.check { _ in }
    }

    /// An index whose database was gone was still listed as complete. Opened for writing, the store recreated the database and took it for complete:
    /// queries that use the index found nothing, and no check noticed.
    @Test func anIndexThatIsGoneIsMissingAndIsBuiltByTheNextOpeningForWriting() throws {
        try drop("Entry.date")
        #expect(try findings().map(\.kind) == ["indexMissing"])
        #expect(try findings().map(\.severity) == [.anomaly])
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        defer { store.close() }
        let end = Date(timeIntervalSinceReferenceDate: 10)
        let early = FetchDescriptor<Entry>(
            predicate: #Predicate { $0.date < end }
        )
        #expect(try store.explain(early).accessPath == "index Entry(date)")
        #expect(try store.fetchCount(early) == 10)
        #expect(try store.check { _ in } == [])
    }

    /// A missing database of records was also recreated, empty.
    @Test(arguments: ["Entry", "history"])
    func recordsThatAreGoneAreDamageAndNotNone(_ name: String) throws {
        try drop(name)
        for isReadOnly in [true, false] {
            let error = #expect(throws: HabitStoreError.self) {
                _ = try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: isReadOnly))
            }
            #expect(error?.code == .corrupt && error?.isDamage == true)
            #expect(error?.message.contains("database \(name) is gone") == true)
        }
    }

    /// A database with keys in another order is a damaged store, not an invalid argument.
    @Test(arguments: ["Tag", "Entry.date", "digests"])
    func aDatabaseInAnotherOrderIsDamage(_ name: String) throws {
        try drop(name)
        try change { try $0.make(name, .reversedKeys) }
        let error = #expect(throws: HabitStoreError.self) {
            _ = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        }
        #expect(error?.code == .corrupt && error?.message.contains(name) == true)
    }

    /// The same decomposed name in both files, whose stores claim that all text is in NFC, passed for equal: SQLite returned it in NFC and LMDB
    /// unchanged, and only one of the checks noticed.
    @Test func decomposedTextIsReadInNFCAndFound() throws {
        try changeHabit { record in
            let name = Array("CafeXX".utf8)
            guard let start = record.indices.first(where: { record[$0...].starts(with: name) }) else { return }
            record.replaceSubrange(start + 4..<start + 6, with: [0xCC, 0x81])
        }
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: true))
        defer { store.close() }
        let scalars = try store.all(Habit.self).map { Array($0.name.unicodeScalars) }
        #expect(scalars == [Array("Caf\u{e9}".unicodeScalars)])
        let found = try store.check { _ in }.filter { $0.kind == "nonCanonicalText" }
        #expect(found.map(\.severity) == [.damage])
        #expect(found.first?.id == habit.id && found.first?.attribute == "name")
    }

    /// According to the format, equal records have equal bytes. Records with extra bytes, between their parts or at the end, were read as if those
    /// were absent, and no check noticed.
    @Test(arguments: ["behind", "bitmap", "truth"])
    func bytesThatNoValueIsWrittenAsAreFound(_ place: String) throws {
        try changeHabit { record in
            switch place {
            case "behind": record += Array("evil".utf8)
            // Eleven attributes use a bit each, of sixteen.
            case "bitmap": record[9] |= 0x80
            // id 16, name 8, createdAt 8, streak 8, category 8, then isArchived.
            default: record[8 + 2 + 48] = 2
            }
        }
        let found = try findings()
        #expect(found.map(\.kind) == ["recordDamaged"] && found.map(\.severity) == [.damage])
        #expect(found.first?.id == habit.id)
        #expect(found.first?.message.contains("written as") == true)
    }

    /// A record of the first versions' stores may not be in NFC. A copy of it made a store that claims that all its text is in NFC, and it was not.
    @Test func aCopyOfDecomposedTextIsInNFC() throws {
        try changeHabit { record in
            let name = Array("CafeXX".utf8)
            guard let start = record.indices.first(where: { record[$0...].starts(with: name) }) else { return }
            record.replaceSubrange(start + 4..<start + 6, with: [0xCC, 0x81])
        }
        let source = try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: true))
        let copy = try LMDBHabitStore(path: folder.path("copy.lmdb"), schema: HabitSchema.current)
        try source.replicaRead { from in
            try copy.replicate { to in
                try from.enumerate(entity: 0, after: nil) { id, record in
                    try to.put(entity: 0, id: id, record)
                    return true
                }
            }
        }
        #expect(try copy.check { _ in } == [])
        #expect(try copy.fetchCount(FetchDescriptor<Habit>(predicate: #Predicate { $0.name == "Caf\u{e9}" })) == 1)
        source.close()
        copy.close()
    }

    /// Extreme numbers in every byte of the bookkeeping, the history and the digests, and in every field of a record, cause an error or a finding,
    /// but never a crash.
    @Test func theGreatestAndTheLeastNumbersInEachFieldEndNothing() throws {
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var tried = 0
        for name in ["metadata", "history", "digests", "Habit", "Entry", "Entry.date", "Entry.habitID+date"] {
            for pattern in [
                [UInt8](repeating: 0xFF, count: 8), [UInt8](repeating: 0xFF, count: 7) + [0x7F], Self.least,
            ] {
                for offset in stride(from: 0, to: 96, by: 3) {
                    try whole.write(to: URL(fileURLWithPath: path))
                    guard try overwrite(name, offset, pattern) else { break }
                    exercise()
                    tried += 1
                }
            }
        }
        #expect(tried > 200)
    }

    private static let least: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0x80]

    /// Overwrites bytes of a database's last value; false if `offset` is past its end.
    private func overwrite(_ name: String, _ offset: Int, _ pattern: [UInt8]) throws -> Bool {
        var isWithin = false
        try change { transaction in
            let last = try #require(try transaction.items(name).last)
            var bytes = last.value
            isWithin = offset < max(1, bytes.count)
            for (place, byte) in pattern.enumerated() where offset + place < bytes.count {
                bytes[offset + place] = byte
            }
            if name == "Habit" || name == "Entry", bytes.count >= RecordLayout.headerSize { Self.seal(&bytes) }
            try transaction.put(name, last.key, bytes)
        }
        return isWithin
    }

    /// Reads everything in the file. The reads must finish, and only with a `HabitStoreError`; other tests check the results of single faults.
    private func exercise() {
        do {
            let store = try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: true))
            defer { store.close() }
            for read in [
                { _ = try store.information() }, { _ = try store.check { _ in } }, { _ = try store.checkDigests() },
                { _ = try store.all(Habit.self) }, { _ = try store.all(Entry.self) },
                { _ = try store.fetchHistory(after: .zero) },
            ] {
                do { try read() } catch { #expect(error is HabitStoreError) }
            }
        } catch {
            #expect(error is HabitStoreError)
        }
    }
}
