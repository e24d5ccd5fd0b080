import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Synchronization
import Testing
import Trials

@_spi(Engines) @testable import HabitStoreTesting

@Suite("Live queries as streams")
struct LiveStreamTests {
    /// A separate store in a folder that is deleted with this object.
    private final class Opened {
        let folder: TemporaryFolder
        let store: any EngineBackedStore

        init(_ kind: StoreUnderTest) throws {
            folder = try TemporaryFolder()
            store = try kind.open(folder.url, HabitSchema.current, UUID()) { Date() }
        }

        deinit { store.close() }
    }

    static let kinds = [StoreUnderTest.sqlite, .lmdb, .inMemory]

    private static let byStreak = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.streak, order: .reverse)])

    @Test(arguments: kinds) func theFirstAnswerComesAtOnceAndOthersAsTheyAreWritten(_ kind: StoreUnderTest) async throws
    {
        let opened = try Opened(kind)
        let store = opened.store
        try await store.insert([Habit(name: "Run", streak: 3), Habit(name: "Read", streak: 1)])
        var answers = store.results(of: Self.byStreak).makeAsyncIterator()
        let first = try #require(try await answers.next())
        #expect(first.cause == .first)
        #expect(first.records.map(\.name) == ["Run", "Read"])
        #expect(first.difference.insertions == [0, 1])
        try await store.insert([Habit(name: "Swim", streak: 2)])
        let second = try #require(try await answers.next())
        #expect(second.cause == .changed)
        #expect(second.records.map(\.name) == ["Run", "Swim", "Read"])
        #expect(second.difference == ResultsDifference(insertions: [1]))
        let token = try await store.currentToken()
        #expect(second.token == token)
        var swim = second.records[1]
        swim.streak = 9
        try await store.save(swim)
        let third = try #require(try await answers.next())
        #expect(third.records.map(\.name) == ["Swim", "Run", "Read"])
        #expect(third.difference.moves == [.init(from: 1, to: 0)])
        #expect(third.updated.map(\.name) == ["Swim"])
        try await store.delete(swim)
        let fourth = try #require(try await answers.next())
        #expect(fourth.difference == ResultsDifference(removals: [0]))
    }

    /// Changes do not pile up for a busy consumer, and none is reported twice.
    @Test(arguments: kinds) func aBusyConsumerGetsTheNewestWithTheDifferenceToWhatItGotLast(
        _ kind: StoreUnderTest
    ) async throws {
        let opened = try Opened(kind)
        let store = opened.store
        var answers = store.results(of: Self.byStreak).makeAsyncIterator()
        var known = Array(try #require(try await answers.next()).records)
        for streak in 0..<50 { try await store.insert([Habit(name: "\(streak)", streak: streak)]) }
        var token = HistoryToken.zero
        var elements = 0
        while known.count < 50 {
            let change = try #require(try await answers.next())
            #expect(change.token > token)
            token = change.token
            elements += 1
            change.apply(to: &known)
            #expect(known == Array(change.records))
        }
        let fetched = try await store.fetch(Self.byStreak)
        #expect(known == fetched)
        #expect(elements <= 50)
    }

    @Test func cancellingTheTaskEndsTheStreamAtOnce() async throws {
        let opened = try Opened(.inMemory)
        let store = opened.store
        let task = Task { () -> Int in
            var count = 0
            for try await _ in store.results(of: Self.byStreak) { count += 1 }
            return count
        }
        while store.liveQueries.statistics.asked == 0 { try await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        #expect(try await task.value <= 1)
    }

    @Test(arguments: kinds) func closingTheStoreEndsStreamsWithItsError(_ kind: StoreUnderTest) async throws {
        let opened = try Opened(kind)
        let store = opened.store
        var answers = store.results(of: Self.byStreak).makeAsyncIterator()
        _ = try await answers.next()
        store.close()
        let error = await #expect(throws: HabitStoreError.self) { _ = try await answers.next() }
        #expect(error?.code == .closed)
        #expect(try await answers.next() == nil)
    }

    @Test func aFetchThatIsWrongEndsItsOwnStreamOnly() async throws {
        let opened = try Opened(.lmdb)
        let store = opened.store
        var good = store.results(of: Self.byStreak).makeAsyncIterator()
        _ = try await good.next()
        let filter = try FilterExpression(text: "streak / (streak - streak) > 1")
        var bad = store.results(of: FetchDescriptor<Habit>(filter: filter)).makeAsyncIterator()
        _ = try await bad.next()
        try await store.insert([Habit(name: "Run")])
        let error = await #expect(throws: HabitStoreError.self) { () async throws in _ = try await bad.next() }
        #expect(error?.code == .evaluationFailed)
        #expect(try await good.next()?.records.count == 1)
    }

    /// A fetch with a limit of 0 evaluates no record, but a live query did, for those that it keeps after its window.
    @Test func aQueryThatWantsNothingEvaluatesNothing() throws {
        let opened = try Opened(.lmdb)
        let store = opened.store
        try store.insert([Habit(name: "Run", streak: .max)])
        let filter = try FilterExpression(text: "streak + 1 > 1")
        let nothing = FetchDescriptor<Habit>(filter: filter, fetchLimit: 0)
        #expect(try store.fetch(nothing).isEmpty)
        let queries = LiveQueries()
        let probe = try LiveProbe(store.results(of: nothing), queries)
        try queries.step(store)
        #expect(try probe.takeChange()?.records.isEmpty == true)
        try store.insert([Habit(name: "Swim", streak: .max)])
        try queries.step(store)
        #expect(try probe.takeChange() == nil)
    }

    /// A process that wrote continuously had a step for each commit, which took a third of the commits' time.
    @Test(arguments: [StoreUnderTest.sqlite, .lmdb]) func aStepRestsWhileTheStoreIsWrittenTo(_ kind: StoreUnderTest)
        throws
    {
        let opened = try Opened(kind)
        let store = opened.store
        let queries = store.liveQueries
        let probe = try LiveProbe(store.results(of: Self.byStreak), queries)
        #expect(try !queries.step(store))
        // No write is in progress: the next write is followed immediately.
        try store.save(Habit(name: "Run"))
        #expect(try !queries.step(store))
        #expect(try probe.takeChange()?.records.count == 1)
        try store.save(Habit(name: "Swim"))
        let isWriting = DispatchSemaphore(value: 0)
        let mayGoOn = DispatchSemaphore(value: 0)
        let isWritten = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            // The error of an abandoned write is not a failure.
            _ = try? store.write(author: nil) { transaction in
                isWriting.signal()
                mayGoOn.wait()
                try transaction.save(Habit(name: "Read"))
            }
            isWritten.signal()
        }
        isWriting.wait()
        let mayRest = try queries.step(store)
        mayGoOn.signal()
        isWritten.wait()
        #expect(mayRest)
        #expect(try probe.takeChange()?.records.count == 2)
        // The write has ended.
        #expect(try !queries.step(store))
        #expect(try probe.takeChange()?.records.count == 3)
        #expect(throws: CancellationError.self) { try store.write(author: nil) { _ in throw CancellationError() } }
        try store.save(Habit(name: "Walk"))
        #expect(try !queries.step(store))
    }

    /// Counts what a change costs: no reads for queries that do not use the changed attribute, and one record for those that do.
    @Test(arguments: [StoreUnderTest.sqlite, .lmdb]) func onlyWhatConcernsAQueryIsRead(_ kind: StoreUnderTest) throws {
        let opened = try Opened(kind)
        let store = opened.store
        var habit = Habit(name: "Run", streak: 8)
        try store.insert([habit] + (0..<100).map { Habit(name: "\($0)", streak: $0 % 9) })
        let queries = LiveQueries()
        let wanted = FetchDescriptor<Habit>(
            predicate: #Predicate { $0.streak >= 7 },
            sortBy: [SortDescriptor(\.name)],
            fetchLimit: 30
        )
        let records = try LiveProbe(store.results(of: wanted), queries)
        let names = try LiveProbe(store.identifiers(of: wanted), queries)
        try queries.step(store)
        let before = queries.statistics
        // Another entity, and an attribute of a record that is in none of the answers.
        try store.save(Draft(content: "a thought"))
        let outside = FetchDescriptor<Habit>(predicate: #Predicate { $0.streak == 0 })
        var other = try #require(try store.fetch(outside).first)
        other.unit = "km"
        try store.save(other)
        try queries.step(store)
        #expect(queries.statistics.recordsRead == before.recordsRead)
        #expect(queries.statistics.changes == before.changes + 2)
        #expect(queries.statistics.asked == 2)
        // One of the answers contains this attribute.
        habit.unit = "km"
        try store.save(habit)
        try queries.step(store)
        #expect(queries.statistics.recordsRead == before.recordsRead + 1)
        #expect(queries.statistics.patched == before.patched + 1)
        // Both queries filter and sort by this one, and the record is read once.
        habit.streak = 7
        try store.save(habit)
        try queries.step(store)
        #expect(queries.statistics.recordsRead == before.recordsRead + 2)
        #expect(queries.statistics.patched == before.patched + 3)
        #expect(queries.statistics.asked == 2)
        #expect(try records.takeChange()?.records.contains(habit) == true)
        #expect(try names.takeChange()?.records.contains(habit.id) == true)
    }

    /// Another object over the same file stands in for another process: only the store itself reveals its writes.
    @Test(arguments: [StoreUnderTest.sqlite, .lmdb]) func writesPastTheObjectAreSeen(_ kind: StoreUnderTest)
        async throws
    {
        let opened = try Opened(kind)
        var answers = opened.store.count(of: FetchDescriptor<Habit>()).makeAsyncIterator()
        #expect(try await answers.next()?.count == 0)
        let other = try kind.open(opened.folder.url, HabitSchema.current, UUID()) { Date() }
        defer { other.close() }
        try await other.insert([Habit(name: "Run"), Habit(name: "Read")])
        #expect(try await answers.next()?.count == 2)
    }

    @Test func aPrunedHistoryBeginsTheAnswerAnew() throws {
        let opened = try Opened(.sqlite)
        let store = opened.store
        let queries = LiveQueries()
        let probe = try LiveProbe(store.results(of: Self.byStreak), queries)
        try queries.step(store)
        _ = try probe.takeChange()
        try store.insert([Habit(name: "Run")])
        try store.insert([Habit(name: "Read")])
        try store.pruneHistory(through: try store.currentToken())
        try queries.step(store)
        let change = try #require(try probe.takeChange())
        #expect(change.cause == .requeried)
        #expect(change.records.count == 2)
        #expect(change.difference.insertions.count == 2)
    }

    @Test func theHistoryIsToldOnceAndInOrder() async throws {
        let opened = try Opened(.lmdb)
        let store = opened.store
        for number in 1...5 { try await store.save(Draft(content: "\(number)"), author: "\(number)") }
        let task = Task { () -> [String?] in
            var authors: [String?] = []
            for try await transaction in store.changes(after: HistoryToken(rawValue: 2)) {
                authors.append(transaction.author)
                if authors.count == 300 { break }
            }
            return authors
        }
        for number in 6...302 { try await store.save(Draft(content: "\(number)"), author: "\(number)") }
        #expect(try await task.value == (3...302).map { "\($0)" })
        try await store.pruneHistory(through: try await store.currentToken())
        var late = store.changes(after: .zero).makeAsyncIterator()
        let error = await #expect(throws: HabitStoreError.self) { _ = try await late.next() }
        #expect(error?.code == .historyExpired)
    }

    @Test func projectionsFollowTheirAttributesOnly() throws {
        let opened = try Opened(.lmdb)
        let store = opened.store
        var habit = Habit(name: "Run", streak: 1)
        try store.save(habit)
        let queries = LiveQueries()
        let probe = try LiveProbe(store.results(of: FetchDescriptor<Habit>(), [\.name]), queries)
        try queries.step(store)
        #expect(try probe.takeChange()?.records.first?[\.name] == "Run")
        habit.streak = 2
        try store.save(habit)
        try queries.step(store)
        #expect(try probe.takeChange() == nil)
        #expect(queries.statistics.recordsRead == 0)
        habit.name = "Swim"
        try store.save(habit)
        try queries.step(store)
        #expect(try probe.takeChange()?.records.first?[\.name] == "Swim")
    }

    /// One patch in a thousand is checked by a fetch; here each one is, and patching is broken.
    @Test func aMistakenPatchIsReportedAndEndsPatching() throws {
        let opened = try Opened(.lmdb)
        let store = opened.store
        let reports = Reports()
        let queries = LiveQueries { reports.add($0) }
        queries.compare(oneIn: 1)
        let probe = try LiveProbe(store.results(of: Self.byStreak), queries)
        try queries.step(store)
        _ = try probe.takeChange()
        try LiveMutant.$planted.withValue(.lostArrival) {
            try store.insert([Habit(name: "Run")])
            try queries.step(store)
        }
        #expect(try probe.takeChange()?.records.count == 1)
        #expect(reports.all.count == 1)
        #expect(reports.all.first?.contains("1 missing") == true)
        let asked = queries.statistics.asked
        try store.insert([Habit(name: "Read")])
        try queries.step(store)
        #expect(queries.statistics.asked == asked + 1)
        #expect(try probe.takeChange()?.records.count == 2)
        #expect(queries.statistics.different == 1)
    }

    @Test func aLiveQuerySaysHowItFollowsTheStore() throws {
        let opened = try Opened(.sqlite)
        let store = opened.store
        let plain = FetchDescriptor<Habit>(predicate: #Predicate { $0.streak > 3 }, sortBy: [SortDescriptor(\.name)])
        #expect("\(try store.explainLive(plain))" == "patched; watches id, name, streak")
        let related = FetchDescriptor<Entry>(predicate: #Predicate { $0.habit?.name == "Run" })
        #expect("\(try store.explainLive(related))" == "patched; watches id, habitID; of Habit: name (judged)")
        let tagged = FetchDescriptor<Habit>(predicate: #Predicate { $0.tags.contains { $0.name == "a" } })
        #expect("\(try store.explainLive(tagged))" == "patched; watches id, tagIDs; of Tag: name (asked again)")
        let failing = FetchDescriptor<Habit>(filter: try FilterExpression(text: "streak / timesPerPeriod > 1"))
        #expect(try store.explainLive(failing).askedAgainBecause == "evaluating the condition may fail")
    }

    /// There is no separate thread for each of them.
    @Test func aThousandStreamsRunOnWhatThereIs() async throws {
        let opened = try Opened(.lmdb)
        let store = opened.store
        try await withThrowingTaskGroup { group in
            for number in 0..<1_000 {
                group.addTask {
                    let wanted = FetchDescriptor<Habit>(predicate: #Predicate { $0.streak == number })
                    for try await change in store.results(of: wanted) where !change.records.isEmpty { return }
                }
            }
            while store.liveQueries.statistics.asked < 1_000 { try await Task.sleep(for: .milliseconds(5)) }
            try await store.insert((0..<1_000).map { Habit(name: "\($0)", streak: $0) })
            try await group.waitForAll()
        }
        #expect(store.liveQueries.statistics.asked < 1_100)
    }
}

/// The reported lines.
private final class Reports: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
