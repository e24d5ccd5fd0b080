import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreSQLite

@Suite(
    "SQLite wrapper: several processes",
    .enabled(if: SQLiteWrapperChild.isAvailable, "python3 with sqlite3 is not installed")
)
struct SQLiteWrapperTestsProcess {
    private static let begin = """
        import sys, sqlite3, fcntl
        path = sys.argv[1]
        db = sqlite3.connect(path, isolation_level=None, timeout=20)
        db.execute('PRAGMA wal_autocheckpoint=0')
        def ready():
            print('ready', flush=True)
            sys.stdin.read()

        """

    private func impatient() -> SQLiteOptions {
        var options = SQLiteOptions()
        options.busyLimitSeconds = 0.2
        return options
    }

    @Test func theLockFileOfAnotherProcessMakesAWriteBusyAfterTheStatedWait() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore(options: impatient())
        let script = Self.begin + "f = open(path + '-lock', 'r+'); fcntl.flock(f, fcntl.LOCK_EX); ready()"
        let child = try SQLiteWrapperChild(script: script, arguments: [folder.file()])
        try child.waitUntilReady()
        let started = Date()
        let error = try requireSQLiteWrapperError(.busy) { try database.insert(rows: 1) }
        #expect(error.message.contains("another process"))
        #expect((0.19..<3).contains(Date().timeIntervalSince(started)))
        #expect(try database.rowCount() == 0)
        try expectSQLiteWrapperError(.busy) { _ = try database.checkpoint() }
        #expect(try child.finish() == 0)
        try database.insert(rows: 1)
        #expect(try database.rowCount() == 1)
        try database.close()
    }

    /// A copy was killed while it created its store, before that was in log mode. The next one failed because the store is read-only: it started with
    /// a reader, which may not roll back the remaining journal.
    @Test func aJournalThatAKilledProcessLeftIsPlayedBack() throws {
        let folder = try TemporaryFolder()
        let script = """
            import os, sys, sqlite3
            db = sqlite3.connect(sys.argv[1], isolation_level=None)
            db.execute('CREATE TABLE t (v)')
            db.execute('INSERT INTO t VALUES (1)')
            db.execute('PRAGMA cache_size=1')
            db.execute('PRAGMA cache_spill=1')
            db.execute('BEGIN')
            db.execute('UPDATE t SET v = 2')
            for _ in range(200): db.execute('INSERT INTO t VALUES (zeroblob(4000))')
            os._exit(0)
            """
        #expect(try SQLiteWrapperChild(script: script, arguments: [folder.file()]).finish() == 0)
        try #require(try SQLiteFiles.sizeBytes(of: folder.file() + "-journal") > 0)
        let database = try SQLiteDatabase(path: folder.file(), mode: .readWrite)
        let values = try database.withRead { connection in
            try connection.withStatement("SELECT count(*), sum(v) FROM t") { statement in
                _ = try statement.step()
                return [statement.int64(at: 0), statement.int64(at: 1)]
            }
        }
        #expect(values == [1, 1])
        try database.close()
    }

    @Test func theLastCloseDoesNotCheckpointUnderAnothersLock() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.insert(rows: 5)
        let logBytes = try database.fileSizes.logBytes
        let script = Self.begin + "f = open(path + '-lock', 'r+'); fcntl.flock(f, fcntl.LOCK_EX); ready()"
        let child = try SQLiteWrapperChild(script: script, arguments: [folder.file()])
        try child.waitUntilReady()
        try database.close()
        #expect(try SQLiteFiles.sizeBytes(of: folder.file() + "-wal") == logBytes)
        #expect(try child.finish() == 0)
        let again = try SQLiteDatabase(path: folder.file(), mode: .readWrite)
        #expect(try again.rowCount() == 5)
        try again.close()
    }

    @Test func aWriterWithoutTheLockFileMakesAWriteBusyToo() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore(options: impatient())
        let script = Self.begin + "db.execute('BEGIN IMMEDIATE'); db.execute('INSERT INTO t (n) VALUES (1)'); ready()"
        let child = try SQLiteWrapperChild(script: script, arguments: [folder.file()])
        try child.waitUntilReady()
        try expectSQLiteWrapperError(.busy) { try database.insert(rows: 1) }
        #expect(try database.rowCount() == 0)
        #expect(try child.finish() == 0)
        try database.insert(rows: 1)
        try database.close()
    }

    @Test func aCommitIsSeenByAnotherProcessAtOnceAndItsSnapshotHolds() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.insert(rows: 3)
        let script =
            Self.begin + """
                count = lambda: db.execute('SELECT count(*) FROM t').fetchone()[0]
                db.execute('BEGIN')
                assert count() == 3
                ready()
                assert count() == 3
                db.execute('COMMIT')
                assert count() == 4
                """
        let child = try SQLiteWrapperChild(script: script, arguments: [folder.file()])
        try child.waitUntilReady()
        try database.insert(rows: 1)
        // The reader blocks a full checkpoint, and no write is lost.
        #expect(try !database.checkpointBriefly())
        #expect(try child.finish() == 0)
        #expect(try database.checkpoint())
        try database.close()
    }

    @Test func twoProcessesLoseNoUpdate() throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.checkpointPages = 4
        options.busyLimitSeconds = 60
        let database = try folder.makeStore(options: options)
        try database.withWrite { try $0.exec("INSERT INTO t (id, n) VALUES (1, 0)") }
        let script =
            Self.begin + """
                f = open(path + '-lock', 'r+')
                ready()
                for i in range(150):
                    fcntl.flock(f, fcntl.LOCK_EX)
                    db.execute('BEGIN IMMEDIATE')
                    db.execute('UPDATE t SET n = n + 1 WHERE id = 1')
                    db.execute('COMMIT')
                    if i % 10 == 9: db.execute('PRAGMA wal_checkpoint(PASSIVE)')
                    fcntl.flock(f, fcntl.LOCK_UN)
                """
        let child = try SQLiteWrapperChild(script: script, arguments: [folder.file()])
        try child.waitUntilReady()
        let status = SQLiteWrapperLog()
        DispatchQueue.concurrentPerform(iterations: 3) { worker in
            do {
                if worker == 2 { return status.append(Int(try child.finish())) }
                for _ in 0..<100 {
                    try database.withWrite { try $0.exec("UPDATE t SET n = n + 1 WHERE id = 1") }
                }
            } catch {
                Issue.record(error)
            }
        }
        #expect(status.values == [0])
        #expect(try database.withRead { try $0.int64("SELECT n FROM t") } == 350)
        #expect(try database.integrityCheck(quick: false).isEmpty)
        try database.close()
    }

    @Test func aKilledWriterLeavesWhatItCommittedAndNothingElse() throws {
        let folder = try TemporaryFolder()
        try folder.makeStore().close()
        let script =
            Self.begin + """
                db.execute('PRAGMA cache_size=5')
                db.execute('BEGIN IMMEDIATE')
                db.execute('INSERT INTO t (n) VALUES (1)')
                db.execute('COMMIT')
                db.execute('BEGIN IMMEDIATE')
                for i in range(2000): db.execute('INSERT INTO t (n) VALUES (?)', ('x' * 200,))
                ready()
                """
        let child = try SQLiteWrapperChild(script: script, arguments: [folder.file()])
        try child.waitUntilReady()
        child.kill()
        #expect(try SQLiteFiles.sizeBytes(of: folder.file() + "-wal") > 100_000)
        let reading = try SQLiteDatabase(path: folder.file(), mode: .readOnly)
        #expect(try reading.rowCount() == 1)
        try reading.close()
        let writing = try SQLiteDatabase(path: folder.file(), mode: .readWrite)
        #expect(try writing.rowCount() == 1)
        #expect(try writing.integrityCheck(quick: false).isEmpty)
        try writing.insert(rows: 1)
        try writing.close()
        #expect(try SQLiteFiles.sizeBytes(of: folder.file() + "-wal") == 0)
    }

    @Test func aLockFileThatWasDeletedIsMadeAnew() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore(options: impatient())
        try database.insert(rows: 1)
        try FileManager.default.removeItem(atPath: folder.file() + "-lock")
        let script = Self.begin + "f = open(path + '-lock', 'w'); fcntl.flock(f, fcntl.LOCK_EX); ready()"
        let child = try SQLiteWrapperChild(script: script, arguments: [folder.file()])
        try child.waitUntilReady()
        // The old file, which no process has locked, no longer counts.
        try expectSQLiteWrapperError(.busy) { try database.insert(rows: 1) }
        #expect(try child.finish() == 0)
        try database.insert(rows: 1)
        try database.close()
    }
}

extension SQLiteDatabase {
    /// A checkpoint that waits less for readers than usual.
    fileprivate func checkpointBriefly() throws -> Bool {
        try using { file in
            try file.withWriteLock(until: .after(seconds: 5)) { connection in
                connection.setBusyTimeout(milliseconds: 50)
                return try connection.checkpoint(.truncate)
            }
        }
    }
}
