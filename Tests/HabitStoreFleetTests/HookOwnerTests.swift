import Foundation
import HabitStore
import HabitStoreRollout
import RolloutTesting
import Synchronization
import Testing

@testable import HabitStoreFleet

/// Whoever can change a fleet's plan names the programs that its hooks execute. They used to run with the rights of whoever halted, tested or ran
/// the fleet: another account's plan made root execute its commands.
@Suite(.timeLimit(.minutes(5)))
struct HookOwnerTests {
    @Test(arguments: ["", "/fleet", "/fleet/plan.json", "/fleet/ledger.jsonl"])
    func noHookIsRunWhereOthersMayChangeTheFleet(_ changeable: String) throws {
        let test = try TestFleet(2)
        let hook = try test.hook()
        try test.drawHooked(hook)
        let path = test.root + changeable
        let mode = try mode(of: path)
        chmod(path, mode | 0o022)
        for tries in [try test.fleet.testHooks(), try test.fleet.tellHooks()] {
            let failure = try #require(tries.first?.failure)
            #expect(
                failure.hasPrefix("cannot be run: ") && failure.contains(": others may change the fleet's"),
                "\(failure)"
            )
            #expect(failure.contains(path) && failure.contains("`chmod go-w` it"), "\(failure)")
        }
        // The halt works, and the hook gets it from a run that may.
        #expect(try test.fleet.halt(by: "a test", because: "lunch"))
        let words = test.fleet.tellHooksInWords()
        #expect(words.count == 1 && words[0].hasSuffix("; the next run tries again"), "\(words)")
        #expect(hook.messages.isEmpty)
        // Root leaves no lock that the folder's owner cannot open.
        #expect(!FileManager.default.fileExists(atPath: test.fleet.folder.hooksLease))
        chmod(path, mode)
        #expect(try test.fleet.tellHooks().map(\.failure) == [nil])
        #expect(hook.messages.last?.event == "halted")
    }

    @Test func aRunDeliversNothingAndItsWavesWait() throws {
        let test = try TestFleet(2)
        let hook = try test.hook()
        try test.drawHooked(hook, #", "confirmsWaves": true"#)
        let plan = test.fleet.folder.plan + ".json"
        let mode = try mode(of: plan)
        chmod(plan, 0o666)
        let told = Mutex<[String]>([])
        let end = try test.runHooked { line in
            told.withLock { $0.append(line) }
            guard line.contains("to confirm wave 1; it cannot be run: "),
                line.contains("others may change the fleet's plan")
            else { return }
            _ = try? test.fleet.halt(by: "a test", because: "lunch")
        }
        #expect(end == .halted(by: "a test", because: "lunch", user: nil))
        let lines = told.withLock { $0 }
        #expect(lines.count { $0.hasPrefix("the hook pager cannot be run: ") } == 1, "\(lines)")
        #expect(try test.stages().values.allSatisfy { $0 == .off })
        #expect(hook.messages.isEmpty)
        chmod(plan, mode)
        #expect(try test.fleet.resume(by: "a test", because: "it is ours again"))
        #expect(try test.runHooked() == .done(passedOver: 0))
        #expect(hook.sequences == Array(1...(try test.fleet.ledger.read().entries.count)))
    }

    /// The owner of a file or a folder may change it, whatever its mode says.
    @Test(.enabled(if: geteuid() == 0, "only root can give files away"), arguments: ["", "/fleet", "/fleet/plan.json"])
    func noHookIsRunOfAnotherAccountsFleet(_ given: String) throws {
        let test = try TestFleet(1)
        let hook = try test.hook()
        try test.drawHooked(hook)
        chown(test.root + given, 1, 1)
        let failure = try #require(try test.fleet.testHooks().first?.failure)
        #expect(failure.contains("run this as the owner"), "\(failure)")
        #expect(try test.fleet.tellHooks().first?.told == 0)
        #expect(hook.messages.isEmpty)
        chown(test.root + given, 0, 0)
        #expect(try test.fleet.testHooks().first?.failure == nil)
    }

    @Test func aPlanWithHooksIsNotDrawnWhereNoneWouldRun() throws {
        let test = try TestFleet(1)
        let hook = try test.hook()
        let mode = try mode(of: test.root)
        chmod(test.root, mode | 0o022)
        #expect { try test.drawHooked(hook) } throws: { "\($0)".contains("others may change the fleet's folder") }
        #expect(!FileManager.default.fileExists(atPath: test.fleet.folder.path))
        _ = try test.draw(TestFleet.twoWaves)
        chmod(test.root, mode)
        try test.drawHooked(hook)
    }

    private func mode(of path: String) throws -> mode_t {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status.st_mode & 0o7777
    }
}
