import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreLMDB

/// Writes of many threads that wait at the same time.
@Suite("LMDB's shared commits")
struct LMDBSharedCommitTests {
    private static let writers = 9

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ options: LMDBHabitStore.Options = .init()) throws -> LMDBHabitStore {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current, options: options)
        // A busy machine may take long to wake a thread.
        store.core.engine.commits.window = 60_000_000_000
        return store
    }

    /// Runs `body` on separate threads, while a write that does not share its commit is in progress: the first of them is about to lead then, and the
    /// others wait for it.
    private func together(
        _ store: LMDBHabitStore,
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
        group.wait()
        return results.withLock { results in (0..<Self.writers).compactMap { results[$0] } }
    }

    /// LMDB's number of the last commit.
    private func lastCommit(_ store: LMDBHabitStore) throws -> UInt64 {
        try store.core.engine.environment.withRead { try $0.identifier() }
    }

    @Test func writesThatWaitTogetherShareOneCommit() throws {
        let store = try open()
        let before = try lastCommit(store)
        let results = try together(store) { number in
            try store.write(author: "\(number)") { transaction in
                try transaction.insert(HabitTag(name: "\(number)"))
                if number == 4 { throw CancellationError() }
            }
        }
        #expect(try lastCommit(store) - before == 1)
        for (number, result) in results.enumerated() {
            switch result {
            case .success: #expect(number != 4)
            case .failure(let error): #expect(number == 4 && error is CancellationError)
            }
        }
        #expect(try store.all(HabitTag.self).count == Self.writers - 1)
        #expect(try store.currentToken().rawValue == Int64(Self.writers - 1))
        #expect(try store.check { _ in }.isEmpty)
        store.close()
    }

    @Test func aWriteThatDoesNotFitTakesNoOtherAlong() throws {
        let store = try open(.init(mapSizeBytes: 1 << 20))
        let results = try together(store) { number in
            try store.write { transaction in
                try transaction.insert(HabitTag(name: "\(number)"))
                guard number == 3 else { return }
                for _ in 0..<2_000 {
                    try transaction.insert(Draft(content: String(repeating: "x", count: 1_000)))
                }
            }
        }
        for (number, result) in results.enumerated() {
            switch result {
            case .success: #expect(number != 3)
            case .failure(let error):
                #expect(number == 3)
                #expect((error as? HabitStoreError)?.code == .full)
            }
        }
        #expect(try store.all(HabitTag.self).count == Self.writers - 1)
        #expect(try store.fetchCount(FetchDescriptor<Draft>()) == 0)
        try store.save(HabitTag(name: "after"))
        #expect(try store.check { _ in }.isEmpty)
        store.close()
    }

    @Test func writersOfAStoreThatIsClosedMeanwhileAreTold() throws {
        let store = try open()
        let results = try together(store) { number in
            if number == 0 {
                // Joins the others, and closes the store instead of writing.
                try store.write { _ in store.close() }
            } else {
                try store.save(HabitTag(name: "\(number)"))
            }
        }
        let again = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let names = try again.all(HabitTag.self).map(\.name)
        for (number, result) in results.enumerated() where number > 0 {
            if case .failure(let error) = result {
                #expect((error as? HabitStoreError)?.code == .closed)
                #expect(!names.contains("\(number)"))
            } else {
                #expect(names.contains("\(number)"))
            }
        }
        again.close()
    }
}
