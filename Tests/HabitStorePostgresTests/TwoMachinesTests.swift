import Foundation
@_spi(Engines) import HabitStore
import HabitStoreSQLite
import HabitStoreTesting
import HabitTracker
import RolloutTesting
import Testing

@testable import HabitStorePostgres
@testable import HabitStoreRollout

/// Users whose stores are on servers belong to no machine: all knowledge about them is in the stores, and any process that reaches these may serve
/// them, move them and take them back.
@Suite(.needsServer) struct TwoMachinesTests {
    @Test func aMoveByOneIsSeenByTheOtherAtItsNextOperation() throws {
        let machines = try TwoMachines()
        let here = try machines.a.stores().store(for: "alice")
        defer { here.close() }
        try here.save(Habit(name: "Run"))
        let there = try machines.b.stores().store(for: "alice")
        defer { there.close() }
        #expect(try there.all(Habit.self).map(\.name) == ["Run"])
        for stage in Stage.allCases.dropFirst() {
            try machines.b.want("complete")
            try machines.a.bring(here, to: stage)
            try there.save(Habit(name: "there at \(stage)"))
            #expect(try there.stage() == stage)
            try here.save(Habit(name: "here at \(stage)"))
            #expect(try there.fetchCount(FetchDescriptor<Habit>()) == 1 + 2 * stage.position)
            #expect(try here.fetchCount(FetchDescriptor<Habit>()) == 1 + 2 * stage.position)
        }
        #expect(try there.engine() == machines.pair.new)
        for stage in Stage.allCases.dropLast().reversed() {
            try there.demote()
            #expect(try there.stage() == stage)
            #expect(try here.stage() == stage)
            try here.save(Habit(name: "back at \(stage)"))
            #expect(try here.all(Habit.self).count == there.all(Habit.self).count)
        }
        #expect(try here.engine() == machines.pair.old)
        #expect(try here.fetchCount(FetchDescriptor<Habit>()) == 16)
    }

    @Test(arguments: Stage.allCases) func aKillByOnesFlagsReachesTheOther(_ stage: Stage) throws {
        let machines = try TwoMachines()
        let here = try machines.a.stores().store(for: "alice")
        defer { here.close() }
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: stage)
        try machines.b.want("complete")
        let there = try machines.b.stores().store(for: "alice")
        defer { there.close() }
        try machines.b.want("complete", kill: true)
        there.reloadFlags()
        #expect(try there.all(Habit.self).map(\.name) == ["Run"])
        #expect(try there.stage() == .off)
        try here.save(Habit(name: "Read"))
        #expect(try here.stage() == .off)
        // The gate is also closed while no flag pulls the kill switch.
        #expect(try here.promote(to: .dualwrite).reasons.contains(.killed))
        try machines.want(.complete)
        here.reloadFlags()
        there.reloadFlags()
        #expect(try here.rearm(by: "a person"))
        try there.save(Habit(name: "Swim"))
        #expect(try !there.files.lease().user.currentRoute().actual.state.isKilled)
        try machines.b.bring(there, to: .dualwrite)
        #expect(try here.stage() == .dualwrite)
        #expect(try here.fetchCount(FetchDescriptor<Habit>()) == 3)
    }

    @Test func whatOneHasProvenCountsForTheOther() throws {
        let machines = try TwoMachines()
        let here = try machines.a.stores().store(for: "alice")
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: .shadow)
        try machines.b.want("live")
        for _ in 0..<5 { _ = try here.all(Habit.self) }
        #expect(try here.verify().verdict == .match)
        #expect(try here.rehearse() == nil)
        here.close()
        let there = try machines.b.stores().store(for: "alice")
        defer { there.close() }
        let decision = try there.promote(to: .live)
        #expect(decision.isOpen, "\(decision.reasons)")
        #expect(try there.stage() == .live)
        let (mine, theirs) = (
            try EvidenceLog(machines.a.directory).read().records, try EvidenceLog(machines.b.directory).read().records
        )
        #expect(Array(theirs.prefix(mine.count)) == mine)
        #expect(theirs.count > mine.count)
        // And back on the first machine, whose file does not have the rest.
        try machines.a.want("live")
        let again = try machines.a.stores().store(for: "alice")
        defer { again.close() }
        #expect(try again.stage() == .live)
        #expect(
            try EvidenceLog(machines.a.directory).read().records == EvidenceLog(machines.b.directory).read().records
        )
    }

    /// The store that was left had lines that the one taking over lacked: a kill by a machine that knew less than the others truncated the evidence,
    /// and the rest was appended again with each change of the stores, more and more of it.
    @Test func killsByAMachineThatIsBehindLeaveTheEvidenceWhole() throws {
        let machines = try TwoMachines()
        let here = try machines.a.stores().store(for: "alice")
        defer { here.close() }
        try here.save(Habit(name: "Run"))
        var lengths: [Int] = []
        for round in 0..<3 {
            try machines.b.want("complete")
            try machines.a.bring(here, to: round == 1 ? .live : .complete)
            try here.save(Habit(name: "\(round)"))
            // A process that starts now knows what its machine knew.
            try machines.b.want("complete", kill: true)
            let there = try machines.b.stores().store(for: "alice")
            defer { there.close() }
            #expect(try there.stage() == .off)
            #expect(try here.fetchCount(FetchDescriptor<Habit>()) == round + 2)
            try machines.want(.complete)
            for store in [here, there] { store.reloadFlags() }
            #expect(try there.rearm(by: "test"))
            #expect(try here.stage() == .off)
            let stores = [try machines.a.stores(), try machines.b.stores()]
            for stores in stores { #expect(try stores.verifyEvidence(of: "alice").isWhole) }
            let records = try stores.map { try $0.evidence(of: "alice").read().records }
            #expect(records[0] == records[1])
            lengths.append(records[0].count)
        }
        // Each round adds its own lines: about 12 on the way up, and a few on the way back.
        #expect(lengths[2] - lengths[1] < 2 * lengths[0], "\(lengths)")
    }

    /// Damage to the lines on the server closes the gate, but not forever.
    @Test(arguments: [
        "UPDATE hs_evidence SET line = 'nothing' WHERE store = $1 AND number = (SELECT max(number) FROM hs_evidence WHERE store = $1)",
        "UPDATE hs_evidence SET line = 'nothing' WHERE store = $1 AND number = 2",
    ])
    func evidenceThatIsDamagedOnTheServerIsBegunAnew(_ statement: String) throws {
        let machines = try TwoMachines()
        let here = try machines.a.stores().store(for: "alice")
        defer { here.close() }
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: .shadow)
        let place = try PostgresPlace(parsing: machines.a.address(.old).path)
        let damage = PostgresStatement(name: "damage \(UUID())", text: statement)
        let pool = PostgresPool.of(place.server)
        _ = try pool.withConnection(until: pool.deadline) {
            try $0.run([PostgresCall(damage, .uuid(place.store))], until: pool.answerDeadline)
        }
        try machines.want(.live)
        let there = try machines.b.stores().store(for: "alice")
        defer { there.close() }
        for _ in 0..<5 { _ = try there.all(Habit.self) }
        #expect(try there.verify().verdict == .match)
        #expect(try !there.promote(to: .live).isOpen)
        _ = try there.resetEvidence(because: "it was damaged", by: "test")
        try machines.a.want("off")
        try machines.b.bring(there, to: .live)
        try machines.want(.live)
        here.reloadFlags()
        #expect(try here.stage() == .live)
        #expect(try here.all(Habit.self).map(\.name) == ["Run"])
        #expect(try here.advance() == nil)
        // The last comparison may still be in progress; reading the evidence takes over the other machine's lines.
        for store in [here, there] { store.close() }
        let logs = try [machines.a, machines.b, machines.a].map { try $0.stores().evidence(of: "alice").read() }
        #expect(logs.allSatisfy { $0.damage == nil })
        #expect(logs[2].records.last == logs[1].records.last)
    }

    @Test func aUserWithAStoreInFilesBelongsToTheMachineThatHasThem() throws {
        let machines = try TwoMachines(from: SQLiteProvider())
        let here = try machines.a.stores().store(for: "alice")
        defer { here.close() }
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: .live)
        #expect {
            try machines.b.stores().store(for: "alice")
        } throws: { error in
            "\(error)".contains("on another machine (\(ProcessInfo.processInfo.hostName):\(machines.a.root)")
                && !"\(error)".contains("\n")
        }
        try machines.a.bring(here, to: .complete)
        try machines.b.want("complete")
        let there = try machines.b.stores().store(for: "alice")
        defer { there.close() }
        #expect(try there.all(Habit.self).map(\.name) == ["Run"])
        try there.save(Habit(name: "Read"))
        #expect(try here.all(Habit.self).count == 2)
        // Going back makes the store in files again, and the user then belongs to this machine.
        try there.demote()
        #expect(try there.stage() == .rampdown)
        try there.save(Habit(name: "Swim"))
        #expect { try here.all(Habit.self) } throws: { "\($0)".contains("on another machine") }
        try there.demote(to: .off)
        #expect(try there.engine() == .sqlite)
        #expect(try there.all(Habit.self).count == 3)
        #expect { try machines.a.stores().store(for: "alice") } throws: { "\($0)".contains("on another machine") }
    }

    /// Until the role changes hands, the store on the server is a copy, which named no machine: another machine accepted it as the only one left,
    /// while the machine with the files continued without notice.
    @Test(arguments: [Stage.dualwrite, .shadow]) func aCopyIsNotAcceptedWhileItsMachineGoesOn(_ stage: Stage) throws {
        let machines = try TwoMachines(from: SQLiteProvider())
        let here = try machines.a.stores().store(for: "alice")
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: stage)
        let there = try machines.b.stores()
        #expect { try there.store(for: "alice") } throws: { "\($0)".contains("on another machine") }
        #expect {
            try there.adopt(machines.pair.new, for: "alice", by: "a test", because: "it seems to be lost")
        } throws: {
            "\($0)".contains("on another machine") && "\($0)".contains("--other-machine-is-lost")
        }
        try here.save(Habit(name: "Read"))
        #expect(here.waitUntilMirrorIsIdle(waitSeconds: 60))
        try machines.acceptElsewhere()
        let taken = try there.store(for: "alice")
        defer { taken.close() }
        #expect(try taken.all(Habit.self).count == 2)
        // The machine continues all the same: one write may be acknowledged before it notices.
        try? here.save(Habit(name: "Swim"))
        let end = ContinuousClock.now + .seconds(60)
        while (try? here.all(Habit.self)) != nil, ContinuousClock.now < end { usleep(10_000) }
        #expect { try here.all(Habit.self) } throws: { "\($0)".contains("was accepted on another machine") }
        #expect { try here.save(Habit(name: "Ski")) } throws: { "\($0)".contains("was accepted on another machine") }
        here.close()
        for _ in 0..<3 { try taken.save(Habit(name: "there")) }
        #expect(throws: HabitStoreError.self) { try machines.a.stores().store(for: "alice") }
        // What only the file has is still there, wherever an operator moves the user.
        #expect(try machines.a.withStore(.old) { try $0.fetchCount(FetchDescriptor<Habit>()) } == 3)
        _ = try machines.a.stores().adopt(machines.pair.new, for: "alice", by: "a test", because: "it continued there")
        let back = try machines.a.stores().store(for: "alice")
        defer { back.close() }
        #expect(try back.all(Habit.self).count == 5)
    }

    /// Writes that this machine had acknowledged while it could not reach the server were hidden by a mere inspection: it took over the evidence, the
    /// next opening asked both stores, and the higher epoch won. The doctor set the file aside.
    @Test func whatOnlyAMachineHasIsHiddenByNoLook() throws {
        let machines = try TwoMachines(from: SQLiteProvider())
        let here = try machines.a.stores().store(for: "alice")
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: .dualwrite)
        here.close()
        try machines.a.withStore(.old, .readWrite) { try $0.save(Habit(name: "without the server")) }
        let there = try machines.b.stores()
        try machines.acceptElsewhere()
        let taken = try there.store(for: "alice")
        defer { taken.close() }
        for _ in 0..<3 { try taken.save(Habit(name: "there")) }
        let stores = try machines.a.stores()
        _ = try stores.status(of: "alice")
        _ = try stores.evidence(of: "alice")
        #expect { try stores.store(for: "alice") } throws: { "\($0)".contains("was accepted on another machine") }
        _ = try? stores.mend("alice")
        #expect { try stores.store(for: "alice") } throws: { "\($0)".contains("was accepted on another machine") }
        #expect(try machines.a.withStore(.old) { try $0.fetchCount(FetchDescriptor<Habit>()) } == 2)
        // A store that serves on another machine is not set aside as a side effect.
        #expect {
            try stores.adopt(machines.pair.old, for: "alice", by: "a test", because: "it is ours")
        } throws: {
            "\($0)".contains("serves the user wherever it is reached from")
        }
        #expect(try taken.all(Habit.self).count == 4)
        _ = try stores.adopt(
            machines.pair.old,
            for: "alice",
            by: "a test",
            because: "it is ours",
            isOtherMachineLost: true
        )
        let back = try stores.store(for: "alice")
        defer { back.close() }
        #expect(try back.all(Habit.self).count == 2)
    }

    /// A second machine had a user of the same id in files: its doctor took the first one's copy on the server for its own diverged store, and
    /// set it aside.
    @Test func whatAnotherMachinesUserOfTheSameIdHasIsLeftAlone() throws {
        let machines = try TwoMachines(from: SQLiteProvider())
        let there = try machines.b.stores().store(for: "alice")
        defer { there.close() }
        try there.save(Habit(name: "another user's"))
        let here = try machines.a.stores().store(for: "alice")
        defer { here.close() }
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: .shadow)
        #expect(here.waitUntilMirrorIsIdle(waitSeconds: 60))
        let findings = try machines.b.stores().mend("alice")
        #expect(findings.map(\.kind) == [.elsewhere])
        #expect(findings.allSatisfy { $0.message.contains(machines.a.root) && !$0.message.contains("\n") })
        #expect(try machines.a.withStore(.new) { try $0.fetchCount(FetchDescriptor<Habit>()) } == 1)
        try machines.b.want("dualwrite")
        #expect(try there.promote(to: .dualwrite).isOpen)
        #expect(!there.waitUntilMirrorIsIdle(waitSeconds: 10))
        #expect("\(there.mirrorStatus)".contains("another machine"))
        try here.save(Habit(name: "Read"))
        #expect(here.waitUntilMirrorIsIdle(waitSeconds: 60))
        #expect(try machines.a.withStore(.new) { try $0.fetchCount(FetchDescriptor<Habit>()) } == 2)
        #expect(try there.all(Habit.self).count == 1)
    }

    /// Every request on a machine to which the user does not belong names the machine that has the user.
    @Test(arguments: [Stage.shadow, .live]) func aMachineWithoutTheUserSaysWhichOneHasIt(_ stage: Stage) throws {
        let machines = try TwoMachines(from: SQLiteProvider())
        let here = try machines.a.stores().store(for: "alice")
        defer { here.close() }
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: stage)
        let stores = try machines.b.stores()
        let status = try stores.status(of: "alice")
        #expect(status.problems.count == 1)
        #expect(status.problems.allSatisfy { $0.error.description.contains(machines.a.root) })
        #expect(try stores.mend("alice").map(\.kind) == [.elsewhere])
        #expect { try stores.evidence(of: "alice") } throws: { "\($0)".contains(machines.a.root) }
        #expect { try stores.verifyEvidence(of: "alice") } throws: { "\($0)".contains(machines.a.root) }
        #expect { try stores.currentAddress(of: "alice") } throws: { "\($0)".contains(machines.a.root) }
        #expect(try here.all(Habit.self).map(\.name) == ["Run"])
    }

    /// `rollout status` of a user on a server made the user's folder on a machine that had none, with the evidence in it.
    @Test func aLookAtAUserOnAServerMakesNoFolder() throws {
        let machines = try TwoMachines()
        let here = try machines.a.stores().store(for: "alice")
        defer { here.close() }
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: .shadow)
        try machines.want(.live)
        let stores = try machines.b.stores()
        try stores.requireUser("alice")
        let (status, known) = (try stores.status(of: "alice"), try machines.a.stores().status(of: "alice"))
        #expect(status.stage == .shadow && status.problems.isEmpty, "\(status.problems)")
        // The evidence is read all the same.
        #expect(status.evidence.records == known.evidence.records && status.evidence.isIntact)
        #expect(status.next?.reasons == known.next?.reasons)
        #expect(throws: HabitStoreError.self) { try stores.status(of: "alise") }
        #expect(try !FileManager.default.fileExists(atPath: machines.b.directory.path))
        // So did the doctor, the evidence and the list of backups.
        #expect(try stores.examine("alice") == [])
        let lines = try machines.a.stores().evidence(of: "alice").read().records
        #expect(try stores.evidence(of: "alice").read().records == lines && !lines.isEmpty)
        #expect(try stores.verifyEvidence(of: "alice").isWhole)
        #expect(try stores.uncountedEvidence(of: "alice").sentence == nil)
        #expect(try stores.backups(of: "alice").isEmpty)
        #expect(try stores.quickComparison(of: "alice")?.verdict == .match)
        #expect(throws: HabitStoreError.self) { try stores.examine("alise") }
        #expect(try !FileManager.default.fileExists(atPath: machines.b.directory.path))
        #expect(try stores.store(for: "alice").stage() == .shadow)
    }

    /// An inspection does not decide between a store accepted on another machine and the one with which this machine continued.
    @Test func whoOnlyLooksTakesNoSide() throws {
        let machines = try TwoMachines(from: SQLiteProvider())
        let here = try machines.a.stores().store(for: "alice")
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: .shadow)
        here.close()
        try machines.acceptElsewhere()
        let stores = try machines.a.stores()
        for _ in 0..<2 {
            #expect { try stores.currentAddress(of: "alice") } throws: {
                "\($0)".contains("accepted on another machine")
            }
            #expect(
                try stores.status(of: "alice").problems.contains {
                    $0.error.description.contains("accepted on another machine")
                }
            )
        }
        #expect(try stores.mend("alice").isEmpty)
        #expect(try stores.currentAddress(of: "alice").engine == machines.pair.new)
    }

    @Test func aMachineWhoseFileHoldsNoMoreFollowsToTheStoreThatWasAccepted() throws {
        let machines = try TwoMachines(from: SQLiteProvider())
        let here = try machines.a.stores().store(for: "alice")
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: .shadow)
        here.close()
        try machines.acceptElsewhere()
        let taken = try machines.b.stores().store(for: "alice")
        defer { taken.close() }
        try taken.save(Habit(name: "Read"))
        let again = try machines.a.stores().store(for: "alice")
        defer { again.close() }
        let end = ContinuousClock.now + .seconds(60)
        while try again.engine() != machines.pair.new, ContinuousClock.now < end { usleep(10_000) }
        try again.save(Habit(name: "Swim"))
        #expect(try taken.all(Habit.self).count == 3)
    }

    /// The folder of copies was removed, and the copies on the server stayed, with the user's records.
    @Test func whatAKilledRehearsalLeavesOnAServerIsNamedAndRemoved() throws {
        let machines = try TwoMachines()
        let store = try machines.a.stores().store(for: "alice")
        try store.save(Habit(name: "Run"))
        try machines.a.bring(store, to: .shadow)
        store.close()
        let (directory, engines) = (try machines.a.directory, machines.a.engines)
        let pair = StorePair(directory: directory, schema: HabitSchema.current, engines: engines)
        let control = try ControlFile(path: directory.path + "/control")
        let change = StageSwitch(pair: pair, control: control, stepLimitSeconds: 5)
        let actual = try #require(try change.recover(machines.pair))
        // It is never removed, as when its process is killed.
        _ = try Rehearsal(pair, actual, schema: HabitSchema.current)
        pair.close()
        let folder = try UserDirectory(
            root: directory.path + "/" + TemporaryCopies.rehearsals.prefix + TemporaryCopies.name,
            user: "alice"
        ).path
        let copies = try engines.copied(as: TemporaryCopies.rehearsals.copies[0], by: directory)
        let places = machines.pair.names.map { copies.address($0, ofUser: "alice", inFolder: folder) }
        #expect(try places.allSatisfy { try engines.identity(of: $0) != nil })
        #expect(try machines.a.stores().examine("alice").map(\.kind) == [.leftovers])
        #expect(try machines.a.stores().mend("alice").isEmpty)
        #expect(try places.allSatisfy { try engines.identity(of: $0) == nil })
        #expect(try machines.a.withStore(.old) { try $0.fetchCount(FetchDescriptor<Habit>()) } == 1)
    }

    @Test func twoNamesOfOneServerAreNoTwoEngines() throws {
        let server = try TestServer.place().server
        #expect {
            try Engines([
                try PostgresProvider(name: "eu", server: server), try PostgresProvider(name: "us", server: server),
            ])
        } throws: {
            "\($0)".contains("engines eu and us would keep a user's store in the same place")
        }
        // The address may be written differently.
        let other = server + (server.contains("?") ? "&" : "?") + "application_name=other"
        let engines = try Engines([
            try PostgresProvider(name: "eu", server: server), try PostgresProvider(name: "us", server: other),
        ])
        let user = try StagedUser(EnginePair(old: "eu", new: "us"), engines)
        let name = UUID().uuidString
        let store = try user.stores().store(for: name)
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.want("dualwrite")
        #expect { try store.promote(to: .dualwrite) } throws: {
            "\($0)".contains("share one store of the user's")
        }
        #expect(try store.stage() == .off)
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }

    /// A machine dies between recording the decision in the store that is left and changing the other store's role.
    @Test(arguments: [(Stage.shadow, Stage.live), (.complete, .off)])
    func aMoveThatWasDecidedIsFinishedByTheOther(_ from: Stage, _ to: Stage) throws {
        let machines = try TwoMachines()
        let here = try machines.a.stores().store(for: "alice")
        try here.save(Habit(name: "Run"))
        try machines.a.bring(here, to: from)
        here.close()
        let left: StoreSide = from.authority
        try machines.a.withStore(left.other, .readWrite) { other in
            try machines.a.withStore(left, .readWrite) { store in
                let (information, text) = try store.replicaRead { (try $0.information(), try $0.rolloutState()) }
                try other.replicate { replica in
                    guard try replica.information().token < information.token else { return }
                    try store.replicaRead { source in
                        _ = try Replication.carry(
                            from: source,
                            information,
                            to: replica,
                            replica.information(),
                            schema: HabitSchema.current
                        )
                    }
                }
                var state = try RolloutState(parsing: #require(text), path: nil)
                (state.stage, state.movingTo) = (to, to)
                try store.replicate { replica in
                    try replica.setRole(.standby, epoch: information.epoch + 1)
                    try replica.setRolloutState(state.encoded())
                }
            }
        }
        try machines.want(to)
        let there = try machines.b.stores().store(for: "alice")
        defer { there.close() }
        #expect(try there.stage() == to)
        #expect(try there.all(Habit.self).map(\.name) == ["Run"])
        try there.save(Habit(name: "Read"))
        let again = try machines.a.stores().store(for: "alice")
        defer { again.close() }
        #expect(try again.all(Habit.self).count == 2)
        #expect(try again.stage() == to)
    }
}
