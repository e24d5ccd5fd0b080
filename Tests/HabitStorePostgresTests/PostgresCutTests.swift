import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStorePostgres
import HabitTracker
import PostgresTesting
import Synchronization
import Testing

/// The result of a write when the connection breaks, and what was written.
@Suite("PostgreSQL: connections that break", .needsServer)
struct PostgresCutTests {
    private let proxy: PostgresProxy
    /// A store through the proxy, and the same store without it.
    private let place: PostgresPlace
    private let direct: PostgresPlace

    init() throws {
        proxy = try PostgresProxy(to: TestServer.port)
        direct = try TestServer.place()
        place = PostgresPlace(server: try TestServer.uri(of: proxy), name: direct.name)
    }

    /// Breaks the connection at each message of a write, before and after it.
    ///
    /// - Parameters:
    ///   - delay: how long each message takes.
    ///   - body: a write; each round has another one.
    private func sweep(
        _ trouble: PostgresProxy.Trouble,
        _ direction: PostgresProxy.Direction,
        delay: Duration = .zero,
        _ body: (any WriteTransaction, Int) throws -> Void
    ) throws {
        defer { proxy.close() }
        let witness = try PostgresHabitStore(direct, schema: HabitSchema.current)
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        try witness.write(author: "first") { try body($0, 0) }
        proxy.delaySeconds = delay / .seconds(1)
        var (expected, kept, undone) = (["first"], 0, 0)
        for number in 0... {
            let author = "write \(number)"
            proxy.plan(trouble, at: .message(direction, number))
            var runs = 0
            do {
                try store.write(author: author) { transaction in
                    runs += 1
                    try body(transaction, number + 1)
                }
                #expect(runs == 1)
                expected.append(author)
                kept += 1
            } catch let error as HabitStoreError {
                #expect(runs <= 1)
                #expect(error.code == .inputOutput, "\(error)")
                undone += 1
            }
            #expect(try witness.fetchHistory(after: .zero).map(\.author) == expected, "message \(number)")
            guard proxy.endPlan() else { break }
        }
        #expect(try witness.fetchHistory(after: .zero).map(\.token.rawValue) == (1...Int64(expected.count)).map { $0 })
        #expect(try witness.check { _ in }.isEmpty)
        print("\(trouble), \(direction): \(kept) writes kept, \(undone) undone")
        // The last one meets no fault. Whether the server handles a message that is the last one depends on timing.
        #expect(undone > 3 && kept > (direction == .toServer ? 0 : 1))
    }

    private static let troubles: [PostgresProxy.Trouble] = [.cutBefore, .cutBehind]

    @Test(arguments: troubles, PostgresProxy.Direction.allCases)
    func anInsertIsThereOnceOrNot(_ trouble: PostgresProxy.Trouble, _ direction: PostgresProxy.Direction) throws {
        try sweep(trouble, direction) { try $0.insert(Tag(name: "tag \($1)")) }
    }

    @Test(arguments: [1, 5, 50], PostgresProxy.Direction.allCases)
    func anInsertOnASlowWayIsThereOnceOrNot(_ milliseconds: Int, _ direction: PostgresProxy.Direction) throws {
        try sweep(.cutBehind, direction, delay: .milliseconds(milliseconds)) {
            try $0.insert(Tag(name: "tag \($1)"))
        }
    }

    @Test(arguments: troubles, PostgresProxy.Direction.allCases)
    func anUpdateIsThereOnceOrNot(_ trouble: PostgresProxy.Trouble, _ direction: PostgresProxy.Direction) throws {
        let id = UUID()
        try sweep(trouble, direction) { try $0.save(Tag(id: id, name: "tag \($1)")) }
    }

    /// A rollout reads in a write transaction whether a failed write was kept. It found one that the standby lacked, and acknowledged it.
    @Test func whatTheStandbyMayLackIsNotTakenForKept() throws {
        defer { proxy.close() }
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        try store.write { try $0.insert(Tag(name: "first")) }
        func read() throws -> HistoryToken { try store.replicate { try $0.information().token } }
        proxy.hidesStandby = true
        var error = #expect(throws: HabitStoreError.self) { try store.write { try $0.insert(Tag(name: "second")) } }
        #expect(error?.code == .outcomeUnknown)
        error = #expect(throws: HabitStoreError.self) { try read() }
        #expect(error?.code == .outcomeUnknown)
        proxy.hidesStandby = false
        #expect(try read().rawValue == 2)
        // From then on nothing more is committed for a reading.
        proxy.beginCounting()
        #expect(try read().rawValue == 2)
        #expect(!proxy.roundTrips.joined().contains("hs_touch"), "\(proxy.roundTrips)")
    }

    /// After a lost answer a write checked whether its name was that of the last commit. If another process had written in the meantime, it reported
    /// that nothing was written, and a retry wrote it twice. Now the row names the last 32 commits.
    @Test func aCommitIsFoundBehindThoseOfOthers() throws {
        defer { proxy.close() }
        let other = try PostgresHabitStore(direct, schema: HabitSchema.current)
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        let failures = Mutex(0)
        proxy.plan(.cutBehind, at: .endOfBatch(with: "hs_commit")) {
            for number in 0..<31 {
                do {
                    try other.write(author: "other") { try $0.insert(Tag(name: "other \(number)")) }
                } catch {
                    failures.withLock { $0 += 1 }
                }
            }
        }
        try store.write(author: "own") { try $0.insert(Tag(name: "own")) }
        #expect(proxy.endPlan())
        #expect(failures.withLock { $0 } == 0)
        let authors = try other.fetchHistory(after: .zero).map(\.author)
        #expect(authors == ["own"] + Array(repeating: "other", count: 31))
    }

    /// A transaction ends without waiting for the server's answer. A connection that was cut after it had an answer passed for usable: after a
    /// failover a read failed for each idle connection. Now the end of the connection after the answer is noticed.
    @Test func aConnectionThatWasCutWhileIdleIsNotUsedAgain() throws {
        defer { proxy.close() }
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        for _ in 0..<3 {
            _ = try store.fetchHistory(after: .zero)
            Thread.sleep(forTimeInterval: 0.1)
            proxy.cutAll()
            Thread.sleep(forTimeInterval: 0.1)
            #expect(try store.fetchHistory(after: .zero).isEmpty)
        }
    }

    /// If there were more commits since than the row names, the outcome is unknown.
    @Test func aCommitBehindTooManyIsUnknown() throws {
        defer { proxy.close() }
        let other = try PostgresHabitStore(direct, schema: HabitSchema.current)
        // Who waits less long than the others' commits take asks before there are too many.
        let store = try PostgresHabitStore(place, schema: HabitSchema.current, options: .init(waitSeconds: 60))
        let failures = Mutex(0)
        proxy.plan(.cutBehind, at: .endOfBatch(with: "hs_commit")) {
            for number in 0..<32 {
                do {
                    try other.write(author: "other") { try $0.insert(Tag(name: "other \(number)")) }
                } catch {
                    failures.withLock { $0 += 1 }
                }
            }
        }
        do {
            try store.write(author: "own") { try $0.insert(Tag(name: "own")) }
            Issue.record("a commit was found that is no longer named")
        } catch let error as HabitStoreError {
            #expect(error.code == .outcomeUnknown)
        }
        #expect(failures.withLock { $0 } == 0)
        #expect(try other.fetchHistory(after: .zero).map(\.author).count { $0 == "own" } == 1)
    }

    /// A store's first transaction creates its row, and a lock on a row that is being created is invisible: when its commit was late, opening the
    /// store failed with "nothing was written", and a moment later the store existed.
    @Test func aStoreThatIsStillBeingMadeIsNotCalledUnwritten() throws {
        defer { proxy.close() }
        proxy.plan(.stall, at: .statement("hs_commit"))
        do {
            _ = try PostgresHabitStore(place, schema: HabitSchema.current, options: .init(waitSeconds: 0.3))
            Issue.record("a store was opened whose commit was never answered")
        } catch let error as HabitStoreError {
            #expect(error.code == .outcomeUnknown, "\(error)")
        }
        #expect(proxy.endPlan())
        proxy.release()
        let store = try PostgresHabitStore(direct, schema: HabitSchema.current)
        #expect(try store.fetchHistory(after: .zero).isEmpty)
    }
}
