import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import RolloutTesting
import Testing

@testable import HabitStoreFleet

/// The contents of a fleet's page, and when it is refreshed.
struct FleetWatchTests {
    /// A fleet that consists only of its own files.
    private struct PaperFleet {
        let folder: TemporaryFolder
        let root: String
        let members: FleetMembers
        let index: FleetIndex

        init(users: Int = 10, soakSeconds: Double = 0) throws {
            folder = try TemporaryFolder()
            root = folder.path("root")
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            let text = """
                {"waves": [{"name": "canary", "users": 2, "soakSeconds": \(soakSeconds), "cleanShadowReads": 500},
                  {"name": "all", "percent": 100}]}
                """
            let path = folder.path("plan.json")
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let (plan, issues) = try FleetPlanReader.read(path: path)
            let everybody = (0..<users).map { (user: "user-\($0)", bytes: 1_000 + $0) }
            members = try Fleet(root: root).draw(
                #require(plan, "\(issues)"),
                text: Data(text.utf8),
                isYAML: false,
                everybody,
                by: "a test"
            )
            index = try FleetIndex.open(FleetFolder(root: root))
        }

        var fleet: Fleet { Fleet(root: root) }

        func watch(showsUsers: Bool = false) -> FleetWatch {
            FleetWatch(root: root, flags: nil, showsUsers: showsUsers)
        }

        /// Changes a user's entry in the index.
        func note(_ number: Int = 0, _ change: (inout FleetIndex.Entry) -> Void) throws -> String {
            let user = members.members[number].user
            var entry = try #require(try index.entry(user))
            change(&entry)
            try index.note([entry])
            return user
        }
    }

    private func overview(_ watch: FleetWatch) throws -> FleetOverview { try watch.snapshot().fleet.get() }

    private func sentence(_ overview: FleetOverview) -> String { overview.sentence(engine: "LMDB") { _ in "18:40" } }

    @Test func aFleetThatWasDrawnSaysSo() throws {
        let paper = try PaperFleet()
        let overview = try overview(paper.watch())
        #expect(
            sentence(overview)
                == "2 waves are drawn, and no user was moved yet; 0 of 10 users are on LMDB; 0 differences in 0 shadow reads."
        )
        #expect(overview.waves.map(\.users) == [2, 8])
        #expect(overview.stages.first?.stage == nil && overview.stages.first?.users == 10)
        #expect(overview.audit.count == 1 && overview.damagedLine == nil)
    }

    @Test func aWaveSaysHowFarItsUsersAre() throws {
        let paper = try PaperFleet(soakSeconds: 3_600)
        let fleet = paper.fleet
        try fleet.ledger.append(.waveBegan(wave: 0, name: "canary", users: 2))
        try fleet.ledger.append(.soakBegan(wave: 0, passedOver: 0))
        _ = try paper.note(0) { entry in
            (entry.stage, entry.arrived, entry.cleanReads) = (.complete, 1_000_000, 2_100_000)
            (entry.token, entry.arrivedToken) = (30, 10)
        }
        _ = try paper.note(1) { entry in (entry.stage, entry.lag, entry.reasons) = (.shadow, 7, "lagging,notProposed") }
        let overview = try overview(paper.watch())
        let wave = overview.waves[0]
        #expect(wave.state == "soaking" && wave.arrived == 1 && wave.refused == 1)
        #expect(wave.cleanReads == .init(have: 2_100_000, need: 500) && wave.writes == .init(have: 20, need: 0))
        let left = try #require(wave.soaksUntil).timeIntervalSinceNow
        #expect((3_500...3_600).contains(left))
        #expect(overview.served == 1 && overview.lag.users == 1 && overview.lag.transactions == 7)
        #expect(overview.reasons == [.init(kind: "lagging", users: 1), .init(kind: "notProposed", users: 1)])
        #expect(overview.slowest.map(\.reasons) == [["lagging", "notProposed"]])
        #expect(sentence(overview).hasSuffix("1 of 10 users are on LMDB; 0 differences in 2.1 M shadow reads."))
    }

    @Test func usersAreNamedByAHashUnlessTheyAreAskedFor() throws {
        let paper = try PaperFleet()
        let user = try paper.note { entry in
            (entry.stage, entry.verdict) = (.live, "different")
            entry.difference = "other records in u-757365722d31/lmdb"
        }
        try paper.fleet.ledger.append(.halted(by: "the run", because: "\(user) differs", user: user))
        try FleetSignals(folder: FleetFolder(root: paper.root)).halt(
            .init(by: "the run", because: "\(user) differs", user: user)
        )
        let hidden = try overview(paper.watch())
        #expect(!"\(hidden)".contains(user) && !"\(hidden)".contains("u-7573"))
        #expect(hidden.differences.map(\.message) == ["other records in …/lmdb"])
        let name = try #require(hidden.differences.first?.user)
        #expect(hidden.stop?.user == name && hidden.stop?.because == "\(name) differs" && name.count == 12)
        #expect(hidden.stop?.kind == .haltedByPerson)
        let shown = try overview(paper.watch(showsUsers: true))
        #expect(shown.differences.map(\.user) == [user] && shown.stop?.user == user)
        #expect(sentence(shown).hasPrefix("Halted by the run: \(user) differs (user \(user)); "))
    }

    /// A resolved difference stays in the index, and was shown forever.
    @Test func aDifferenceThatWasResolvedIsNotShown() throws {
        let paper = try PaperFleet()
        _ = try paper.note(0) { ($0.verdict, $0.difference) = ("sound", "other records") }
        _ = try paper.note(1) { entry in
            (entry.verdict, entry.difference, entry.reasons) = ("waits", "other records", "lagging,shadowDifferences")
        }
        let overview = try overview(paper.watch())
        #expect(overview.different == 1 && overview.differences.count == 1)
    }

    @Test func twoLooksInASecondReadOnce() throws {
        let paper = try PaperFleet()
        let watch = paper.watch()
        let first = watch.snapshot().number
        _ = try paper.note { $0.stage = .live }
        #expect(watch.snapshot().number == first)
    }

    @Test func nothingIsReadAnewUntilSomethingChanges() throws {
        let paper = try PaperFleet()
        let watch = paper.watch()
        let first = watch.snapshot().number
        Thread.sleep(forTimeInterval: 1.05)
        #expect(watch.snapshot().number == first)
        _ = try paper.note { $0.stage = .live }
        Thread.sleep(forTimeInterval: 1.05)
        let second = watch.snapshot()
        #expect(second.number == first + 1)
        #expect(try second.fleet.get().served == 1)
        try paper.fleet.pause(by: "a test", because: "lunch")
        Thread.sleep(forTimeInterval: 1.05)
        #expect(try overview(watch).stop?.because == "lunch")
    }

    /// A rebuilt index is another file under the same name: the one that was open never changed again.
    @Test func anIndexThatWasMadeAnewIsReadAnew() throws {
        let paper = try PaperFleet()
        let watch = paper.watch()
        _ = watch.snapshot()
        try FleetIndex.make(FleetFolder(root: paper.root), paper.members, head: nil) { index in
            var entry = try #require(try index.entry(paper.members.members[0].user))
            entry.stage = .complete
            try index.note([entry])
        }
        Thread.sleep(forTimeInterval: 1.05)
        #expect(try overview(watch).served == 1)
    }

    @Test func theKillSwitchIsSeenWithoutAFleet() throws {
        let folder = try TemporaryFolder()
        let root = folder.path("")
        let watch = FleetWatch(root: root, flags: nil)
        let before = watch.snapshot()
        #expect(!before.killSwitch.isPulled)
        #expect(throws: HabitStoreError.self) { try before.fleet.get() }
        let kill = try Fleet(root: root).kill(by: "a test", because: "it smokes")
        #expect(kill.isNew && kill.unrecorded != nil)
        Thread.sleep(forTimeInterval: 1.05)
        let killed = watch.snapshot().killSwitch
        #expect(killed.isPulled && killed.isSentinelThere && killed.since != nil)
    }

    /// For a named store the page showed the flag of the stores without a name, and not the root's own switch.
    @Test func aStoreWithANameHasItsOwnSwitchAndTheRoots() throws {
        let folder = try TemporaryFolder()
        let (root, flags) = (folder.path(""), folder.path("flags.json"))
        let values = #""state": "ENABLED", "variants": {"on": true, "off": false}"#
        try Data(
            """
            {"flags": {"habit-store-kill": {\(values), "defaultVariant": "off"}, "notes-store-kill": {\(values), "defaultVariant": "on"}}}
            """.utf8
        ).write(to: URL(fileURLWithPath: flags))
        func killSwitch(_ store: String?) throws -> KillSwitch.State {
            try FleetWatch(root: root, store: store, flags: flags).snapshot().killSwitch
        }
        #expect(try killSwitch(nil).isFlagPulled == false)
        #expect(try killSwitch("notes").isFlagPulled == true)
        #expect(try killSwitch("media").isPulled == false)

        try FileManager.default.createDirectory(atPath: root + "/stores/media", withIntermediateDirectories: true)
        let media = try Fleet(root: root, store: "media").kill(by: "a test", because: "it smokes")
        #expect(media.isNew)
        #expect(try killSwitch("media").isSentinelThere)
        #expect(try !killSwitch(nil).isSentinelThere && !killSwitch("notes").isSentinelThere)

        #expect(try Fleet(root: root).kill(by: "a test", because: "all of it").isNew)
        #expect(try killSwitch("notes").isSentinelThere, "the root's holds for all")
        #expect(throws: HabitStoreError.self) { try killSwitch("../notes") }
    }

    @Test func aKillIsALineOfTheLedger() throws {
        let paper = try PaperFleet()
        #expect(try paper.fleet.kill(by: "page: ada", because: "it smokes").unrecorded == nil)
        try paper.fleet.noteKill(by: "ada", users: 9, failed: 1, seconds: 12.5)
        let overview = try overview(paper.watch())
        #expect(overview.audit.last { $0.sequence == 2 }?.event == .killed(by: "page: ada", because: "it smokes"))
        #expect(overview.lastKill == .init(time: overview.audit[0].time, seconds: 12.5, users: 9, failed: 1))
    }

    @Test func aFleetThatWasRunTellsOfItsLastRehearsal() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        _ = try test.run()
        let snapshot = FleetWatch(root: test.root, flags: test.user.flags).snapshot()
        #expect(snapshot.killSwitch.isFlagPulled == false && snapshot.newEngine == "lmdb")
        let overview = try snapshot.fleet.get()
        #expect(overview.state == "done" && overview.served == 2 && overview.stages.last?.users == 2)
        #expect(overview.lastRehearsal?.isClean == true)
    }

    /// Checking every second whether a run is active made runs fail now and then.
    @Test func askingWhetherARunIsAtWorkRefusesNoRun() async throws {
        let paper = try PaperFleet()
        let fleet = paper.fleet
        let path = paper.folder.path("plan.json")
        let plan = try #require(try FleetPlanReader.read(path: path).plan)
        let asking = Task.detached { while !Task.isCancelled { _ = fleet.isRunning } }
        for _ in 0..<20 {
            try fleet.draw(plan, text: Data("{}".utf8), isYAML: false, [(user: "user-1", bytes: 1)], by: "a test")
        }
        asking.cancel()
    }
}
