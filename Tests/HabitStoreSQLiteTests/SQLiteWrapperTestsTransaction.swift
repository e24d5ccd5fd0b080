import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreSQLite

@Suite("SQLite wrapper: transactions")
struct SQLiteWrapperTestsTransaction {
    private struct Stop: Error {}

    @Test func everyConnectionIsHardenedAndTheWriterSyncsFully() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.withWrite { connection in
            let synchronous = try connection.int64("PRAGMA synchronous")
            #expect(synchronous == 2)
            #expect(try connection.texts("PRAGMA journal_mode") == ["wal"])
            #expect(try connection.int64("PRAGMA wal_autocheckpoint") == 0)
        }
        for check in [database.withRead, database.withWrite] as [((SQLiteConnection) throws -> Void) throws -> Void] {
            try check { connection in
                #expect(try connection.int64("PRAGMA foreign_keys") == 0)
                #expect(try connection.int64("PRAGMA trusted_schema") == 0)
                #expect(try connection.int64("PRAGMA cell_size_check") == 1)
                #expect(throws: HabitStoreError.self) {
                    _ = try connection.prepare("SELECT load_extension('x')").step()
                }
                #expect(throws: HabitStoreError.self) { _ = try connection.prepare("SELECT \"no column\" FROM t") }
                try connection.exec("PRAGMA writable_schema = ON")
                #expect(throws: HabitStoreError.self) { try connection.exec("DELETE FROM sqlite_schema") }
            }
        }
        try database.close()
    }

    @Test func aThrowRollsBack() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        #expect(throws: Stop.self) {
            try database.withWrite { connection in
                try connection.exec("INSERT INTO t (n) VALUES (1)")
                throw Stop()
            }
        }
        #expect(try database.rowCount() == 0)
        try database.insert(rows: 1)
        #expect(try database.rowCount() == 1)
        try database.close()
    }

    @Test func aThrowWithARowUnderTheCursorRollsBack() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.insert(rows: 3)
        #expect(throws: Stop.self) {
            try database.withWrite { connection in
                let statement = try connection.prepare("UPDATE t SET n = 0 RETURNING id")
                _ = try statement.step()
                throw Stop()
            }
        }
        #expect(try database.withRead { try $0.int64("SELECT count(*) FROM t WHERE n = 0") } == 0)
        // A cursor that is left open must not hold the snapshot of its connection.
        try database.withRead { connection in _ = try connection.borrowStatement("SELECT id FROM t").step() }
        #expect(try database.checkpoint())
        try database.close()
    }

    /// A closure that caught a statement's error continued, and its transaction, which that error had ended, passed for committed: the user's record
    /// was silently lost. Now the error is thrown at the end.
    @Test func aTransactionThatSQLiteEndedIsNotTakenForCommitted() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try expectSQLiteWrapperError(.uniqueViolation) {
            try database.withWrite { connection in
                try connection.exec("INSERT INTO t (id, n) VALUES (1, 1)")
                #expect(throws: HabitStoreError.self) {
                    try connection.withStatement("INSERT OR ROLLBACK INTO t (id, n) VALUES (1, 2)") { try $0.run() }
                }
            }
        }
        #expect(try database.rowCount() == 0)
        try expectSQLiteWrapperError(.internalInconsistency) { try database.withWrite { try $0.exec("COMMIT") } }
        try expectSQLiteWrapperError(.internalInconsistency) { try database.withRead { try $0.exec("COMMIT") } }
        try database.insert(rows: 1)
        try database.close()
    }

    @Test func aSnapshotDoesNotSeeALaterWrite() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.withRead { connection in
            // The snapshot begins before the first statement of the closure.
            try database.insert(rows: 2)
            #expect(try connection.int64("SELECT count(*) FROM t") == 0)
            #expect(try database.rowCount() == 2)
            #expect(try connection.int64("SELECT count(*) FROM t") == 0)
        }
        #expect(try database.rowCount() == 2)
        try database.close()
    }

    @Test func aReaderCannotWrite() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try expectSQLiteWrapperError(.permissionDenied) {
            try database.withRead { try $0.exec("INSERT INTO t (n) VALUES (1)") }
        }
        let reading = try SQLiteDatabase(path: folder.file(), mode: .readOnly)
        try expectSQLiteWrapperError(.permissionDenied) { try reading.withWrite { _ in } }
        #expect(try reading.rowCount() == 0)
        try reading.close()
        try database.close()
    }

    @Test func aWriteInsideAWriteIsAnErrorAndNoDeadlock() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        let started = Date()
        try database.withWrite { connection in
            try connection.exec("INSERT INTO t (n) VALUES (1)")
            try expectSQLiteWrapperError(.unsupported) { try database.withWrite { _ in } }
            try expectSQLiteWrapperError(.unsupported) { _ = try database.checkpoint() }
            #expect(try database.rowCount() == 0)
        }
        #expect(Date().timeIntervalSince(started) < 4)
        #expect(try database.rowCount() == 1)
        try database.close()
    }

    @Test func readersBeyondTheLimitAreRefusedAfterTheStatedWait() throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.maximumReaders = 2
        options.busyLimitSeconds = 0.05
        let database = try folder.makeStore(options: options)
        try database.withRead { _ in
            try database.withRead { _ in
                try expectSQLiteWrapperError(.busy) { try database.withRead { _ in } }
            }
        }
        #expect(try database.rowCount() == 0)
        try database.close()
    }

    /// The seventeenth concurrent read of a process was refused as busy after five seconds.
    @Test func fortyReadsAreOpenAtOnce() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        func read(_ depth: Int) throws -> Int {
            try database.withRead { _ in depth == 0 ? 1 : try 1 + read(depth - 1) }
        }
        #expect(try read(39) == 40)
        try database.close()
    }

    @Test func aWriterThatWaitsTooLongIsBusy() throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.busyLimitSeconds = 0.05
        let database = try folder.makeStore(options: options)
        try database.withWrite { _ in
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                // The calling thread takes part, and is refused for another reason.
                let error = #expect(throws: HabitStoreError.self) { try database.withWrite { _ in } }
                #expect(error?.code == .busy || error?.code == .unsupported, "\(index)")
            }
        }
        try database.close()
    }

    @Test func theGateAdmitsInTheOrderOfArrival() throws {
        let gate = FairGate(places: 1)
        #expect(gate.enter(until: .after(seconds: 0)))
        #expect(!gate.enter(until: .after(seconds: 0.01)))
        let order = SQLiteWrapperLog()
        let group = DispatchGroup()
        for number in 0..<5 {
            let thread = Thread {
                let isAdmitted = gate.enter(until: .after(seconds: 20))
                order.append(isAdmitted ? number : -1)
                gate.leave()
                group.leave()
            }
            group.enter()
            thread.start()
            while gate.waitingCount <= number { usleep(200) }
        }
        gate.leave()
        group.wait()
        #expect(order.values == [0, 1, 2, 3, 4])
        #expect(gate.enter(until: .after(seconds: 0)))
    }

    @Test func aClosedStoreThrowsAndATransactionInProgressEndsWell() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.withWrite { connection in
            try database.close()
            try connection.exec("INSERT INTO t (n) VALUES (1)")
            try expectSQLiteWrapperError(.closed) { try database.withRead { _ in } }
        }
        try expectSQLiteWrapperError(.closed) { try database.withWrite { _ in } }
        try database.close()
        let again = try SQLiteDatabase(path: folder.file(), mode: .readWrite)
        #expect(try again.rowCount() == 1)
        try again.close()
    }

    @Test func transfersBetweenThreadsKeepTheirSum() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed of transfersBetweenThreadsKeepTheirSum: \(seed)")
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.checkpointPages = 10
        options.busyLimitSeconds = 60
        let database = try folder.makeStore(options: options)
        try database.withWrite { try $0.exec("INSERT INTO t (id, n) VALUES (1,100),(2,100),(3,100),(4,100),(5,100)") }
        let failures = SQLiteWrapperLog()
        DispatchQueue.concurrentPerform(iterations: 6) { worker in
            var random = SeededGenerator(seed: seed &+ UInt64(worker))
            do {
                for _ in 0..<60 {
                    if worker.isMultiple(of: 2) {
                        try Self.transfer(in: database, random: &random)
                    } else {
                        let sum = try database.withRead { try $0.int64("SELECT sum(n) FROM t") }
                        if sum != 500 { failures.append(Int(sum ?? -1)) }
                    }
                }
            } catch {
                Issue.record(error)
            }
        }
        #expect(failures.values.isEmpty)
        #expect(try database.integrityCheck(quick: false).isEmpty)
        #expect(try database.lastCheckpointFailure == nil)
        try database.close()
    }

    private static func transfer(in database: SQLiteDatabase, random: inout SeededGenerator) throws {
        let source = Int64.random(in: 1...5, using: &random)
        let target = Int64.random(in: 1...5, using: &random)
        let isAborted = Int.random(in: 0..<5, using: &random) == 0
        do {
            try database.withWrite { connection in
                for (sql, id) in [
                    ("UPDATE t SET n = n - 1 WHERE id = ?1", source), ("UPDATE t SET n = n + 1 WHERE id = ?1", target),
                ] {
                    try connection.withStatement(sql) { statement in
                        try statement.bind(id, at: 1)
                        try statement.run()
                    }
                    if isAborted { throw Stop() }
                }
            }
        } catch is Stop {
            // Half a transfer, on purpose: it must have no effect.
        }
    }
}
