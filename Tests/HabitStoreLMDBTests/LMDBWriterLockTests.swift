import CLMDB
import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A process stopped in the middle of a write, by a debugger or Control-Z, blocked all others: they waited for LMDB's lock without limit, and their
/// apps hung. Now a write that waits for another process fails with `busy` in time.
@Suite(.serialized) struct LMDBWriterLockTests {
    private static let limitSeconds = 0.3

    private let folder: TemporaryFolder
    private let environment: LMDBEnvironment
    private let database: LMDBDatabase

    init() throws {
        folder = try TemporaryFolder()
        var options = LMDBWrapperTestSample.options()
        options.writerWaitSeconds = Self.limitSeconds
        environment = try LMDBEnvironment.open(path: folder.store, options: options)
        database = try #require(try environment.openDatabases(names: ["records"], create: true).first)
        try environment.withWrite { try $0.put(database, [1], [1]) }
    }

    /// Locks like another process: the lock belongs to the open file, and this is another one.
    private func lockAsAnotherProcess() throws -> Int32 {
        let descriptor = open(folder.store, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        return descriptor
    }

    private func expectBusyInTime(_ body: () throws -> Void) {
        let beginning = Date()
        let error = #expect(throws: HabitStoreError.self) { try body() }
        let seconds = Date().timeIntervalSince(beginning)
        #expect(error?.code == .busy)
        #expect(error?.message.contains("another process has been writing for") == true)
        #expect(seconds >= Self.limitSeconds)
        // A busy machine may take its time to wake a thread, but not forever.
        #expect(seconds < 30)
    }

    @Test func aWriterIsToldWhileReadersGoOn() throws {
        let descriptor = try lockAsAnotherProcess()
        var hasRun = false
        expectBusyInTime { try environment.withWrite { _ in hasRun = true } }
        #expect(!hasRun)
        expectBusyInTime { _ = try environment.openDatabases(names: ["others"], create: true) }
        #expect(try environment.withRead { try $0.get(database, [1]).map(Array.init) } == [1])
        try environment.copy(to: folder.path("copy"), compact: false)
        #expect(try LMDBFileInspector.walk(path: folder.path("copy")).isEmpty)
        close(descriptor)
        try environment.withWrite { try $0.put(database, [2], [2]) }
        #expect(try environment.withRead { try $0.count(database) } == 2)
    }

    @Test func everyEndOfAWriteGivesTheLockBack() throws {
        struct Stop: Error {}
        func expectFree(_ moment: String) throws {
            let descriptor = try? lockAsAnotherProcess()
            #expect(descriptor != nil, "\(moment)")
            if let descriptor { close(descriptor) }
        }
        try expectFree("after a commit")
        #expect(throws: Stop.self) { try environment.withWrite { _ in throw Stop() } }
        try expectFree("after a throw")
        _ = try? environment.withWrite { _ = try? $0.put(database, [0], [1], mode: .append) }
        try expectFree("after a commit that was refused")
        try FileManager.default.moveItem(atPath: folder.store, toPath: folder.path("away"))
        #expect(throws: HabitStoreError.self) { try environment.withWrite { _ in } }
        try FileManager.default.moveItem(atPath: folder.path("away"), toPath: folder.store)
        try expectFree("after a beginning that was refused")
        #expect(throws: HabitStoreError.self) {
            try environment.withWrite { transaction in
                try transaction.put(database, [2], [UInt8](repeating: 0, count: 1 << 27))
            }
        }
        try expectFree("after a transaction that did not fit")
        try environment.withWrite { _ in
            // While it is open no other writer gets the lock.
            let descriptor = open(folder.store, O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            #expect(flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        }
    }

    @Test(.enabled(if: LMDBWrapperTestHelper.isAvailable)) func aFrozenProcessIsNotWaitedForWithoutLimit() throws {
        let helper = try LMDBWrapperTestHelper.build(in: folder)
        try LMDBWrapperTestHelper.whileFrozen(helper, path: folder.store) { () throws in
            expectBusyInTime { try environment.withWrite { _ in } }
            #expect(try environment.withRead { try $0.count(database) } == 1)
        }
        // The system released the process's lock.
        try environment.withWrite { try $0.put(database, [2], [2]) }
        #expect(try environment.withRead { try $0.count(database) } == 2)
        #expect(try LMDBFileInspector.walk(path: folder.store).isEmpty)
    }
}
