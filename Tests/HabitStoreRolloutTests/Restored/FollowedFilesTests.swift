import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A user's folder was replaced while a process followed the user: it kept reading the files that had been moved away and showed no further changes,
/// without an error. If the stores were restored over their own files, it showed the older records while every command refused them; and if the older
/// store was accepted and written up to the token already shown, it kept showing the previous records.
@Suite("Followers of users whose files are put back", .timeLimit(.minutes(5)))
struct FollowedFilesTests {
    private static let drafts = FetchDescriptor<Draft>(sortBy: [SortDescriptor(\.content)])

    /// Another `UserStores` object stands in for another process.
    private func write(_ contents: [String], to user: StagedUser) throws {
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        for content in contents { try store.save(Draft(content: content)) }
    }

    /// Copies a user's stores over their own files, as another program does.
    private func putBack(_ copy: String, over folder: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: copy)
        where name.hasPrefix("store.") && !name.hasSuffix("-lock") {
            let (from, to) = (copy + "/" + name, folder + "/" + name)
            let length = try #require(try FileManager.default.attributesOfItem(atPath: from)[.size] as? Int)
            try run("/bin/dd", "if=\(from)", "of=\(to)", "conv=notrunc", "status=none")
            try run("/usr/bin/truncate", "-s", "\(length)", to)
        }
    }

    private func run(_ program: String, _ arguments: String...) throws {
        #expect(try ChildProcess.run(program, arguments).isSuccess)
    }

    /// The flags are not watched here, so that nothing else makes the process find the user again.
    @Test(arguments: EngineName.standard, [Stage.off, .live, .complete])
    func whoFollowsIsToldOfTheFolderThatStandsThereNow(old: EngineName, stage: Stage) async throws {
        let user = try StagedUser(old: old)
        let store = try await user.stores().store(for: "alice")
        defer { store.close() }
        try await store.save(Draft(content: "a"))
        try user.bring(store, to: stage) { _ = try $0.all(Draft.self) }
        var answers = store.results(of: Self.drafts).makeAsyncIterator()
        #expect(try await answers.next()?.records.count == 1)
        let path = try user.directory.path
        try run("/bin/cp", "-a", path, user.folder.path("copy"))
        try FileManager.default.moveItem(atPath: path, toPath: user.folder.path("aside"))
        try FileManager.default.moveItem(atPath: user.folder.path("copy"), toPath: path)
        let begun = ContinuousClock.now
        try write(["b", "c"], to: user)
        while let change = try await answers.next() {
            if change.records.map(\.content) == ["a", "b", "c"] { break }
        }
        #expect(ContinuousClock.now - begun < .seconds(30))
    }

    /// A follower never creates a user in a folder that is missing or about to be restored.
    @Test(arguments: EngineName.standard, [true, false])
    func whoFollowsAUserWhoIsGoneIsToldAndMakesNone(engine: EngineName, isEmptied: Bool) throws {
        let fixture = try UserStoresFixture(engine)
        let store = try fixture.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Draft(content: "a"))
        let queries = LiveQueries()
        let probe = try LiveProbe(store.results(of: Self.drafts), queries)
        try queries.step(store)
        _ = try probe.takeChange()
        let path = try fixture.directory().path
        try FileManager.default.moveItem(atPath: path, toPath: fixture.folder.path("aside"))
        if isEmptied { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        #expect(store.isOutOfPlace)
        let error = #expect(throws: HabitStoreError.self) { try queries.step(store) }
        #expect(error?.code == .notFound)
        #expect(!FileManager.default.fileExists(atPath: path + "/" + engine.fileName))
        // Once the folder is back, it is followed again.
        if isEmptied { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: fixture.folder.path("aside"), toPath: path)
        try store.save(Draft(content: "b"))
        try queries.step(store)
        #expect(try probe.takeChange()?.records.map(\.content) == ["a", "b"])
    }

    @Test(arguments: EngineName.standard, [Stage.off, .complete])
    func whoFollowsIsRefusedAStoreThatWasPutBackOverItsOwnFile(old: EngineName, stage: Stage) throws {
        let user = try StagedUser(at: stage, old: old, reading: Draft.self) { try $0.save(Draft(content: "a")) }
        let path = try user.directory.path
        try run("/bin/cp", "-a", path, user.folder.path("copy"))
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Draft(content: "b"))
        let queries = LiveQueries()
        let probe = try LiveProbe(store.results(of: Self.drafts), queries)
        try queries.step(store)
        _ = try probe.takeChange()
        try putBack(user.folder.path("copy"), over: path)
        let error = #expect(throws: HabitStoreError.self) { try queries.step(store) }
        #expect(error?.code == .staleStore)
        #expect(try probe.takeChange() == nil)
    }

    /// A store that has less than was acknowledged serves no follower, whatever the cause.
    @Test(arguments: EngineName.standard) func whatWasAcknowledgedIsInEachAnswer(engine: EngineName) async throws {
        let fixture = try UserStoresFixture(engine)
        let store = try await fixture.stores().store(for: "alice")
        defer { store.close() }
        try await store.save(Draft(content: "a"))
        var answers = store.results(of: Self.drafts).makeAsyncIterator()
        #expect(try await answers.next()?.records.count == 1)
        let control = try #require(store.files.leases.openUser?.control)
        control.noteAcknowledged(HistoryToken(rawValue: 7))
        let error = await #expect(throws: HabitStoreError.self) { _ = try await answers.next() }
        #expect(error?.code == .staleStore)
    }

    /// The consumer asks again after the older store was accepted and written to: up to the token that it knows, or past it.
    @Test(arguments: EngineName.standard, 1...3)
    func whoFollowsSlowlyIsToldThatAnOlderStoreWasAccepted(engine: EngineName, writes: Int) throws {
        let fixture = try UserStoresFixture(engine)
        try fixture.with { try $0.save(Draft(content: "a")) }
        let path = try fixture.address(engine).path
        try FileManager.default.copyItem(atPath: path, toPath: fixture.folder.path("older"))
        let stores = try fixture.stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        for content in ["lost", "gone"] { try store.save(Draft(content: content)) }
        let queries = LiveQueries()
        let probe = try LiveProbe(store.results(of: Self.drafts), queries)
        try queries.step(store)
        #expect(try probe.takeChange()?.token == HistoryToken(rawValue: 3))
        // An engine may be able to open the replacement only after its process has released the previous file.
        store.files.leases.openUser?.pair.release()
        guard rename(fixture.folder.path("older"), path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory().path)
        for name in names where name.hasSuffix("-wal") || name.hasSuffix("-shm") {
            try FileManager.default.removeItem(atPath: try fixture.directory().path + "/" + name)
        }
        _ = try fixture.stores().adopt(engine, for: "alice", by: "a test", because: "the disk was lost")
        let found = (1...writes).map { "found \($0)" }
        try fixture.with { for content in found { try $0.save(Draft(content: content)) } }
        try queries.step(store)
        let change = try #require(try probe.takeChange())
        #expect(change.cause == .requeried)
        #expect(change.records.map(\.content) == ["a"] + found)
    }
}
