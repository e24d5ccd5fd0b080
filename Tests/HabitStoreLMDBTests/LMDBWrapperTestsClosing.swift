import Foundation
import HabitStore
import Synchronization
import Testing

@testable import HabitStoreLMDB

/// A transaction that waits to begin keeps the file open, whoever closes the store meanwhile.
@Suite struct LMDBWrapperClosingTests {
    private let folder: LMDBWrapperTestFolder
    private let environment: LMDBEnvironment
    private let database: LMDBDatabase

    init() throws {
        folder = try LMDBWrapperTestFolder()
        environment = try LMDBEnvironment.open(path: folder.path(), options: LMDBWrapperTestSample.options())
        database = try #require(try environment.openDatabases(names: ["records"], create: true).first)
        try environment.withWrite { try $0.put(database, [1], [1]) }
    }

    /// Work on a thread of its own.
    private final class Running: Sendable {
        private let result = Mutex<Result<Void, any Error>?>(nil)
        private let end = DispatchSemaphore(value: 0)

        init(_ body: @escaping @Sendable () throws -> Void) {
            Thread.detachNewThread { [self] in
                let ended = Result { try body() }
                result.withLock { $0 = ended }
                end.signal()
            }
        }

        func value() throws {
            end.wait()
            try result.withLock { $0 }?.get()
        }
    }

    private func waitUntil(_ isTrue: (LMDBEnvironmentCore) -> Bool) {
        while !environment.core.gate.withLock({ isTrue(environment.core) }) { usleep(1_000) }
    }

    /// The file can be opened, by one environment, and holds what was committed.
    private func expectSoundAndClosed(records: Int) throws {
        #expect(environment.core.environment == nil)
        let again = try LMDBEnvironment.open(path: folder.path())
        #expect(again.core !== environment.core)
        let found = try again.openDatabases(names: ["records"], create: false)
        #expect(try again.withRead { try $0.count(found[0]) } == records)
        again.close()
        #expect(try LMDBFileInspector.walk(path: folder.path()).isEmpty)
    }

    @Test(.enabled(if: LMDBWrapperTestHelper.isAvailable, "needs a C compiler for the second process"))
    func aWriteThatWaitsForAnotherProcessKeepsTheFileOpen() throws {
        let helper = try LMDBWrapperTestHelper.build(in: folder)
        try LMDBWrapperTestHelper.whileWriting(helper, path: folder.path()) { letGo in
            let write = Running { [environment, database] in
                try environment.withWrite { _ = try $0.put(database, [2], [2]) }
            }
            waitUntil { $0.isWriterInside }
            environment.close()
            #expect(environment.core.environment != nil)
            try letGo()
            try write.value()
        }
        try expectSoundAndClosed(records: 2)
    }

    @Test(arguments: [false, true]) func aTransactionThatWaitsForTheReopeningOpensNoClosedFile(isWriting: Bool) throws {
        var waiting: Running?
        try environment.withRead { _ in
            environment.core.gate.withLock { environment.core.needsReopen = true }
            waiting = Running { [environment] in
                if isWriting { try environment.withWrite { _ in } } else { try environment.withRead { _ in } }
            }
            waitUntil { $0.exclusiveThread != nil }
            environment.close()
        }
        let error = #expect(throws: HabitStoreError.self) { try waiting?.value() }
        #expect(error?.code == .closed)
        try expectSoundAndClosed(records: 1)
    }
}
