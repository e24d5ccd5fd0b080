import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreFleet

/// A fleet moves every user once, and stops at the first bad sign.
@Suite(.timeLimit(.minutes(5)))
struct FleetRunTests {
    @Test func everybodyComesThereInWavesAndOnce() throws {
        let test = try TestFleet(5)
        let members = try test.draw(TestFleet.twoWaves)
        #expect(members.wave(0).count == 2 && members.wave(1).count == 3)
        let (end, told) = try test.run()
        #expect(end == .done(passedOver: 0))
        #expect(told.contains { $0.contains("wave 1 of 2") } && told.contains { $0.contains("wave 2 of 2") })
        #expect(try test.stages().values.allSatisfy { $0 == .complete })
        #expect(try test.promotions().values.allSatisfy { $0 == 5 })
        let contents = try test.fleet.ledger.read()
        #expect(contents.damagedLine == nil)
        let waves = contents.entries.compactMap { entry -> Int? in
            if case .waveDone(let wave) = entry.event { wave } else { nil }
        }
        #expect(waves == [0, 1])
        let status = try test.fleet.status()
        #expect(status.state == "done")
        #expect(status.waves.map { $0.stages[.complete] } == [2, 3])
        // Nothing is left to do.
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.promotions().values.allSatisfy { $0 == 5 })
        #expect(try test.fleet.audit(test.stores(), sample: nil, seed: 1).findings.isEmpty)
    }

    /// One user's new store has lost a record outside the rollout.
    @Test func aDifferenceHaltsBeforeAnybodyElseIsMoved() throws {
        let test = try TestFleet(4)
        let members = try test.draw(
            #"{"waves": [{"users": 1}, {"users": 2}, {"percent": 100}], "lookSeconds": 0.2, "ioPressure": null, "atOnce": 1}"#
        )
        let victim = members.members[1].user
        try plant(victim, test)
        let (end, _) = try test.run()
        guard case .halted(let person, let reason, let user) = end else {
            Issue.record("\(end)")
            return
        }
        #expect(user == victim && person == "the run")
        #expect(try test.fleet.status().halt == .haltedByDifference)
        #expect(reason.contains("differ"))
        let stages = try test.stages()
        #expect(stages[members.members[0].user] == .complete)
        for member in members.members.dropFirst(2) { #expect(stages[member.user] == .off) }
        #expect(try test.fleet.status().doing.contains(victim))
        // It stays halted until an operator resumes it.
        guard case .halted = try test.run().end else {
            Issue.record("a fleet that was halted has begun")
            return
        }
        #expect(try test.stages()[members.members[2].user] == .off)
        try repair(victim, test)
        #expect(try test.fleet.resume(by: "a test", because: "the store was copied again"))
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.stages().values.allSatisfy { $0 == .complete })
    }

    /// Brings a user to `shadow`, and removes a record from the new store.
    private func plant(_ name: String, _ test: TestFleet) throws {
        let stores = try test.stores()
        let store = try stores.store(for: name)
        try store.advance(to: .dualwrite)
        try store.advance(to: .shadow)
        _ = store.waitUntilMirrorIsIdle(waitSeconds: 60)
        store.close()
        let directory = try UserDirectory(root: test.root, user: name)
        let address = Engines.standard.address(.lmdb, ofUser: name, inFolder: directory.path)
        let new = try Engines.standard.open(address, .readWrite, schema: HabitSchema.current)
        defer { new.close() }
        try new.loseARecord()
    }

    /// Makes the mirror copy the new store again.
    private func repair(_ name: String, _ test: TestFleet) throws {
        let stores = try test.stores()
        let store = try stores.store(for: name)
        try store.demote(to: .off)
        store.close()
        let directory = try UserDirectory(root: test.root, user: name)
        try Engines.standard.discard(
            Engines.standard.address(.lmdb, ofUser: name, inFolder: directory.path)
        )
        // Only an operator repeats a failed rehearsal.
        let again = try stores.store(for: name)
        defer { again.close() }
        try again.advance(to: .shadow)
        #expect(try again.rehearse() == nil)
    }

    @Test func whoWasKilledIsPassedOver() throws {
        let test = try TestFleet(3)
        let members = try test.draw(TestFleet.twoWaves)
        let killed = members.members[0].user
        let stores = try test.stores()
        let store = try stores.store(for: killed)
        try test.user.want("complete", kill: true)
        stores.reloadFlags()
        #expect(try store.applyKill())
        store.close()
        try test.user.want("complete")
        #expect(try test.run().end == .done(passedOver: 1))
        #expect(try test.stages()[killed] == .off)
        #expect(try test.stages().values.count { $0 == .complete } == 2)
    }

    @Test func aHaltStopsWhatIsUnderWay() throws {
        let test = try TestFleet(6)
        _ = try test.draw(TestFleet.twoWaves)
        var looks = 0
        let (end, _) = try test.run {
            looks += 1
            // A run that reads the I/O pressure is about to start the next users.
            if looks == 2 { _ = try? test.fleet.halt(by: "a person", because: "a phone rang") }
            return nil
        }
        #expect(end == .halted(by: "a person", because: "a phone rang", user: nil))
        #expect(try test.fleet.status().halt == .haltedByPerson)
        let moved = try test.stages().values.count { $0 != .off }
        #expect(moved <= 4)
        // Users in progress stay at the stage that they had at the halt.
        #expect(try test.promotions().values.reduce(0, +) <= 20)
        let taken = try test.fleet.takeBack(test.stores())
        #expect(taken.failures.isEmpty)
        let members = try FleetMembers.load(FleetFolder(root: test.root).members)
        let stages = try test.stages()
        #expect(members.wave(taken.wave).allSatisfy { stages[$0.user] == .off })
    }

    /// A run and a taking back closed the store of each user, and an app in the same process could not write any more.
    @Test func aStoreThatTheAppHasOpenStaysOpen() throws {
        let test = try TestFleet(1)
        _ = try test.draw(#"{"waves": [{"percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#)
        let stores = try test.stores()
        let app = try stores.store(for: test.users[0])
        defer { app.close() }
        #expect(try test.fleet.run(stores, by: "a test", pressure: { nil }) { _ in } == .done(passedOver: 0))
        #expect(try app.stage() == .complete)
        try app.save(Habit(name: "Swim"))
        #expect(try test.fleet.halt(by: "a test", because: "to take it back"))
        #expect(try test.fleet.takeBack(stores).users == 1)
        #expect(try app.stage() == .off)
        try app.save(Habit(name: "Ride"))
        #expect(try app.all(Habit.self).map(\.name).sorted() == ["Read", "Ride", "Run", "Swim"])
    }

    @Test func theDiskIsWaitedForAndHaltsAtLast() throws {
        let test = try TestFleet(3)
        _ = try test.draw(
            #"{"waves": [{"percent": 100}], "lookSeconds": 0.1, "ioPressure": 30, "halts": {"ioPressure": 90}, "atOnce": 1}"#
        )
        var words: [Double?] = [50, 50, 10, 95]
        let (end, told) = try test.run { words.isEmpty ? nil : words.removeFirst() }
        guard case .halted(_, let reason, nil) = end else {
            Issue.record("\(end)")
            return
        }
        #expect(reason.contains("95"))
        #expect(try test.fleet.status().halt == .haltedByDisk)
        #expect(told.contains { $0.contains("waited for it in 50") })
        #expect(try test.stages().values.count { $0 == .complete } == 1)
    }

    @Test func thereIsOneRunAtATime() throws {
        let test = try TestFleet(1)
        _ = try test.draw(TestFleet.twoWaves.replacing("\"users\": 2", with: "\"users\": 1"))
        let folder = FleetFolder(root: test.root)
        let descriptor = open(folder.lease, O_RDWR)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        #expect { try test.run() } throws: { "\($0)".contains("another `habitstore fleet run`") }
        #expect(try test.stages().values.allSatisfy { $0 == .off })
        #expect(test.fleet.isRunning)
    }

    /// An operator takes a user back while the wave is watched: a bad sign until someone has examined it.
    @Test func whoIsTakenBackHaltsTheWaveAndIsBroughtThereAgain() throws {
        let test = try TestFleet(3)
        let members = try test.draw(
            #"{"waves": [{"users": 2, "soakSeconds": 30}, {"percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#
        )
        let taken = members.members[1].user
        let halted = try test.run(isTold: { line in
            guard line.contains("is watched until") else { return }
            guard let store = try? test.stores().store(for: taken) else { return }
            defer { store.close() }
            _ = try? store.demote(to: .live)
        }).end
        guard case .halted(_, let reason, let user) = halted else {
            Issue.record("\(halted)")
            return
        }
        #expect(user == taken && reason.contains("1 of 2 users of the wave were taken back"))
        #expect(try test.fleet.status().halt == .haltedByDemotions)
        #expect(try test.fleet.resume(by: "a test", because: "it was me"))
        _ = try test.draw(
            #"{"waves": [{"users": 2}, {"percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#
        )
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.stages().values.allSatisfy { $0 == .complete })
    }

    /// Users whom an operator took back with the fleet's own command counted against the wave forever.
    @Test func afterAHaltThatTookTheWaveBackTheFleetGoesOn() throws {
        let test = try TestFleet(3)
        _ = try test.draw(TestFleet.twoWaves)
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.fleet.halt(by: "a test", because: "to take it back"))
        #expect(try test.fleet.takeBack(test.stores()).users == 1)
        #expect(try test.fleet.resume(by: "a test", because: "it was me"))
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.stages().values.allSatisfy { $0 == .complete })
    }

    /// The fleet reported that all waves were done.
    @Test func whoWasTakenBackBehindTheLastWaveIsBroughtThereAgain() throws {
        let test = try TestFleet(3)
        _ = try test.draw(
            TestFleet.twoWaves.replacing("\"ioPressure\"", with: "\"halts\": {\"demotedPercent\": 100}, \"ioPressure\"")
        )
        #expect(try test.run().end == .done(passedOver: 0))
        let store = try test.stores().store(for: "user-2")
        try store.demote(to: .off)
        store.close()
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.stages().values.allSatisfy { $0 == .complete })
    }

    /// Swift considers the ids equal, but they are two users.
    @Test func idsThatDifferInTheirFormOnlyAreTwoUsers() throws {
        let test = try TestFleet(1)
        for name in ["\u{E9}", "e\u{301}"] {
            let store = try test.stores().store(for: name)
            try store.save(Habit(name: "Run"))
            store.close()
        }
        let members = try test.draw(TestFleet.twoWaves)
        #expect(members.members.count == 3)
        #expect(try test.run().end == .done(passedOver: 0))
        for name in ["\u{E9}", "e\u{301}"] { #expect(try test.stores().status(of: name).stage == .complete) }
        #expect(try test.fleet.status().waves.map { $0.stages[.complete] } == [2, 1])
    }

    /// The fleet ignored a difference found by a manual verification.
    @Test func aVerificationByHandThatDiffersHaltsTheFleet() throws {
        let test = try TestFleet(3)
        let members = try test.draw(
            #"{"stage": "live", "waves": [{"users": 1}, {"percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#
        )
        let first = members.members[0].user
        let end = try test.run(isTold: { line in
            guard line.contains("wave 2 of 2") else { return }
            try? changeAndVerify(first, test)
        }).end
        guard case .halted(_, let reason, let user) = end else {
            // It came too late for this run; the next one sees it.
            guard case .halted(_, _, first) = try test.run().end else {
                Issue.record("\(end)")
                return
            }
            return
        }
        #expect(user == first && reason.contains("differ"))
    }

    /// Neither the end of a pause nor a new plan handles differences.
    @Test func onlyWhoLetsAHaltedFleetGoOnHasSeenToDifferences() throws {
        let test = try TestFleet(3)
        let plan = #"{"stage": "live", "waves": [{"percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#
        _ = try test.draw(plan)
        #expect(try test.run().end == .done(passedOver: 0))
        try changeAndVerify("user-1", test)
        #expect(try test.fleet.pause(by: "a test", because: "lunch"))
        #expect(try test.fleet.resume(by: "a test", because: "back"))
        _ = try test.draw(plan)
        guard case .halted(_, let reason, "user-1") = try test.run().end else {
            Issue.record("a difference was passed over")
            return
        }
        #expect(reason.contains("differ"))
    }

    private func changeAndVerify(_ name: String, _ test: TestFleet) throws {
        let directory = try UserDirectory(root: test.root, user: name)
        let address = Engines.standard.address(.sqlite, ofUser: name, inFolder: directory.path)
        let old = try Engines.standard.open(address, .readWrite, schema: HabitSchema.current)
        try old.loseARecord()
        old.close()
        try test.stores().with(name) { _ = try $0.verify() }
    }

    @Test func whoComesBehindTheLastWaveIsMovedByTheNextRun() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        #expect(try test.run().end == .done(passedOver: 0))
        let late = try test.stores().store(for: "late")
        try late.save(Habit(name: "Swim"))
        late.close()
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.stores().status(of: "late").stage == .complete)
    }

    @Test func errorsInARowHalt() throws {
        let test = try TestFleet(4)
        _ = try test.draw(
            #"{"waves": [{"percent": 100}], "lookSeconds": 0.1, "ioPressure": null, "atOnce": 1, "halts": {"errorsInARow": 3}}"#
        )
        for name in test.users {
            let directory = try UserDirectory(root: test.root, user: name)
            let address = Engines.standard.address(.sqlite, ofUser: name, inFolder: directory.path)
            try Data("no store".utf8).write(to: URL(fileURLWithPath: address.path))
        }
        guard case .halted(_, let reason, _) = try test.run().end else {
            Issue.record("nothing has halted it")
            return
        }
        #expect(reason.contains("3 errors in a row"))
        #expect(try test.fleet.status().halt == .haltedByErrors)
        #expect(!reason.contains("\n"))
    }

    /// The estimate took the users of the first minute for an hour's worth, and so a quarter of an hour for half a day.
    @Test func theTimeThatIsLeftGoesByTheTimeThatWasTaken() {
        let left = FleetStatus.secondsLeft(1_000, (users: 100, seconds: 60), soaks: 30, isRunning: true)
        #expect(left == 630...1_230)
        #expect(FleetStatus.secondsLeft(1_000, (users: 9, seconds: 60), soaks: 0, isRunning: true) == nil)
        #expect(FleetStatus.secondsLeft(1_000, (users: 100, seconds: 60), soaks: 0, isRunning: false) == nil)
    }
}
