import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreLMDB
@testable import HabitStoreRollout

/// A package manager replaced liblmdb 0.9 by 1.0, which cannot read its files: users at `complete` or moved to LMDB directly were locked out, and the
/// kill switch said NOT TAKEN BACK. A kill must not need the engine that it leaves.
struct UnavailableEngineTests {
    private static let invalid: Int32 = -30_793

    @Test(arguments: Stage.allCases)
    func everyKillLandsWithoutTheLibrary(stage: Stage) throws {
        let user = try StagedUser()
        let names = (0..<30).map { "draft \($0)" }
        try user.with { store in
            for name in names.prefix(15) { try store.save(Draft(content: name)) }
            try user.bring(store, to: stage) { _ = try $0.all(Draft.self) }
            for name in names.dropFirst(15) { try store.save(Draft(content: name)) }
        }
        LMDBLibrary.failOpenings(under: user.root, with: Self.invalid)
        defer { LMDBLibrary.failOpenings(under: user.root, with: nil) }
        try user.want(stage.rawValue, kill: true)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.applyKill())
        #expect(try store.engine() == .sqlite)
        #expect(try store.stage() == .off)
        #expect(Set(try store.all(Draft.self).map(\.content)) == Set(names))
        try store.save(Draft(content: "continues"))
        #expect(try store.fetchCount(FetchDescriptor<Draft>()) == names.count + 1)
    }

    @Test func aUserWhoWasPutOnLMDBDirectlyIsTakenBack() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try fixture.with { try $0.save(Draft(content: "on SQLite")) }
        try fixture.want(.lmdb)
        try fixture.with { store in
            #expect(try store.engine() == .lmdb)
            try store.save(Draft(content: "on LMDB"))
        }
        LMDBLibrary.failOpenings(under: fixture.root, with: Self.invalid)
        defer { LMDBLibrary.failOpenings(under: fixture.root, with: nil) }
        let error = #expect(throws: HabitStoreError.self) { try fixture.with { _ in } }
        #expect(error?.code == .engineUnavailable)
        try Data().write(to: URL(fileURLWithPath: RolloutFlags.sentinelPath(root: fixture.root)))
        let store = try fixture.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.applyKill())
        #expect(try store.engine() == .sqlite)
        #expect(Set(try store.all(Draft.self).map(\.content)) == ["on SQLite", "on LMDB"])
    }

    /// Running out of memory, descriptors or disk space says nothing about the data: a `live` user went to `off` for good because of `ulimit -v`.
    @Test(arguments: [Stage.live, .rampdown])
    func aResourceThatIsShortForAMomentTakesNobodyBack(stage: Stage) throws {
        let user = try StagedUser()
        try user.with { store in
            try store.save(Draft(content: "one"))
            try user.bring(store, to: stage) { _ = try $0.all(Draft.self) }
        }
        for code in [ENOMEM, EMFILE, ENOSPC, EIO] {
            LMDBLibrary.failOpenings(under: user.root, with: code)
            let error = #expect(throws: HabitStoreError.self) { try user.stores().store(for: "alice") }
            #expect([.limitExceeded, .full, .inputOutput].contains(error?.code))
            LMDBLibrary.failOpenings(under: user.root, with: nil)
            #expect(try user.with { try $0.stage() } == stage)
        }
    }
}
