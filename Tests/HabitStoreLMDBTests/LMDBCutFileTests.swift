import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreLMDB

/// Another program cut an LMDB file off under an open store: it went on with what was mapped, and died of SIGBUS at the first page
/// that was gone. Now the length is looked at now and then, and the store is damaged before that.
struct LMDBCutFileTests {
    /// A file with room behind its last page, which can be cut off without taking a page that is read.
    private func withCutFile(_ body: (LMDBHabitStore, _ cut: () throws -> Void) throws -> Void) throws {
        let folder = try LMDBWrapperTestFolder()
        let path = folder.path("store.lmdb")
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { try? file.close() }
        let length = try file.seekToEnd()
        try file.truncate(atOffset: length + 65_536)
        // The length is seen by the store.
        for _ in 0..<64 { _ = try store.all(Habit.self) }
        try body(store) { try file.truncate(atOffset: length) }
    }

    private func code(_ body: () throws -> Void) -> HabitStoreError.Code? {
        do {
            try body()
            return nil
        } catch { return (error as? HabitStoreError)?.code }
    }

    @Test func aReadIsRefusedSoon() throws {
        try withCutFile { store, cut in
            try cut()
            let codes = (0..<64).compactMap { _ in
                code { _ = try store.all(Habit.self) }
            }
            #expect(codes.last == .corrupt && codes.allSatisfy { $0 == .corrupt })
            // And every one from then on.
            #expect(code { _ = try store.all(Habit.self) } == .corrupt)
        }
    }

    @Test func aWriteIsRefusedAtOnce() throws {
        try withCutFile { store, cut in
            try cut()
            #expect(code { try store.save(Habit(name: "Swim")) } == .corrupt)
        }
    }

    @Test func aFileThatGrowsIsNone() throws {
        let folder = try LMDBWrapperTestFolder()
        let store = try LMDBHabitStore(path: folder.path("store.lmdb"), schema: HabitSchema.current)
        defer { store.close() }
        let readers = DispatchGroup()
        let failures = FailureCount()
        for _ in 0..<2 {
            DispatchQueue.global().async(group: readers) {
                for _ in 0..<2_000 where (try? store.fetchIdentifiers(FetchDescriptor<Draft>())) == nil {
                    failures.add()
                }
            }
        }
        for number in 0..<60 {
            try store.write { transaction in
                for habit in 0..<40 { try transaction.save(Habit(name: "habit \(number) \(habit)")) }
            }
        }
        readers.wait()
        #expect(failures.count == 0)
    }

    private final class FailureCount: @unchecked Sendable {
        private let lock = NSLock()
        private var number = 0

        var count: Int { lock.withLock { number } }

        func add() { lock.withLock { number += 1 } }
    }
}
