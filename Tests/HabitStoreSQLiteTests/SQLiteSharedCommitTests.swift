import Foundation
@_spi(Engines) import HabitStore
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreSQLite

/// Writes of many threads that wait at the same time.
@Suite("SQLite's shared commits")
struct SQLiteSharedCommitTests {
    private static let writers = 9

    private let test: SQLiteTestStore

    init() throws { test = try SQLiteTestStore() }

    private func open(_ options: SQLiteHabitStore.Options = .init()) throws -> SQLiteHabitStore {
        let store = try test.open(options)
        // A busy machine may take long to wake a thread.
        store.core.engine.commits.window = 60_000_000_000
        return store
    }

    /// Runs `body` on separate threads, while a write that does not share its commit is in progress: the first of them is about to lead then, and the
    /// others wait for it.
    private func together(
        _ store: SQLiteHabitStore,
        meanwhile: () -> Void = {},
        _ body: @escaping @Sendable (Int) throws -> Void
    ) throws -> [Result<Void, any Error>] {
        let results = Mutex<[Int: Result<Void, any Error>]>([:])
        let group = DispatchGroup()
        try store.write(author: nil, under: WriteTerms(mayShareCommit: false)) { _ in
            for number in 0..<Self.writers {
                group.enter()
                Thread.detachNewThread {
                    let result = Result { try body(number) }
                    results.withLock { $0[number] = result }
                    group.leave()
                }
            }
            while store.core.engine.commits.waitingCount < Self.writers - 1 { usleep(1_000) }
        }
        meanwhile()
        group.wait()
        return results.withLock { results in (0..<Self.writers).compactMap { results[$0] } }
    }

    /// The number of commits in the log, which are the frames with the size of the database after them.
    private func commitsInLog() throws -> Int {
        let log = try Data(contentsOf: URL(fileURLWithPath: test.path + "-wal"))
        func word(_ offset: Int) -> Int { log[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        let salts = log[16..<24]
        let frames = stride(from: 32, to: log.count, by: 24 + word(8)).filter { log[$0 + 8..<$0 + 16] == salts }
        return frames.count { word($0 + 4) != 0 }
    }

    @Test func writesThatWaitTogetherShareOneCommit() throws {
        let store = try open()
        let before = try commitsInLog()
        let results = try together(store) { number in
            try store.write(author: "\(number)") { transaction in
                try transaction.insert(HabitTag(name: "\(number)"))
                if number == 4 { throw CancellationError() }
            }
        }
        #expect(try commitsInLog() - before == 1)
        for (number, result) in results.enumerated() {
            switch result {
            case .success: #expect(number != 4)
            case .failure(let error): #expect(number == 4 && error is CancellationError)
            }
        }
        #expect(try store.all(HabitTag.self).count == Self.writers - 1)
        #expect(try store.currentToken().rawValue == Int64(Self.writers - 1))
        test.close(store)
    }

    @Test func aWriterThatWaitsTooLongIsBusyAndTheOthersAreNot() throws {
        let store = try open(.init(busyLimitSeconds: 0.2))
        let waited = Mutex<HabitStoreError.Code?>(nil)
        let done = DispatchSemaphore(value: 0)
        try store.write { transaction in
            try transaction.insert(HabitTag(name: "held"))
            Thread.detachNewThread {
                do {
                    try store.save(HabitTag(name: "late"))
                } catch {
                    waited.withLock { $0 = (error as? HabitStoreError)?.code }
                }
                done.signal()
            }
            done.wait()
        }
        #expect(waited.withLock { $0 } == .busy)
        try store.save(HabitTag(name: "after"))
        #expect(try store.all(HabitTag.self).map(\.name).sorted() == ["after", "held"])
        test.close(store)
    }

    @Test func aWriteUnderTermsThatActAtItsCommitIsAloneInIt() throws {
        let store = try open()
        let before = try commitsInLog()
        _ = try together(store) { number in
            try store.write(author: nil, under: WriteTerms(mayShareCommit: number.isMultiple(of: 3) ? nil : true)) {
                try $0.insert(HabitTag(name: "\(number)"))
            }
        }
        #expect(try commitsInLog() - before == 1)
        try store.write(author: nil, under: WriteTerms(willCommit: { _, _ in })) { try $0.insert(HabitTag(name: "x")) }
        #expect(!WriteTerms(willCommit: { _, _ in }).mayShareCommit)
        #expect(try commitsInLog() - before == 2)
        test.close(store)
    }

    #if os(Linux)
    @Test func aCommitThatFailsFailsAllThatShareIt() throws {
        let store = try open()
        let (hasBegun, isArmed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isFirst = Atomic<Bool>(true)
        let faults = SQLiteWrapperFaultInjector.shared
        #expect(faults.isInstalled)
        let log = test.path + "-wal"
        let results = try together(
            store,
            meanwhile: {
                hasBegun.wait()
                faults.with(.errorAfterWriting, on: log) {
                    isArmed.signal()
                    while store.core.engine.commits.waitingCount > 0 { usleep(1_000) }
                    // Until all have their answer.
                    Thread.sleep(forTimeInterval: 0.3)
                }
            },
            { number in
                try store.write { transaction in
                    if isFirst.exchange(false, ordering: .relaxed) {
                        hasBegun.signal()
                        isArmed.wait()
                    }
                    try transaction.insert(HabitTag(name: "\(number)"))
                }
            }
        )
        for result in results {
            guard case .failure(let error) = result else {
                Issue.record("a write was acknowledged by a commit that failed")
                continue
            }
            #expect((error as? HabitStoreError)?.code == .outcomeUnknown)
        }
        let found = try store.all(HabitTag.self).count
        #expect(found == 0 || found == Self.writers)
        try store.save(HabitTag(name: "after"))
        #expect(try store.currentToken().rawValue == Int64(found + 1))
        #expect(try store.check { _ in }.isEmpty)
        test.close(store)
    }
    #endif
}
