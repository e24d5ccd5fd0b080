import Foundation
import HabitStore
import HabitStoreRollout
import RolloutTesting
import Testing

@testable import HabitStoreFleet

/// An erased user is in none of the fleet's files, and the fleet continues without the user.
struct FleetErasureTests {
    private func traces(of text: String, in fleet: TestFleet) throws -> [String] {
        let path = fleet.root + "/fleet"
        return try FileManager.default.contentsOfDirectory(atPath: path).filter { name in
            FileManager.default.contents(atPath: path + "/" + name)?.firstRange(of: Data(text.utf8)) != nil
        }
    }

    @Test func aFleetGoesOnWithoutWhoeverWasErased() throws {
        let fleet = try TestFleet(4)
        let drawn = try fleet.draw(TestFleet.twoWaves)
        let user = "user-2"
        try fleet.fleet.halt(by: "a test", because: "user-2 complains, and user-22 does not")
        #expect(try !traces(of: user, in: fleet).isEmpty)
        let dry = try fleet.stores().erase(user, isDry: true, elsewhere: fleet.fleet.erasure)
        let places = Set(
            dry.items.filter { $0.kind == "fleet" }.map { URL(fileURLWithPath: $0.place).lastPathComponent }
        )
        #expect(places == ["members.tsv", "ledger.jsonl", "fleet.sqlite", "halted"])
        let before = try fleet.fleet.ledger.read()
        #expect(try fleet.stores().erase(user, elsewhere: fleet.fleet.erasure).isDone)
        // Another user's id that starts the same stays.
        #expect(try traces(of: user, in: fleet) == traces(of: "user-22", in: fleet))
        let ledger = try fleet.fleet.ledger.read()
        #expect(ledger.damagedLine == nil && ledger.entries.count == before.entries.count + 1)
        guard case .forgotten(let digest, 1, let head) = try #require(ledger.entries.last).event else {
            Issue.record("\(ledger.entries)")
            return
        }
        #expect(head == before.heads.last)
        let members = try FleetMembers.load(fleet.root + "/fleet/members.tsv")
        #expect(digest == members.digest)
        #expect(members.members == drawn.members.filter { $0.user != user })
        // The others are moved.
        try fleet.fleet.resume(by: "a test", because: "erased")
        #expect(try fleet.run().end == .done(passedOver: 0))
        let stores = try fleet.stores()
        for name in fleet.users where name != user { #expect(try stores.status(of: name).stage == .complete) }
        #expect(throws: HabitStoreError.self) { try stores.requireUser(user) }
        #expect(try fleet.fleet.status().waves.reduce(0) { $0 + $1.users } == 3)
    }

    @Test func theUserForWhomAFleetWasHaltedIsForgotten() throws {
        let fleet = try TestFleet(3)
        _ = try fleet.draw(TestFleet.twoWaves)
        try FleetSignals(folder: FleetFolder(root: fleet.root))
            .halt(.init(by: "the run", because: "a user's stores differ", user: "user-1"))
        try fleet.fleet.ledger.append(.halted(by: "the run", because: "a user's stores differ", user: "user-1"))
        #expect(try fleet.fleet.forget("user-1"))
        #expect(try traces(of: "user-1", in: fleet) == [])
        #expect(try fleet.fleet.ledger.read().damagedLine == nil)
        #expect(try fleet.fleet.status().doing.contains("(user erased)"))
        #expect(try !fleet.fleet.forget("user-1"))
        try fleet.fleet.resume(by: "a test", because: "erased")
        // The user's folder still exists, so the user joins the last wave.
        #expect(try fleet.run().end == .done(passedOver: 0))
    }

    /// A process died between the ledger's line and the members' file.
    @Test func aForgettingThatWasInterruptedIsDoneAgain() throws {
        let fleet = try TestFleet(3)
        let drawn = try fleet.draw(TestFleet.twoWaves)
        let others = drawn.removing("user-0")
        _ = try fleet.fleet.ledger.rewrite({ _ in nil }) { changed, head in
            .forgotten(digest: others.digest, redacted: changed, head: head)
        }
        #expect(try fleet.fleet.forget("user-0"))
        #expect(try traces(of: "user-0", in: fleet) == [])
        #expect(try fleet.stores().erase("user-0", elsewhere: fleet.fleet.erasure).isDone)
        #expect(try fleet.run().end == .done(passedOver: 0))
    }

    /// A user was erased while a wave was being watched for an hour: the ledger's lines lost their monotonic clock, and a wall clock set forward then
    /// ended the watch immediately.
    @Test func linesKeepTheirClocksWhenAUserIsForgotten() throws {
        let fleet = try TestFleet(3)
        _ = try fleet.draw(TestFleet.twoWaves)
        try fleet.fleet.ledger.append(.halted(by: "a test", because: "user-1 complains", user: nil))
        let before = try fleet.fleet.ledger.read().entries
        #expect(try fleet.fleet.forget("user-1"))
        let after = try fleet.fleet.ledger.read().entries
        #expect(after.prefix(before.count).map(\.time) == before.map(\.time))
        #expect(after.prefix(before.count).map(\.boot) == before.map(\.boot))
        #expect(after.prefix(before.count).map(\.uptimeSeconds) == before.map(\.uptimeSeconds))
        let forgotten = try #require(after.last)
        #expect((forgotten.boot == nil) == (before[0].boot == nil))
        #expect((forgotten.uptimeSeconds == nil) == (before[0].uptimeSeconds == nil))
    }

    /// A drawing was killed while it wrote the members under a temporary name: an erased user's id stayed there.
    @Test func whatAFirstDrawingHasLeftGoesWhateverItsNameIs() throws {
        let fleet = try TestFleet(2)
        let draft = fleet.fleet.folder.draft.path
        try FileManager.default.createDirectory(atPath: draft, withIntermediateDirectories: true)
        let rest = draft + "/members.tsv.4E5A.new"
        try Data("0\tnormal\t4096\tuser-0\n".utf8).write(to: URL(fileURLWithPath: rest))
        #expect(try fleet.stores().erase("user-0", elsewhere: fleet.fleet.erasure).isDone)
        #expect(!FileManager.default.fileExists(atPath: rest))
    }

    @Test func aRunAtWorkKeepsItsMembers() throws {
        let fleet = try TestFleet(2)
        _ = try fleet.draw(TestFleet.twoWaves)
        let lease = try fleet.fleet.takeLease(fleet.fleet.folder)
        defer { withExtendedLifetime(lease) {} }
        #expect { try fleet.stores().erase("user-0", elsewhere: fleet.fleet.erasure) } throws: {
            ($0 as? HabitStoreError)?.code == .busy
        }
        #expect(try fleet.stores().status(of: "user-0").stage == .off)
    }
}
