import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreLMDB

/// A routine system upgrade replaced LMDB 0.9 by 1.0 under the same name. It refuses every file of 0.9, and users with records in one could neither
/// read them nor be taken back to the old store. Now such a file is read without the library.
@Suite("LMDB stores that are rescued without liblmdb")
struct LMDBRescueTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("fixtures")

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Compares the two ways to read a file.
    private func expectTheSame(_ path: String, _ schema: Schema) throws {
        let rescued = try RescuedLMDBStore(rescuing: path, schema: schema)
        let outline = try RescuedLMDBStore.outline(rescuing: path)
        let store = try LMDBHabitStore(path: path, schema: schema, access: .readOnly)
        defer { store.close() }
        let (found, expected) = (try LMDBStoreContents(rescued), try LMDBStoreContents(store))
        #expect(found == expected)
        #expect(found.counts == found.identifiers.map(\.count))
        #expect(try outline == LMDBHabitStore.outline(ofStoreAt: path))
        #expect(try rescued.check { _ in } == store.check { _ in })
        #expect(try rescued.checkDigests() == store.checkDigests())
        #expect(rescued.path == path)
        rescued.close()
    }

    @Test func everyFixtureIsReadByteForByte() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.fixtures.path).filter {
            $0.hasSuffix(".lmdb")
        }
        #expect(names.count >= 3)
        for name in names {
            let path = folder.path(name)
            try FileManager.default.copyItem(atPath: Self.fixtures.appendingPathComponent(name).path, toPath: path)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let version = try RescuedLMDBStore.outline(rescuing: path).version
            let schema = try #require(HabitMigrationPlan.schemas.first { $0.versionIdentifier == version }).schema
            try expectTheSame(path, schema)
        }
    }

    @Test func severalLevelsAndLongValuesAreRead() throws {
        let path = folder.store
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        let habits = (0..<600).map { number in
            Habit(name: String(repeating: "é", count: number % 50 == 0 ? 9_000 : number % 90), streak: number)
        }
        try store.insert(habits)
        for round in 0..<3 {
            try store.insert(
                (0..<2_000).map { number in
                    Entry(
                        date: Date(timeIntervalSinceReferenceDate: Double(round * 10_000 + number)),
                        note: number % 400 == 0 ? String(repeating: "n", count: 40_000) : nil,
                        habitID: habits[number % 600].id
                    )
                }
            )
        }
        try store.write { transaction in
            for habit in habits[100..<200] { try transaction.delete(habit) }
        }
        try store.replicate { try $0.setRolloutState("{\"stage\":\"live\"}") }
        let header = try LMDBFileHeader(LMDBPageSource(path: path))
        #expect(header.current.lastPage > 500)
        store.close()
        try expectTheSame(path, HabitSchema.current)
    }

    @Test(arguments: [71, 72, 73] as [UInt64]) func anyRecordsAreReadByteForByte(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let path = folder.store
        let store = try LMDBHabitStore(path: path, schema: LMDBNote.schema)
        var kept: [LMDBNote] = []
        for _ in 0..<12 {
            let notes = (0..<Int.random(in: 1...60, using: &random)).map { _ in LMDBNoteSample.note(&random) }
            try store.insert(notes)
            kept += notes
            kept.shuffle(using: &random)
            let removed = kept.prefix(Int.random(in: 0...(kept.count / 3), using: &random))
            try store.write { for note in removed { try $0.delete(note) } }
            kept.removeFirst(removed.count)
        }
        store.close()
        try expectTheSame(path, LMDBNote.schema)
        let rescued = try RescuedLMDBStore(rescuing: path, schema: LMDBNote.schema)
        #expect(try Set(rescued.all(LMDBNote.self).map(\.id)) == Set(kept.map(\.id)), "seed \(seed)")
    }

    @Test func anEmptyStoreAndPrunedHistoryAreRead() throws {
        try LMDBHabitStore(path: folder.store, schema: HabitSchema.current).close()
        try expectTheSame(folder.store, HabitSchema.current)
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        for number in 0..<5 { try store.save(HabitTag(name: "\(number)")) }
        try store.replicate { try $0.pruneHistory(through: HistoryToken(rawValue: 3)) }
        try expectTheSame(folder.store, HabitSchema.current)
        try store.replicate { try $0.pruneHistory(through: HistoryToken(rawValue: 5)) }
        store.close()
        try expectTheSame(folder.store, HabitSchema.current)
    }

    @Test func queriesAreAnsweredAndWritesAreRefused() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let habit = Habit(name: "Run", streak: 9)
        try store.insert([habit, Habit(name: "Walk", streak: 1)])
        store.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        let rescued = try RescuedLMDBStore(rescuing: folder.store, schema: HabitSchema.current)
        #expect(try rescued.fetch(FetchDescriptor<Habit>(predicate: #Predicate { $0.streak >= 7 })) == [habit])
        for write in [
            { try rescued.save(Habit(name: "lost")) }, { try rescued.replicate { try $0.setRole(.sealed, epoch: 1) } },
            { try rescued.rebuildDigests() },
        ] as [() throws -> Void] {
            let error = #expect(throws: HabitStoreError.self) { try write() }
            #expect(error?.code == .engineUnavailable)
        }
        try rescued.backup(to: folder.path("copy"))
        let copy = try LMDBHabitStore(path: folder.path("copy"), schema: HabitSchema.current)
        #expect(try copy.fetchCount(FetchDescriptor<Habit>()) == 2)
        copy.close()
        rescued.close()
        let error = #expect(throws: HabitStoreError.self) { _ = try rescued.all(Habit.self) }
        #expect(error?.code == .closed)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
    }

    @Test func whatIsNoStoreIsRefusedAsByLMDB() throws {
        func code(_ path: String, _ schema: Schema = HabitSchema.current) -> HabitStoreError.Code? {
            do {
                _ = try RescuedLMDBStore(rescuing: path, schema: schema)
                return nil
            } catch { return (error as? HabitStoreError)?.code }
        }
        #expect(code(folder.path("none")) == .notFound)
        #expect(code(folder.url.path) == .notAStore)
        try Data("text".utf8).write(to: URL(fileURLWithPath: folder.path("text")))
        #expect(code(folder.path("text")) == .notAStore)
        try LMDBWrapperTestSample.make(path: folder.path("foreign"), seed: 5)
        #expect(code(folder.path("foreign")) == .notAStore)
        try LMDBHabitStore(path: folder.store, schema: HabitSchema.current).close()
        // The notes are of version 1, and the store is of version 3.
        #expect(code(folder.store, LMDBNote.schema) == .newerVersion)
        #expect(code(Self.fixtures.appendingPathComponent("v1.lmdb").path) == .migrationRequired)
    }

    /// Whatever was damaged, the result is an error or the store's contents.
    @Test(arguments: [81, 82, 83] as [UInt64]) func damageIsAnErrorValueAndNeverOtherRecords(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        try store.insert((0..<300).map { Habit(name: String(repeating: "x", count: $0 % 60 == 0 ? 9_000 : $0)) })
        store.close()
        let expected = try LMDBStoreContents(RescuedLMDBStore(rescuing: folder.store, schema: HabitSchema.current))
        let whole = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        var refused = 0
        for round in 0..<60 {
            var bytes = whole
            switch round % 3 {
            case 0:
                bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1:
                let page = Int.random(in: 0..<bytes.count / 4_096, using: &random) * 4_096
                bytes.replaceSubrange(page..<page + 256, with: random.bytes(256))
            default: bytes = bytes.prefix(Int.random(in: 0..<bytes.count, using: &random))
            }
            let path = folder.path("damaged")
            try bytes.write(to: URL(fileURLWithPath: path))
            do {
                let found = try LMDBStoreContents(RescuedLMDBStore(rescuing: path, schema: HabitSchema.current))
                // Values of the bookkeeping and the history have no checksums; records have.
                #expect(found.records == expected.records, "seed \(seed), round \(round)")
            } catch {
                refused += 1
                #expect(error is HabitStoreError, "seed \(seed), round \(round): \(error)")
            }
        }
        #expect(refused > 10, "seed \(seed)")
    }

    /// Another process with a working library may be writing: a rescue reads one consistent snapshot.
    @Test func aRescueBesideAWriterIsOneMoment() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let habits = (0..<200).map { Habit(name: "\($0)", streak: 0) }
        try store.insert(habits)
        let isStopped = Atomic(false)
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            var round = 0
            while !isStopped.load(ordering: .relaxed) {
                round += 1
                let streak = round
                _ = try? store.write { transaction in
                    for habit in habits {
                        var changed = habit
                        changed.streak = streak
                        try transaction.save(changed)
                    }
                }
                usleep(UInt32(round % 7) * 10_000)
            }
        }
        var rescues = 0
        for _ in 0..<25 {
            do {
                let rescued = try RescuedLMDBStore(rescuing: folder.store, schema: HabitSchema.current)
                #expect(Set(try rescued.all(Habit.self).map(\.streak)).count == 1)
                #expect(try rescued.check { _ in }.isEmpty)
                rescues += 1
            } catch let error as HabitStoreError {
                #expect(error.code == .busy)
            }
        }
        isStopped.store(true, ordering: .relaxed)
        group.wait()
        store.close()
        #expect(rescues > 0)
    }
}
