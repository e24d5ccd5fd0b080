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

/// Guarantees after the disk refused a write: descriptors of the open file are replaced by one that cannot be written.
@Suite(.serialized) struct LMDBWrapperFaultTests {
    let folder: TemporaryFolder
    let environment: LMDBEnvironment
    let database: LMDBDatabase

    init() throws {
        folder = try TemporaryFolder()
        (environment, database) = try folder.openRecords()
        try environment.withWrite { try $0.put(database, [1], [1]) }
    }

    private func breakWriting(_ descriptor: Int32) throws {
        let null = open("/dev/null", O_RDONLY)
        try #require(null >= 0)
        try #require(dup2(null, descriptor) == descriptor)
        close(null)
    }

    private func dataDescriptor() throws -> Int32 {
        var descriptor: mdb_filehandle_t = -1
        try #require(mdb_env_get_fd(environment.core.environment, &descriptor) == 0)
        return descriptor
    }

    /// The second descriptor of the data file, through which liblmdb writes meta pages: searched for among all open ones, because suites running at
    /// the same time may hold hundreds with smaller numbers.
    private func metaDescriptor() throws -> Int32? {
        let data = try dataDescriptor()
        let open = try FileManager.default.contentsOfDirectory(atPath: "/dev/fd/").compactMap(Int32.init)
        return open.first { candidate in
            var status = stat()
            return candidate != data && fstat(candidate, &status) == 0
                && LMDBFileIdentity(status) == environment.core.identity
        }
    }

    private func expectRecovery() throws {
        let handles = try environment.openDatabases(names: ["records"], create: false)
        #expect(handles == [database])
        let found = try environment.withRead { transaction throws in
            (try transaction.get(database, [1]).map(Array.init), try transaction.get(database, [2]) == nil)
        }
        #expect(found.0 == [1])
        #expect(found.1)
        try environment.withWrite { try $0.put(database, [3], [3]) }
        #expect(try environment.withRead { try $0.count(database) } == 2)
        #expect(try LMDBFileInspector.walk(path: folder.store).isEmpty)
    }

    private func expectUnknownOutcome() {
        do {
            try environment.withWrite { try $0.put(database, [2], [2]) }
            Issue.record("the commit was acknowledged")
        } catch {
            let error = error as? HabitStoreError
            #expect(error?.code == .outcomeUnknown)
            #expect(error?.underlying is HabitStoreError)
        }
    }

    @Test func aFailedDataWriteIsAnUnknownOutcomeAndTheFileIsReopened() throws {
        try breakWriting(try dataDescriptor())
        expectUnknownOutcome()
        try expectRecovery()
    }

    @Test func aFailedMetaWriteDoesNotLeaveADeadEnvironment() throws {
        let meta = try #require(try metaDescriptor())
        try breakWriting(meta)
        expectUnknownOutcome()
        try expectRecovery()
    }

    @Test func reopeningWaitsForRunningReadersAndSaysSo() throws {
        try breakWriting(try dataDescriptor())
        try environment.withRead { transaction throws in
            expectUnknownOutcome()
            // The snapshot stays valid; operations that need the reopened file fail and may be retried.
            #expect(try transaction.get(database, [1]).map(Array.init) == [1])
            #expect(throws: HabitStoreError.self) { try environment.withRead { _ in } }
            #expect(throws: HabitStoreError.self) { try environment.withWrite { _ in } }
        }
        try expectRecovery()
    }

    @Test func aFileDamagedMeanwhileIsRefusedAtTheReopening() throws {
        try breakWriting(try dataDescriptor())
        expectUnknownOutcome()
        let whole = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        var damaged = whole
        damaged[16] ^= 0xFF
        try damaged.write(to: URL(fileURLWithPath: folder.store), options: [])
        #expect(throws: HabitStoreError.self) { try environment.withRead { _ in } }
        try whole.write(to: URL(fileURLWithPath: folder.store), options: [])
        try expectRecovery()
    }

    @Test func everyReturnCodeHasACodeAndAdvice() {
        let expected: [Int32: HabitStoreError.Code] = [
            ENOENT: .notFound, EACCES: .permissionDenied, EROFS: .permissionDenied, ENOSPC: .full, EIO: .inputOutput,
            MDB_MAP_FULL: .full, MDB_CORRUPTED: .corrupt, MDB_PAGE_NOTFOUND: .corrupt, MDB_INVALID: .notAStore,
            MDB_VERSION_MISMATCH: .newerVersion, MDB_READERS_FULL: .limitExceeded, MDB_BAD_TXN: .internalInconsistency,
        ]
        for (returnCode, code) in expected {
            let error = LMDBError.error(returnCode, during: "testing", path: "/somewhere")
            #expect(error.code == code)
            #expect(error.underlying as? LMDBFailure == LMDBFailure(returnCode: returnCode))
        }
        #expect(LMDBError.error(EIO, during: "testing", path: "").message.contains("full"))
    }
}
