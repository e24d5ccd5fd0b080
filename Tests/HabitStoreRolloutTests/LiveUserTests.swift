import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

@Suite("Live queries of users")
struct LiveUserTests {
    private static let drafts = FetchDescriptor<Draft>(sortBy: [SortDescriptor(\.content)])

    /// Follows a user until there are `count` drafts, and checks each result against the one before.
    private func follow(_ store: UserStore, until count: Int) async throws -> (answers: Int, drafts: [String]) {
        var known: [Draft] = []
        var token = HistoryToken.zero
        var answers = 0
        for try await change in store.results(of: Self.drafts) {
            answers += 1
            #expect(change.token >= token)
            #expect(change.cause == (answers == 1 ? .first : .changed))
            token = change.token
            change.apply(to: &known)
            #expect(known == Array(change.records))
            if known.count == count { break }
        }
        return (answers, known.map(\.content))
    }

    /// A stream continues whichever store answers: no change is lost or repeated.
    @Test(arguments: EngineName.standard) func aStreamGoesOnThroughAWholeRollout(old: EngineName) async throws {
        let user = try StagedUser(old: old)
        let store = try await user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        let following = Task { try await follow(store, until: 60) }
        let history = Task { () -> [HistoryToken] in
            var tokens: [HistoryToken] = []
            for try await transaction in store.changes(after: .zero) {
                tokens.append(transaction.token)
                if tokens.count == 63 { break }
            }
            return tokens
        }
        var written = 0
        func write(_ count: Int) throws {
            for _ in 0..<count {
                written += 1
                try store.save(Draft(content: String(100 + written)), author: nil)
            }
        }
        for stage in [Stage.dualwrite, .shadow, .live, .rampdown, .complete] {
            try write(10)
            try user.bring(store, to: stage)
        }
        try write(5)
        try user.want("complete", kill: true)
        store.files.context.flags.provider.reload()
        #expect(try store.applyKill())
        #expect(try store.engine() == old)
        let before = try await store.currentToken()
        try write(60 - written)
        let (answers, drafts) = try await following.value
        #expect(drafts == (1...60).map { String(100 + $0) })
        #expect(answers <= 61)
        let tokens = try await history.value
        #expect(tokens == tokens.sorted() && Set(tokens).count == tokens.count)
        #expect(try #require(tokens.last) > before || tokens.count == 63)
    }

    /// Another `UserStores` object stands in for another process: the two share only the files.
    @Test func writesOfOtherProcessesAreSeenWhileTheFilesAreClosed() async throws {
        let users = try PooledUsers(limit: 2)
        let names = (0..<12).map { "user \($0)" }
        let stores = try names.map { try users.store($0) }
        let others = try users.fixture.stores()
        try await withThrowingTaskGroup { group in
            for store in stores {
                group.addTask { try await follow(store, until: 5).drafts }
            }
            // The first results are known once all queries have been asked.
            while stores.contains(where: { $0.liveQueries.statistics.asked == 0 }) {
                try await Task.sleep(for: .milliseconds(5))
            }
            for number in 1...5 {
                for name in names {
                    let other = try await others.store(for: name)
                    try await other.save(Draft(content: "\(number)"))
                    other.close()
                }
            }
            for try await drafts in group { #expect(drafts == (1...5).map(String.init)) }
        }
        #expect(users.stores.openUserCount <= 2)
    }

    /// The control file is watched through its own mapping: a deleted and recreated one is followed as well.
    @Test func aControlFileThatIsMadeAnewIsFollowed() async throws {
        let fixture = try UserStoresFixture(.sqlite)
        let store = try await fixture.stores().store(for: "alice")
        defer { store.close() }
        var answers = store.count(of: FetchDescriptor<Draft>()).makeAsyncIterator()
        #expect(try await answers.next()?.count == 0)
        try FileManager.default.removeItem(atPath: try fixture.directory().path + "/control")
        try fixture.with { try $0.save(Draft(content: "past it")) }
        #expect(try await answers.next()?.count == 1)
        try fixture.with { try $0.save(Draft(content: "once more")) }
        #expect(try await answers.next()?.count == 2)
    }

    @Test func theEndOfTheStoreIsTheEndOfItsStreams() async throws {
        let fixture = try UserStoresFixture(.lmdb)
        let store = try await fixture.stores().store(for: "alice")
        var answers = store.results(of: Self.drafts).makeAsyncIterator()
        _ = try await answers.next()
        store.close()
        let error = await #expect(throws: HabitStoreError.self) { _ = try await answers.next() }
        #expect(error?.code == .closed)
    }
}
