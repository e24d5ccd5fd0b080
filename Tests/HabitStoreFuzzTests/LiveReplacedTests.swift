import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreTesting

/// A store was restored while processes followed it. If it was written again up to the last reported token before the follower checked, it passed for
/// the same store: a watcher never showed its records, and the history continued with the next token. A follower of a file kept following the
/// replaced one, and got no further changes and no error.
@Suite("Live queries of stores that are put back", .timeLimit(.minutes(5)))
struct LiveReplacedTests {
    private static let kinds = [StoreUnderTest.sqlite, .lmdb]
    private static let byName = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name)])

    /// A store, and a copy of it with other writes since: of the same origin, identity and epoch.
    private final class Parted {
        private let folder: TemporaryFolder
        let told: any EngineBackedStore
        let putBack: any EngineBackedStore

        /// - Parameters:
        ///   - kept: the names in both.
        ///   - lost: the names written only to the first, one transaction for each.
        ///   - found: the names written only to the copy.
        init(_ kind: StoreUnderTest, kept: [String], lost: [String], found: [String]) throws {
            let folder = try TemporaryFolder()
            self.folder = folder
            func make(_ name: String) throws -> any EngineBackedStore {
                let place = folder.url.appendingPathComponent(name)
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                return try kind.open(place, HabitSchema.current, UUID()) { Date() }
            }
            let told = try make("told")
            for name in kept { try told.save(Habit(name: name)) }
            let empty = try make("put back")
            let path = try #require(empty.path)
            empty.close()
            let place = URL(fileURLWithPath: path).deletingLastPathComponent().path
            for file in try FileManager.default.contentsOfDirectory(atPath: place) {
                try FileManager.default.removeItem(atPath: place + "/" + file)
            }
            try told.backup(to: path)
            let putBack = try make("put back")
            for name in lost { try told.save(Habit(name: name)) }
            for name in found { try putBack.save(Habit(name: name)) }
            (self.told, self.putBack) = (told, putBack)
        }

        deinit {
            told.close()
            putBack.close()
        }
    }

    @Test(arguments: kinds, [["d"], ["d", "e"], ["d", "e", "f"]])
    func anAnswerThatIsOfALostHistoryBeginsAnew(_ kind: StoreUnderTest, found: [String]) throws {
        let stores = try Parted(kind, kept: ["a", "b"], lost: ["c", "g"], found: found)
        let queries = LiveQueries()
        let probe = try LiveProbe(stores.told.results(of: Self.byName), queries)
        try queries.step(stores.told)
        #expect(try probe.takeChange()?.records.map(\.name) == ["a", "b", "c", "g"])
        try queries.step(stores.putBack, isCheck: true)
        let change = try #require(try probe.takeChange())
        #expect(change.cause == .requeried)
        #expect(change.records.map(\.name) == ["a", "b"] + found)
        let token = try stores.putBack.currentToken()
        #expect(change.token == token)
        try stores.putBack.save(Habit(name: "z"))
        try queries.step(stores.putBack)
        #expect(try probe.takeChange()?.cause == .changed)
    }

    /// The reported token is in both histories, so nothing starts again.
    @Test(arguments: kinds) func anAnswerThatIsOfBothHistoriesGoesOn(_ kind: StoreUnderTest) throws {
        let stores = try Parted(kind, kept: ["a", "b"], lost: [], found: ["c", "d"])
        let queries = LiveQueries()
        let probe = try LiveProbe(stores.told.results(of: Self.byName), queries)
        try queries.step(stores.told)
        _ = try probe.takeChange()
        let asked = queries.statistics.asked
        try queries.step(stores.putBack, isCheck: true)
        let change = try #require(try probe.takeChange())
        #expect(change.cause == .changed)
        #expect(change.records.map(\.name) == ["a", "b", "c", "d"])
        #expect(queries.statistics.asked == asked)
    }

    /// Also for a consumer without a query that only waits for the token.
    @Test(arguments: kinds) func whoWaitsForTheTokenIsToldTheSameOneAgain(_ kind: StoreUnderTest) async throws {
        let stores = try Parted(kind, kept: ["a"], lost: ["b"], found: ["c"])
        let store = SwitchedStore(stores.told)
        var tokens = store.tokens().makeAsyncIterator()
        #expect(try await tokens.next() == HistoryToken(rawValue: 2))
        store.answer(from: stores.putBack)
        #expect(try await tokens.next() == HistoryToken(rawValue: 2))
    }

    @Test(arguments: kinds, [["c"], ["c", "d"], ["c", "d", "e"]])
    func theHistoryDoesNotGoOnBehindOneThatIsLost(_ kind: StoreUnderTest, found: [String]) async throws {
        let stores = try Parted(kind, kept: ["a"], lost: ["b", "g"], found: found)
        let store = SwitchedStore(stores.told)
        var changes = store.changes(after: .zero).makeAsyncIterator()
        for token in 1...3 { #expect(try await changes.next()?.token == HistoryToken(rawValue: Int64(token))) }
        // The consumer asks for the next one only after the store was written again.
        store.answer(from: stores.putBack)
        let error = await #expect(throws: HabitStoreError.self) { _ = try await changes.next() }
        #expect(error?.code == .historyExpired)
        #expect(error?.message.contains("was restored or replaced") == true)
    }

    @Test(arguments: kinds) func theHistoryGoesOnWhereWhatWasToldIsInIt(_ kind: StoreUnderTest) async throws {
        let stores = try Parted(kind, kept: ["a", "b"], lost: [], found: ["c", "d"])
        let store = SwitchedStore(stores.told)
        var changes = store.changes(after: .zero).makeAsyncIterator()
        for token in 1...2 { #expect(try await changes.next()?.token == HistoryToken(rawValue: Int64(token))) }
        store.answer(from: stores.putBack)
        for token in 3...4 { #expect(try await changes.next()?.token == HistoryToken(rawValue: Int64(token))) }
    }

    @Test(arguments: kinds) func aTokenThatTheStoreHasNotComeToWasNotToldByIt(_ kind: StoreUnderTest) async throws {
        let stores = try Parted(kind, kept: ["a"], lost: [], found: [])
        var changes = stores.told.changes(after: HistoryToken(rawValue: 999)).makeAsyncIterator()
        let error = await #expect(throws: HabitStoreError.self) { _ = try await changes.next() }
        #expect(error?.code == .historyExpired)
        #expect(error?.message.contains("has not reached token 999") == true)
    }

    /// An open store stays with its file, and reports that.
    @Test(arguments: kinds, [true, false])
    func aFileThatAnotherOneStandsInThePlaceOfEndsItsStreams(_ kind: StoreUnderTest, isReplaced: Bool) async throws {
        let stores = try Parted(kind, kept: ["a"], lost: ["b"], found: ["c"])
        let (store, path) = (stores.told, try #require(stores.told.path))
        var answers = store.results(of: Self.byName).makeAsyncIterator()
        var changes = store.changes(after: HistoryToken(rawValue: 1)).makeAsyncIterator()
        var tokens = store.tokens().makeAsyncIterator()
        #expect(try await answers.next()?.records.count == 2)
        #expect(try await changes.next()?.token == HistoryToken(rawValue: 2))
        _ = try await tokens.next()
        let other = try #require(stores.putBack.path)
        guard rename(isReplaced ? other : path, isReplaced ? path : path + "-aside") == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
        let first = await #expect(throws: HabitStoreError.self) { _ = try await answers.next() }
        let second = await #expect(throws: HabitStoreError.self) { _ = try await changes.next() }
        let third = await #expect(throws: HabitStoreError.self) { _ = try await tokens.next() }
        #expect([first, second, third].map { $0?.code } == [.fileMoved, .fileMoved, .fileMoved])
    }
}

/// A store that forwards to another one from some moment on, as a user's does.
private final class SwitchedStore: HabitStore {
    private let present: Mutex<any EngineBackedStore>
    let schema: Schema
    let dispatcher = StoreDispatcher(label: "switched")

    init(_ store: any EngineBackedStore) {
        present = Mutex(store)
        schema = store.schema
    }

    func answer(from store: any EngineBackedStore) { present.withLock { $0 = store } }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try present.withLock { $0 }.read(body)
    }

    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try present.withLock { $0 }.write(author: author, body)
    }

    func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    func close() {}
}
