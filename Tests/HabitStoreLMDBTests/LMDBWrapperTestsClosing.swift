import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

/// A transaction that waits to begin keeps the file open, even if another caller closes the store.
@Suite struct LMDBWrapperClosingTests {
    private let folder: TemporaryFolder
    private let environment: LMDBEnvironment
    private let database: LMDBDatabase

    init() throws {
        folder = try TemporaryFolder()
        (environment, database) = try folder.openRecords()
        try environment.withWrite { try $0.put(database, [1], [1]) }
    }

    private func waitUntil(_ isTrue: (LMDBEnvironmentCore) -> Bool) {
        while !environment.core.gate.withLock({ isTrue(environment.core) }) { usleep(1_000) }
    }

    /// The file can be opened, by one environment, and contains all commits.
    private func expectSoundAndClosed(records: Int) throws {
        #expect(environment.core.environment == nil)
        let again = try LMDBEnvironment.open(path: folder.store)
        #expect(again.core !== environment.core)
        let found = try again.openDatabases(names: ["records"], create: false)
        #expect(try again.withRead { try $0.count(found[0]) } == records)
        again.close()
        #expect(try LMDBFileInspector.walk(path: folder.store).isEmpty)
    }

    @Test(.enabled(if: LMDBWrapperTestHelper.isAvailable, "needs a C compiler for the second process"))
    func aWriteThatWaitsForAnotherProcessKeepsTheFileOpen() async throws {
        let helper = try LMDBWrapperTestHelper.build(in: folder)
        let write = try LMDBWrapperTestHelper.whileWriting(helper, path: folder.store) {
            let write = BegunWork { [environment, database] in
                try environment.withWrite { _ = try $0.put(database, [2], [2]) }
            }
            waitUntil { $0.isWriterInside }
            environment.close()
            #expect(environment.core.environment != nil)
            return write
        }
        try await write.value()
        try expectSoundAndClosed(records: 2)
    }

    @Test(arguments: [false, true])
    func aTransactionThatWaitsForTheReopeningOpensNoClosedFile(isWriting: Bool) async throws {
        let waiting = try environment.withRead { _ in
            environment.core.gate.withLock { environment.core.needsReopen = true }
            let waiting = BegunWork { [environment] in
                if isWriting { try environment.withWrite { _ in } } else { try environment.withRead { _ in } }
            }
            waitUntil { $0.exclusiveThread != nil }
            environment.close()
            return waiting
        }
        let error = await #expect(throws: HabitStoreError.self) { try await waiting.value() }
        #expect(error?.code == .closed)
        try expectSoundAndClosed(records: 1)
    }
}
