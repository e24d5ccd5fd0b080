import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import RolloutTesting
import Testing

@testable import HabitStoreFleet

/// Drawing is atomic: a process that dies in the middle has drawn nothing, or everything.
@Suite(.timeLimit(.minutes(5)))
struct FleetDrawingTests {
    private struct Died: Error {}

    /// Draws, and dies at a step.
    private func die(at step: Fleet.DrawingStep, _ text: String, _ test: TestFleet) throws {
        let path = test.user.folder.path("plan.json")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let plan = try #require(try FleetPlanReader.read(path: path).plan)
        var hasDied = false
        #expect(throws: Died.self) {
            try test.fleet.draw(
                plan,
                text: Data(text.utf8),
                isYAML: false,
                test.stores().users().users.map { (user: $0, bytes: 1) },
                by: "a test",
                salt: nil,
                note: { _ in }
            ) { reached in
                guard reached == step else { return }
                hasDied = true
                throw Died()
            }
        }
        #expect(hasDied)
    }

    /// The fleet asked for an index to be rebuilt, or for a file that did not exist to be restored.
    @Test(arguments: [Fleet.DrawingStep.folder, .members, .plan, .index])
    func aFirstDrawingThatWasKilledHasDrawnNothing(_ step: Fleet.DrawingStep) throws {
        let test = try TestFleet(3)
        try die(at: step, TestFleet.twoWaves, test)
        #expect { try test.run() } throws: { "\($0)".contains("there is no plan here") }
        #expect { try test.fleet.halt(by: "a test", because: "x") } throws: { "\($0)".contains("there is no fleet") }
        var notes: [String] = []
        _ = try test.draw(TestFleet.twoWaves) { notes.append($0) }
        #expect(notes.count == 1 && notes[0].contains("killed"))
        #expect(!FileManager.default.fileExists(atPath: FleetFolder(root: test.root).draft.path))
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.promotions().values.allSatisfy { $0 == 5 })
    }

    @Test func aFirstDrawingThatWasKilledAfterItsLastStepHasDrawnEverything() throws {
        let test = try TestFleet(3)
        try die(at: .named, TestFleet.twoWaves, test)
        #expect(try test.run().end == .done(passedOver: 0))
    }

    /// The previous plan applies until the ledger has the line of the new one.
    @Test(arguments: [(Fleet.DrawingStep.drafts, 0.0), (.told, 9), (.renamed, 9)])
    func aLaterDrawingThatWasKilledCountsFromItsLineOn(_ step: Fleet.DrawingStep, _ soakSeconds: Double) throws {
        let test = try TestFleet(3)
        _ = try test.draw(TestFleet.twoWaves)
        let late = try test.stores().store(for: "late")
        try late.save(Habit(name: "Swim"))
        late.close()
        let changed = TestFleet.twoWaves.replacing("\"percent\": 100", with: "\"percent\": 100, \"soakSeconds\": 9")
        try die(at: step, changed, test)
        #expect(try test.fleet.halt(by: "a test", because: "to look"))
        guard case .halted = try test.run().end else {
            Issue.record("a fleet that is halted has begun")
            return
        }
        #expect(try test.fleet.plan().waves[1].soakSeconds == soakSeconds)
        let members = try FleetMembers.load(FleetFolder(root: test.root).members)
        #expect(members.members.count == (step == .drafts ? 3 : 4))
        let names = try FileManager.default.contentsOfDirectory(atPath: FleetFolder(root: test.root).path)
        #expect(!names.contains { $0.hasSuffix(".next") }, "\(names)")
        #expect(try test.fleet.resume(by: "a test", because: "seen"))
        _ = try test.draw(TestFleet.twoWaves)
        #expect(try test.run().end == .done(passedOver: 0))
        #expect(try test.stores().status(of: "late").stage == .complete)
    }

    /// A plan in the other format replaces the previous one.
    @Test func aPlanInAnotherFormatTakesThePlaceOfTheOneBefore() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        let text = """
            lookSeconds: 0.3
            waves:
              - {name: canary, users: 2}
              - {name: all, percent: 100}
            """
        let path = test.user.folder.path("plan.yaml")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let plan = try #require(try FleetPlanReader.read(path: path).plan)
        let users = try test.stores().users().users.map { (user: $0, bytes: 1) }
        try test.fleet.draw(plan, text: Data(text.utf8), isYAML: true, users, by: "a test")
        #expect(try test.fleet.plan() == plan)
    }

    @Test func twoDrawingsAtOnceAreOne() throws {
        let test = try TestFleet(2)
        let draft = FleetFolder(root: test.root).draft
        try draft.make()
        let descriptor = open(draft.lease, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        #expect { try test.draw(TestFleet.twoWaves) } throws: { ($0 as? HabitStoreError)?.code == .busy }
        #expect(!FileManager.default.fileExists(atPath: test.fleet.ledger.path))
    }

    /// The waves shown by `--dry-run` are the ones drawn.
    @Test func aSaltDrawsTheSameWavesAgain() throws {
        let test = try TestFleet(6)
        let plan = FleetPlan(waves: try #require(try read(TestFleet.twoWaves, test)).waves)
        let users = test.users.map { (user: $0, bytes: 1) }
        let shown = try test.fleet.drawing(plan, users)
        #expect(try test.fleet.drawing(plan, users, salt: shown.salt) == shown)
        #expect(shown.salt.utf8.count == 32)
    }

    private func read(_ text: String, _ test: TestFleet) throws -> FleetPlan? {
        let path = test.user.folder.path("a.json")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return try FleetPlanReader.read(path: path).plan
    }

    /// After a killed first drawing its files kept the user's id until the next drawing.
    @Test(arguments: [Fleet.DrawingStep.members, .plan, .index])
    func whoIsErasedIsInNoFirstDrawingThatWasKilled(_ step: Fleet.DrawingStep) throws {
        let test = try TestFleet(3)
        try die(at: step, TestFleet.twoWaves, test)
        #expect(try test.stores().erase("user-1", elsewhere: test.fleet.erasure).isDone)
        let draft = FleetFolder(root: test.root).draft
        for name in try FileManager.default.contentsOfDirectory(atPath: draft.path) {
            let data = FileManager.default.contents(atPath: draft.path + "/" + name) ?? Data()
            #expect(data.firstRange(of: Data("user-1".utf8)) == nil, "\(name)")
        }
        #expect(try test.draw(TestFleet.twoWaves).members.count == 2)
        #expect(try test.run().end == .done(passedOver: 0))
    }

    /// A later drawing that was killed after its line in the ledger would have put the user back into a wave.
    @Test(arguments: [Fleet.DrawingStep.drafts, .told, .renamed])
    func whoIsErasedIsBroughtBackByNoLaterDrawingThatWasKilled(_ step: Fleet.DrawingStep) throws {
        let test = try TestFleet(3)
        _ = try test.draw(TestFleet.twoWaves)
        let late = try test.stores().store(for: "late")
        try late.save(Habit(name: "Swim"))
        late.close()
        try die(at: step, TestFleet.twoWaves, test)
        #expect(try test.stores().erase("user-1", elsewhere: test.fleet.erasure).isDone)
        #expect(try test.stores().erase("late", elsewhere: test.fleet.erasure).isDone)
        let folder = FleetFolder(root: test.root).path
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let data = FileManager.default.contents(atPath: folder + "/" + name) ?? Data()
            for user in ["user-1", "late"] { #expect(data.firstRange(of: Data(user.utf8)) == nil, "\(name), \(user)") }
        }
        #expect(try test.draw(TestFleet.twoWaves).members.map(\.user).sorted() == ["user-0", "user-2"])
        #expect(try test.run().end == .done(passedOver: 0))
    }
}
