import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreSQLite

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

@Suite(
    "SQLite wrapper: permissions",
    .enabled(if: SQLiteWrapperPrivileges.canBeBound, "permission bits do not bind root on this system")
)
struct SQLiteWrapperTestsPermission {
    @Test func aFileThatMayNotBeReadOrWrittenIsAnErrorValue() throws {
        let folder = try TemporaryFolder()
        let path = try folder.makeClosedStore(rows: 1)
        #expect(chmod(path, 0) == 0)
        try SQLiteWrapperPrivileges.withoutRoot {
            for mode in [SQLiteOpenMode.readOnly, .readWrite] {
                try expectSQLiteWrapperError(.permissionDenied) { _ = try SQLiteDatabase(path: path, mode: mode) }
            }
        }
        #expect(chmod(path, 0o444) == 0)
        try SQLiteWrapperPrivileges.withoutRoot {
            try expectSQLiteWrapperError(.permissionDenied) { _ = try SQLiteDatabase(path: path, mode: .readWrite) }
        }
    }

    @Test func aFolderThatMayNotBeEnteredOrWrittenIsAnErrorValue() throws {
        let folder = try TemporaryFolder()
        let path = try folder.makeClosedStore(rows: 1)
        #expect(chmod(folder.path, 0o555) == 0)
        try SQLiteWrapperPrivileges.withoutRoot {
            try expectSQLiteWrapperError(.permissionDenied) {
                _ = try SQLiteDatabase(path: folder.file("new"), mode: .create)
            }
        }
        #expect(chmod(folder.path, 0) == 0)
        try SQLiteWrapperPrivileges.withoutRoot {
            try expectSQLiteWrapperError(.permissionDenied) { _ = try SQLiteDatabase(path: path, mode: .readOnly) }
        }
    }

    @Test(arguments: [true, false])
    func aStoreWithoutALogIsReadWhereNothingCanBeWritten(hasEmptyLog: Bool) throws {
        let folder = try TemporaryFolder()
        let path = try folder.makeClosedStore(rows: 20, "a store?#%41.sqlite")
        if !hasEmptyLog { for suffix in ["-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let names = try folder.names()
        #expect(chmod(path, 0o444) == 0 && chmod(folder.path, 0o555) == 0)
        try SQLiteWrapperPrivileges.withoutRoot {
            let database = try SQLiteDatabase(path: path, mode: .readOnly)
            for _ in 0..<3 { #expect(try database.rowCount() == 20) }
            #expect(try database.integrityCheck(quick: false).isEmpty)
            try database.close()
        }
        #expect(try folder.names() == names)
    }

    @Test func aLogThatCannotBeReadIsAnErrorThatSaysWhatToDo() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.insert(rows: 20)
        for name in ["", "-wal", "-shm"] {
            #expect(throws: Never.self) {
                try FileManager.default.copyItem(atPath: folder.file() + name, toPath: folder.file("copy") + name)
            }
        }
        try database.close()
        #expect(chmod(folder.file("copy"), 0o644) == 0 && chmod(folder.file("copy-wal"), 0) == 0)
        for folderMode in [0o777, 0o555] as [mode_t] {
            #expect(chmod(folder.path, folderMode) == 0)
            try SQLiteWrapperPrivileges.withoutRoot {
                let error = try requireSQLiteWrapperError(.permissionDenied) {
                    _ = try SQLiteDatabase(path: folder.file("copy"), mode: .readOnly)
                }
                #expect(error.message.contains("copy the three files"))
            }
        }
        #expect(chmod(folder.file("copy"), 0o666) == 0 && chmod(folder.path, 0o777) == 0)
        try SQLiteWrapperPrivileges.withoutRoot {
            try expectSQLiteWrapperError(.permissionDenied) {
                _ = try SQLiteDatabase(path: folder.file("copy"), mode: .readWrite)
            }
        }
    }

    @Test func aStoreThatChangesWhileItIsReadWithoutLocksIsNotTrusted() throws {
        let folder = try TemporaryFolder()
        let path = try folder.makeClosedStore(rows: 20)
        for suffix in ["-wal", "-shm", "-lock"] { unlink(path + suffix) }
        #expect(chmod(path, 0o444) == 0 && chmod(folder.path, 0o555) == 0)
        let database = try SQLiteWrapperPrivileges.withoutRoot { try SQLiteDatabase(path: path, mode: .readOnly) }
        let writer = try SQLiteDatabase(path: path, mode: .readWrite)
        try writer.insert(rows: 1)
        try SQLiteWrapperPrivileges.withoutRoot {
            try expectSQLiteWrapperError(.busy) { _ = try database.rowCount() }
        }
        try writer.close()
        try database.close()
    }
}
