import CLMDB
import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStoreLMDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// LMDB 1.0 instead of 0.9 reported sound stores as "not LMDB's", and people restored backups of undamaged files. Now the error names the library,
/// with both versions, and says that the file is sound.
@Suite("The liblmdb that is there")
struct LMDBLibraryTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func failure(_ body: () throws -> Void) -> HabitStoreError? {
        do {
            try body()
            return nil
        } catch { return error as? HabitStoreError }
    }

    @Test func theLibraryOfTheHeaderIsNeverRefused() throws {
        #expect(LMDBLibrary.found.hasFiles(of: LMDBLibrary.built))
        try LMDBLibrary.requireFiles(path: folder.store)
        let later = LMDBLibrary.Version(major: 0, minor: 9, patch: 70)
        try LMDBLibrary.requireFiles(later, of: .init(major: 0, minor: 9, patch: 24), path: folder.store)
    }

    @Test func aLibraryOfOtherFilesMakesNoStoreAndIsNamed() throws {
        let found = LMDBLibrary.Version(major: 1, minor: 0, patch: 2)
        let built = LMDBLibrary.Version(major: 0, minor: 9, patch: 24)
        let error = failure { try LMDBLibrary.requireFiles(found, of: built, path: folder.store) }
        #expect(error?.code == .engineUnavailable)
        #expect(error?.message.contains("0.9.24") == true)
        #expect(error?.message.contains("1.0.2") == true)
        let refusal = LMDBLibrary.refusal(MDB_INVALID, found, path: folder.store)
        #expect(refusal.message.contains("1.0.2"))
        #expect(refusal.message.contains("\(LMDBLibrary.built)"))
    }

    @Test func aFileOfLMDB1IsRecognised() throws {
        var bytes = Data(count: 8_192)
        bytes.replaceSubrange(24..<28, with: withUnsafeBytes(of: UInt32(0xBEEF_C0DE).littleEndian) { Data($0) })
        bytes[28] = 3
        try bytes.write(to: URL(fileURLWithPath: folder.store))
        for open in [
            { _ = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current) },
            { _ = try RescuedLMDBStore(rescuing: folder.store, schema: HabitSchema.current) },
        ] as [() throws -> Void] {
            let error = failure(open)
            #expect(error?.code == .newerVersion)
            #expect(error?.message.contains("LMDB 1.0") == true)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == bytes)
    }

    #if PLANNER_MUTANTS
    /// Runs `body` while the library refuses the folder's files with a code.
    private func refusing<R>(_ returnCode: Int32, _ body: () throws -> R) rethrows -> R {
        LMDBLibrary.failOpenings(under: folder.url.path, with: returnCode)
        defer { LMDBLibrary.failOpenings(under: folder.url.path, with: nil) }
        return try body()
    }

    @Test(arguments: [MDB_INVALID, MDB_VERSION_MISMATCH, EINVAL]) func aSoundFileThatIsRefusedIsNotCalledDamaged(
        returnCode: Int32
    ) throws {
        try LMDBHabitStore(path: folder.store, schema: HabitSchema.current).close()
        for isMarked in [true, false] {
            if !isMarked { unlink(folder.store + "-sound") }
            let error = refusing(returnCode) {
                failure { _ = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current) }
            }
            #expect(error?.code == .engineUnavailable)
            #expect(error?.message.contains("\(LMDBLibrary.found)") == true)
            #expect(error?.message.contains("\(returnCode)") == true)
            #expect(error?.underlying as? LMDBFailure == LMDBFailure(returnCode: returnCode))
        }
        let made = refusing(returnCode) {
            failure { _ = try LMDBHabitStore(path: folder.path("new"), schema: HabitSchema.current) }
        }
        #expect(made?.code == .engineUnavailable)
        #expect(!FileManager.default.fileExists(atPath: folder.path("new")))
        // The library is not to blame for what came of the file meanwhile.
        try LMDBHabitStore(path: folder.store, schema: HabitSchema.current).close()
    }

    @Test func aDamagedFileThatIsRefusedIsCalledDamaged() throws {
        try LMDBHabitStore(path: folder.store, schema: HabitSchema.current).close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        bytes[4_096 + 16] ^= 0xFF
        try bytes.write(to: URL(fileURLWithPath: folder.store))
        let error = refusing(MDB_INVALID) {
            failure { _ = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current) }
        }
        #expect(error?.code == .corrupt)
    }

    @Test func whatTheSystemRefusesAtTheMomentStaysWhatItIs() throws {
        try LMDBHabitStore(path: folder.store, schema: HabitSchema.current).close()
        let expected: [Int32: HabitStoreError.Code] = [
            EACCES: .permissionDenied, EPERM: .permissionDenied, EROFS: .permissionDenied, ENOMEM: .limitExceeded,
            EMFILE: .limitExceeded, ENFILE: .limitExceeded, ENOSPC: .full, EIO: .inputOutput, EAGAIN: .busy,
            EBUSY: .busy,
            EINTR: .busy,
        ]
        for (returnCode, code) in expected {
            let error = refusing(returnCode) {
                failure { _ = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current) }
            }
            #expect(error?.code == code, "\(returnCode)")
        }
    }
    #endif
}
