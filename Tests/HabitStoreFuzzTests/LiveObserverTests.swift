import Foundation
import HabitStore
import HabitTracker
import Observation
import Testing

@Suite("Live queries for views")
struct LiveObserverTests {
    private let store = try? InMemoryHabitStore(schema: HabitSchema.current)

    @MainActor @Test func anObserverShowsWhatIsThereInSections() async throws {
        let store = try #require(store)
        try await store.insert([
            Habit(name: "Run", category: "sport"), Habit(name: "Read"), Habit(name: "Swim", category: "sport"),
        ])
        let order = [SortDescriptor(\Habit.category), SortDescriptor(\Habit.name)]
        let observer = ResultsObserver(store, FetchDescriptor<Habit>(sortBy: order), sectionBy: \.category)
        while observer.change == nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(observer.sections.map(\.id) == ["", "sport"])
        #expect(observer.sections.map { $0.records.map(\.name) } == [["Read"], ["Run", "Swim"]])
        try await store.insert([Habit(name: "Cook", category: "home")])
        while observer.records.count < 4 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(observer.sections.map(\.id) == ["", "home", "sport"])
        #expect(observer.error == nil)
    }

    /// Sections were compared by their text: nil and "" were one section, and so were dates within a second.
    @MainActor @Test func valuesOfOneTextAreSectionsOfTheirOwn() async throws {
        let store = try #require(store)
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
        try await store.insert(
            [nil, "", "a", "a"].enumerated().map { place, category in
                Habit(name: "\(place)", createdAt: date + Double(place) / 4, category: category)
            }
        )
        let byCategory = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.category), SortDescriptor(\.name)])
        let observer = ResultsObserver(store, byCategory, sectionBy: \.category)
        while observer.change == nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(observer.sections.map { $0.records.map(\.name) } == [["0"], ["1"], ["2", "3"]])
        #expect(observer.sections.map(\.id) == ["", " (2)", "a"])
        let byDate = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.createdAt)])
        let dated = ResultsObserver(store, byDate, sectionBy: \.createdAt)
        while dated.change == nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(dated.sections.map { $0.records.map(\.name) } == [["0"], ["1"], ["2"], ["3"]])
        #expect(Set(dated.sections.map(\.id)).count == 4)
    }

    @MainActor @Test func aChangeIsObserved() async throws {
        let store = try #require(store)
        let observer = ResultsObserver(store, FetchDescriptor<Draft>())
        while observer.change == nil { try await Task.sleep(for: .milliseconds(1)) }
        await confirmation { isTold in
            withObservationTracking {
                _ = observer.records.count
            } onChange: {
                isTold()
            }
            do {
                try await store.insert([Draft(content: "a thought")])
                while observer.records.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            } catch {
                Issue.record(error)
            }
        }
    }

    /// A view describes its fetch each time that it is drawn, for example at each keystroke.
    @MainActor @Test func aViewIsFollowedAnewWhereItsFetchHasBecomeAnother() throws {
        let store = try #require(store)
        let followed = FollowedFetch<Habit>()
        func follow(_ category: String, limit: Int? = nil) -> ResultsObserver<Habit>? {
            let predicate = #Predicate<Habit> { $0.category == category }
            let order = [SortDescriptor(\Habit.name)]
            followed.follow(store, FetchDescriptor(predicate: predicate, sortBy: order, fetchLimit: limit))
            return followed.observer
        }
        let first = try #require(follow("sport"))
        #expect(follow("sport") === first)
        let second = try #require(follow("home"))
        #expect(second !== first)
        let third = try #require(follow("home", limit: 1))
        #expect(third !== second)
        followed.follow(store, FetchDescriptor(sortBy: [SortDescriptor(\Habit.streak)]))
        let fourth = try #require(followed.observer)
        #expect(fourth !== third)
        followed.follow(
            try InMemoryHabitStore(schema: HabitSchema.current),
            FetchDescriptor(sortBy: [SortDescriptor(\Habit.streak)])
        )
        #expect(followed.observer !== fourth)
        followed.follow(nil, FetchDescriptor())
        #expect(followed.observer == nil)
    }

    @MainActor @Test func anObserverThatIsLetGoOfLetsTheStoreGo() async throws {
        weak var gone: InMemoryHabitStore?
        do {
            let store = try InMemoryHabitStore(schema: HabitSchema.current)
            gone = store
            let observer = ResultsObserver(store, FetchDescriptor<Draft>())
            while observer.change == nil { try await Task.sleep(for: .milliseconds(1)) }
        }
        while gone != nil { try await Task.sleep(for: .milliseconds(1)) }
    }

    @MainActor @Test func theHistoryIsCountedByEntityAndAuthor() async throws {
        let store = try #require(store)
        let observer = HistoryObserver(store, after: .zero, entities: ["Draft"], authors: ["app"])
        try await store.insert([Draft(content: "a")], author: "app")
        try await store.insert([Draft(content: "b")], author: "import")
        try await store.insert([Habit(name: "Run")], author: "app")
        try await store.insert([Draft(content: "c")], author: "app")
        while observer.eventCounter < 2 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(observer.lastTransaction?.token == HistoryToken(rawValue: 4))
    }

    /// Records stored before the end of the task stay, and a stream gets them in batches.
    @Test func recordsAreImportedAsTheyCome() async throws {
        let store = try #require(store)
        let following = Task { () -> [Int] in
            var counts: [Int] = []
            for try await change in store.count(of: FetchDescriptor<Draft>()) {
                counts.append(change.count)
                if change.count == 1_050 { break }
            }
            return counts
        }
        let drafts = AsyncStream<Draft> { continuation in
            for number in 0..<1_050 { continuation.yield(Draft(content: "\(number)")) }
            continuation.finish()
        }
        var told: [Int] = []
        let count = try await store.insert(contentsOf: drafts, batchSize: 100, author: "import") { told.append($0) }
        #expect(count == 1_050)
        #expect(told == stride(from: 100, through: 1_000, by: 100) + [1_050])
        let counts = try await following.value
        #expect(counts == counts.sorted() && counts.count <= 12)
        let endless = AsyncStream<Draft> { Draft(content: "endless") }
        let task = Task { try await store.insert(contentsOf: endless, batchSize: 10) }
        while try await store.fetchCount(FetchDescriptor<Draft>()) < 1_100 {
            try await Task.sleep(for: .milliseconds(1))
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await store.fetchCount(FetchDescriptor<Draft>()) % 10 == 0)
    }
}
