import HabitStoreTesting

#if os(Linux)
import Foundation
import HabitStore
import Testing

@testable import HabitStoreSQLite

@Suite(
    "SQLite wrapper: faults",
    .enabled(if: SQLiteWrapperFaultInjector.shared.isInstalled, "this SQLite has no replaceable system calls")
)
struct SQLiteWrapperTestsFault {
    private let faults = SQLiteWrapperFaultInjector.shared

    /// The row count in a copy of the store's present files, as after a power cut.
    private func countAfterACrash(_ folder: TemporaryFolder) throws -> Int64 {
        let copy = folder.file("crash-" + UUID().uuidString)
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: folder.file() + suffix, toPath: copy + suffix)
        }
        let database = try SQLiteDatabase(path: copy, mode: .readWrite)
        defer { #expect(throws: Never.self) { try database.close() } }
        #expect(try database.integrityCheck(quick: false).isEmpty)
        return try database.rowCount()
    }

    private func log(_ folder: TemporaryFolder) -> String { folder.file() + "-wal" }

    @Test func aCommitThatFailedAfterItWasWrittenIsUnknownAndThenThereForGood() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        #expect(try database.rowCount() == 0)
        let error = try requireSQLiteWrapperError(.outcomeUnknown) {
            try faults.with(.errorAfterWriting, on: log(folder)) { try database.insert(rows: 1) }
        }
        #expect((error.underlying as? HabitStoreError)?.code == .inputOutput)
        // The row is complete in the log: reopening finds it, and later reads agree.
        #expect(try database.rowCount() == 1)
        #expect(try database.fileSizes.logBytes == 0)
        #expect(try countAfterACrash(folder) == 1)
        try database.insert(rows: 1)
        #expect(try database.rowCount() == 2)
        try database.close()
    }

    @Test func aCommitThatFailedBeforeItWasWrittenIsUnknownAndThenAbsent() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try expectSQLiteWrapperError(.outcomeUnknown) {
            try faults.with(.error, on: log(folder)) { try database.insert(rows: 1) }
        }
        #expect(try database.rowCount() == 0)
        try database.insert(rows: 1)
        #expect(try database.rowCount() == 1)
        try database.close()
    }

    /// A commit failed while another snapshot was open, so the log's index stayed alive without it: readers saw no row. After the next crash the row
    /// was there, from frames after the end of the log. Now those frames are overwritten.
    @Test func aCommitThatWasSeenAsAbsentDoesNotComeBack() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.withRead { _ in
            try expectSQLiteWrapperError(.outcomeUnknown) {
                try faults.with(.errorAfterWriting, on: log(folder)) { try database.insert(rows: 1) }
            }
            #expect(try countAfterACrash(folder) == 1)
            #expect(try database.rowCount() == 0)
            #expect(try countAfterACrash(folder) == 0)
        }
        #expect(try database.rowCount() == 0)
        try database.insert(rows: 1)
        #expect(try countAfterACrash(folder) == 1)
        try database.close()
    }

    @Test func whileTheDiskFailsTheOutcomeStaysOpenAndEveryTransactionSaysSo() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try faults.with(.errorAfterWriting, on: log(folder)) {
            try expectSQLiteWrapperError(.outcomeUnknown) { try database.insert(rows: 1) }
            // Settling the outcome has to write to the file itself, and cannot.
            try faults.with(.error, on: folder.file()) {
                for _ in 0..<2 { try expectSQLiteWrapperError(.inputOutput) { _ = try database.rowCount() } }
                try expectSQLiteWrapperError(.inputOutput) { try database.insert(rows: 1) }
            }
        }
        #expect(try database.rowCount() == 1)
        try database.close()
    }

    @Test func aStoreClosedInDoubtIsWholeWhenItIsOpenedAgain() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try expectSQLiteWrapperError(.outcomeUnknown) {
            try faults.with(.errorAfterWriting, on: log(folder)) { try database.insert(rows: 1) }
        }
        try database.close()
        let again = try SQLiteDatabase(path: folder.file(), mode: .readWrite)
        #expect(try again.rowCount() == 1)
        #expect(try again.integrityCheck(quick: false).isEmpty)
        try again.close()
    }

    @Test func aFullDiskAtTheCommitIsKnownToHaveWrittenNothing() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try expectSQLiteWrapperError(.full) {
            try faults.with(.noSpace, on: log(folder)) { try database.insert(rows: 50) }
        }
        #expect(try countAfterACrash(folder) == 0)
        #expect(try database.rowCount() == 0)
        try database.insert(rows: 1)
        #expect(try database.rowCount() == 1)
        try database.close()
    }

    @Test func aFullDiskInsideATransactionEndsItWhateverItsBodyMakesOfTheError() throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.cacheSizeBytes = 20 << 10
        let database = try folder.makeStore(options: options)
        try expectSQLiteWrapperError(.full) {
            try faults.with(.noSpace, on: log(folder)) {
                try database.withWrite { connection in
                    let error = #expect(throws: HabitStoreError.self) {
                        for _ in 0..<2_000 { try connection.exec("INSERT INTO t (n) VALUES (hex(zeroblob(100)))") }
                    }
                    #expect(error?.code == .full)
                }
            }
        }
        #expect(try database.rowCount() == 0)
        try database.close()
    }

    @Test func aFailingCheckpointFailsNoCommitAndIsReported() throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.checkpointPages = 1
        let database = try folder.makeStore(options: options)
        try faults.with(.error, on: folder.file()) {
            try database.insert(rows: 5)
            #expect(try database.lastCheckpointFailure?.code == .inputOutput)
            #expect(try database.rowCount() == 5)
        }
        try database.insert(rows: 1)
        #expect(try database.lastCheckpointFailure == nil)
        #expect(try countAfterACrash(folder) == 6)
        try database.close()
    }

    /// SQLite reported "malformed" for pages that a disk temporarily failed to read, and the store was called damaged, which takes a user back to the
    /// old store for good.
    @Test(arguments: [false, true])
    func aPageThatCannotBeReadIsNoDamageUntilItIs(isInTheLog: Bool) throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.cacheSizeBytes = 20 << 10
        let written = try folder.makeStore(options: options)
        try written.withWrite { connection in
            for _ in 0..<2_000 { try connection.exec("INSERT INTO t (n) VALUES (hex(zeroblob(100)))") }
        }
        if !isInTheLog { try written.close() }
        let database =
            isInTheLog ? written : try SQLiteDatabase(path: folder.file(), mode: .readWrite, options: options)
        try faults.with(.unreadable, on: isInTheLog ? log(folder) : folder.file()) {
            for _ in 0..<2 {
                let error = try requireSQLiteWrapperError(.inputOutput) { _ = try database.rowCount() }
                #expect(!error.isDamage)
                #expect(error.message.contains("errno \(EIO)"))
            }
        }
        #expect(try database.rowCount() == 2_000)
        if !isInTheLog {
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.file()))
            for page in 4..<UInt64(20) {
                try file.seek(toOffset: page * 4_096)
                try file.write(contentsOf: Data(repeating: 0xA5, count: 4_096))
            }
            try file.close()
            #expect(try requireSQLiteWrapperError(.corrupt) { _ = try database.rowCount() }.isDamage)
        }
        try database.close()
    }

    @Test func aBackupThatFailsLeavesNothingBehind() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.insert(rows: 50)
        let names = try folder.names()
        for (fault, code) in [(.error, .inputOutput), (.noSpace, .full)]
            as [(SQLiteWrapperFaultInjector.Fault, HabitStoreError.Code)]
        {
            try expectSQLiteWrapperError(code) {
                try faults.with(fault, on: folder.file("copy.partial-*")) {
                    try database.backup(to: folder.file("copy"))
                }
            }
            #expect(try folder.names() == names)
        }
        try database.backup(to: folder.file("copy"))
        try database.close()
    }
}
#endif
