import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreLMDB

/// Another program truncated an LMDB file that was open: the store continued with the mapped pages, and crashed with SIGBUS at the first missing one.
/// Now the length is checked now and then, and the store reports damage before that.
struct LMDBCutFileTests {
    /// A file with room after its last page, which can be cut without removing a page that is read.
    private func withCutFile(_ body: (LMDBHabitStore, _ cut: () throws -> Void) throws -> Void) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store.lmdb")
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { try? file.close() }
        let length = try file.seekToEnd()
        try file.truncate(atOffset: length + 65_536)
        // The store sees this length.
        for _ in 0..<64 { _ = try store.all(Habit.self) }
        try body(store) { try file.truncate(atOffset: length) }
    }

    @Test func aReadIsRefusedSoon() throws {
        try withCutFile { store, cut in
            try cut()
            let codes = (0..<64).compactMap { _ in
                errorCode { _ = try store.all(Habit.self) }
            }
            #expect(codes.last == .corrupt && codes.allSatisfy { $0 == .corrupt })
            // And every later one.
            #expect(errorCode { _ = try store.all(Habit.self) } == .corrupt)
        }
    }

    @Test func aWriteIsRefusedAtOnce() throws {
        try withCutFile { store, cut in
            try cut()
            #expect(errorCode { try store.save(Habit(name: "Swim")) } == .corrupt)
        }
    }

    @Test func aFileThatGrowsIsNone() throws {
        let folder = try TemporaryFolder()
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

    /// `@unchecked`: `lock` guards `number`.
    private final class FailureCount: @unchecked Sendable {
        private let lock = NSLock()
        private var number = 0

        var count: Int { lock.withLock { number } }

        func add() { lock.withLock { number += 1 } }
    }
}
