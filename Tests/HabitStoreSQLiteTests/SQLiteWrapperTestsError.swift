import CSQLite
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreSQLite

@Suite("SQLite wrapper: errors")
struct SQLiteWrapperTestsError {
    @Test(arguments: [
        (SQLITE_NOTADB, HabitStoreError.Code.notAStore), (SQLITE_CORRUPT, .corrupt),
        (SQLITE_CORRUPT | 3 << 8, .corrupt),
        (SQLITE_FULL, .full), (SQLITE_READONLY, .permissionDenied), (SQLITE_READONLY | 5 << 8, .permissionDenied),
        (SQLITE_READONLY | 4 << 8, .fileMoved), (SQLITE_PERM, .permissionDenied), (SQLITE_AUTH, .permissionDenied),
        (SQLITE_BUSY, .busy), (SQLITE_BUSY | 2 << 8, .busy), (SQLITE_LOCKED, .busy), (SQLITE_PROTOCOL, .busy),
        (SQLITE_IOERR, .inputOutput), (SQLITE_IOERR | 4 << 8, .inputOutput), (SQLITE_IOERR | 12 << 8, .limitExceeded),
        (SQLITE_NOMEM, .limitExceeded), (SQLITE_TOOBIG, .limitExceeded), (SQLITE_MISUSE, .internalInconsistency),
        (SQLITE_CONSTRAINT | 8 << 8, .uniqueViolation), (SQLITE_CONSTRAINT | 6 << 8, .uniqueViolation),
        (SQLITE_CONSTRAINT | 3 << 8, .danglingReference), (SQLITE_CONSTRAINT | 5 << 8, .invalidValue),
        (SQLITE_ERROR, .internalInconsistency), (SQLITE_RANGE, .internalInconsistency), (99, .internalInconsistency),
    ])
    func everyResultHasItsCode(result: Int32, code: HabitStoreError.Code) {
        let error = SQLiteError.make(result, database: nil, path: "/nowhere", while: "a test")
        #expect(error.code == code)
        #expect((error.underlying as? SQLiteResult)?.code == result)
    }

    @Test func aFileThatCannotBeOpenedSaysWhy() throws {
        let folder = try TemporaryFolder()
        func code(_ systemError: Int32, _ path: String) -> HabitStoreError.Code {
            SQLiteError.boundaryCode(of: SQLiteResult(code: SQLITE_CANTOPEN, systemError: systemError), path: path)
        }
        #expect(code(13, folder.file()) == .permissionDenied)
        #expect(code(0, folder.file()) == .notFound)
        #expect(code(0, folder.path) == .notAStore)
        #expect(code(24, folder.path) == .limitExceeded)
        let onFullDisk = SQLiteResult(code: SQLITE_IOERR | 19 << 8, systemError: 28)
        #expect(SQLiteError.boundaryCode(of: onFullDisk, path: folder.path) == .full)
    }

    @Test func anOldOrUnsafeLibraryIsRefused() throws {
        try SQLiteLibrary.check()
        let error = try requireSQLiteWrapperError(.unsupported) {
            try SQLiteLibrary.check(version: 3_036_000, isThreadSafe: true)
        }
        #expect(error.message.contains("3.37.0") && error.message.contains("3.36.0"))
        try expectSQLiteWrapperError(.unsupported) { try SQLiteLibrary.check(version: 3_040_001, isThreadSafe: false) }
    }
}
