import CLMDB
import Foundation
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreLMDB

/// Files that say something else than they hold, of which nothing was told: what was missing was taken for empty.
@Suite("LMDB: files that contradict themselves")
struct LMDBContradictionTests {
    private let folder: LMDBWrapperTestFolder
    private let path: String
    private let habit = Habit(name: "CafeXX", tagIDs: [])

    init() throws {
        folder = try LMDBWrapperTestFolder()
        path = folder.path()
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.save(habit)
        try store.insert(
            (0..<30).map { Entry(date: Date(timeIntervalSinceReferenceDate: Double($0)), habitID: habit.id) }
        )
        store.close()
    }

    /// Runs `body` on one of the file's databases, by the library itself.
    private func change(
        _ name: String,
        flags: Int32 = 0,
        _ body: (_ transaction: OpaquePointer?, _ database: MDB_dbi) -> Int32
    ) throws {
        var environment: OpaquePointer?
        #expect(mdb_env_create(&environment) == 0)
        defer { mdb_env_close(environment) }
        #expect(mdb_env_set_maxdbs(environment, 64) == 0)
        try #require(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR), 0o600) == 0)
        var transaction: OpaquePointer?
        try #require(mdb_txn_begin(environment, nil, 0, &transaction) == 0)
        var database: MDB_dbi = 0
        try #require(mdb_dbi_open(transaction, name, UInt32(flags), &database) == 0)
        #expect(body(transaction, database) == 0)
        try #require(mdb_txn_commit(transaction) == 0)
    }

    private func drop(_ name: String) throws { try change(name) { mdb_drop($0, $1, 1) } }

    /// Puts the bytes of the habit's record through a change, and gives them their checksum.
    private func changeHabit(_ body: (inout [UInt8]) -> Void) throws {
        try change("Habit") { transaction, database in
            var id = habit.id.uuid
            return withUnsafeMutableBytes(of: &id) { id in
                var key = MDB_val(mv_size: 16, mv_data: id.baseAddress)
                var value = MDB_val()
                let found = mdb_get(transaction, database, &key, &value)
                guard found == 0 else { return found }
                var record = Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
                body(&record)
                let checksum = record.withUnsafeBytes { RecordChecksum.compute($0) }
                record.withUnsafeMutableBytes {
                    $0.storeBytes(of: checksum.littleEndian, toByteOffset: 4, as: UInt32.self)
                }
                return record.withUnsafeMutableBytes { record in
                    var value = MDB_val(mv_size: record.count, mv_data: record.baseAddress)
                    return mdb_put(transaction, database, &key, &value, 0)
                }
            }
        }
    }

    private func findings() throws -> [StoreFinding] {
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: true))
        defer { store.close() }
        return try store.check { _ in }
    }

    /// An index whose database was gone stood in the list of the complete ones. Opened for writing, the database was made anew and
    /// believed complete: queries that go by the index found nothing, and no check said a word.
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

    /// Records whose database was gone were made anew as well, and none.
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

    /// A database whose keys are in another order is a damaged store, and not a wrong argument.
    @Test(arguments: ["Tag", "Entry.date", "digests"])
    func aDatabaseInAnotherOrderIsDamage(_ name: String) throws {
        try drop(name)
        try change(name, flags: MDB_CREATE | MDB_REVERSEKEY) { _, _ in 0 }
        let error = #expect(throws: HabitStoreError.self) {
            _ = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        }
        #expect(error?.code == .corrupt && error?.message.contains(name) == true)
    }

    /// The same decomposed name in both files, of stores that say that all of their text is in NFC, passed for equal: SQLite handed
    /// it out in NFC and LMDB as it was, and only one of the checks looked.
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

    /// The format says that equal records have equal bytes. Those that had more, between their parts or behind them, were read as if
    /// nothing was there, and no check told.
    @Test(arguments: ["behind", "bitmap", "truth"])
    func bytesThatNoValueIsWrittenAsAreFound(_ place: String) throws {
        try changeHabit { record in
            switch place {
            case "behind": record += Array("evil".utf8)
            // Eleven attributes have a bit each, of sixteen.
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

    /// A record of a store of the first versions may be in another form of Unicode. Copied, it made a store that says that all of its
    /// text is in NFC, and is not.
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

    /// Every byte of the bookkeeping, the history and the digests, and every field of a record, takes the greatest and the least
    /// numbers: whatever comes of it is an error or a finding, and the process lives on.
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

    /// Overwrites bytes of the value that a database ends with; false behind its end.
    private func overwrite(_ name: String, _ offset: Int, _ pattern: [UInt8]) throws -> Bool {
        var isWithin = false
        try change(name) { transaction, database in
            var cursor: OpaquePointer?
            guard mdb_cursor_open(transaction, database, &cursor) == 0 else { return -1 }
            defer { mdb_cursor_close(cursor) }
            var (key, value) = (MDB_val(), MDB_val())
            guard mdb_cursor_get(cursor, &key, &value, MDB_LAST) == 0 else { return -1 }
            var bytes = Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
            isWithin = offset < max(1, bytes.count)
            for (place, byte) in pattern.enumerated() where offset + place < bytes.count {
                bytes[offset + place] = byte
            }
            if name == "Habit" || name == "Entry", bytes.count >= RecordLayout.headerSize {
                let checksum = bytes.withUnsafeBytes { RecordChecksum.compute($0) }
                bytes.withUnsafeMutableBytes {
                    $0.storeBytes(of: checksum.littleEndian, toByteOffset: 4, as: UInt32.self)
                }
            }
            var copy = Array(UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size))
            return copy.withUnsafeMutableBytes { key in
                bytes.withUnsafeMutableBytes { value in
                    var (key, value) = (
                        MDB_val(mv_size: key.count, mv_data: key.baseAddress),
                        MDB_val(mv_size: value.count, mv_data: value.baseAddress)
                    )
                    return mdb_put(transaction, database, &key, &value, 0)
                }
            }
        }
        return isWithin
    }

    /// All that reads the file. What comes of it is known where a test plants one thing; here it has to come to an end.
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
