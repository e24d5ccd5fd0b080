import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreImport

/// The command follows a file that its app keeps writing, and is killed again and again. It needs a separate machine: `make killed-followers`.
/// Stops between any two commits are tested with all other tests.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["HABITSTORE_KILLED_FOLLOWERS"] != nil), .serialized)
struct KilledFollowingTests {
    private func follower(_ fixture: CoreDataFixture, _ target: ImportTarget) throws -> ChildProcess {
        let store = "\(target.engine.rawValue):\(target.path)"
        return try ChildProcess(
            CommandLineRun.binary(),
            ["import", "coredata", fixture.path, "--into", store, "--follow", "--every", "0.01"]
        )
    }

    @Test(arguments: TargetEngine.onDisk, [true, false])
    func killedAnywhereNothingIsLostOrDoubled(_ engine: TargetEngine, _ usesLog: Bool) throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        let fixture = try CoreDataFixture(log: usesLog)
        try fixture.writeLibrary()
        try fixture.writeHistory()
        let target = try ImportTarget(engine)
        var app = FixtureApp(fixture, seed: seed)
        var (moves, position) = (0, Int64(0))
        for round in 0..<8 {
            let process = try follower(fixture, target)
            // Two of three are killed some time after their first step, the others at any time.
            if round % 3 != 0 {
                let deadline = Date(timeIntervalSinceNow: 60)
                while try transaction(target, fixture) <= position, Date() < deadline { try save(&app, 5) }
            }
            try save(&app, Int.random(in: 0...30, using: &generator))
            process.kill()
            let now = try transaction(target, fixture)
            if now > position { moves += 1 }
            position = now
        }
        #expect(moves >= 5, "seed \(seed): \(moves) of 8 processes got anything done before they were killed")
        try target.update(from: fixture.path)
        let report = try target.verification(of: fixture.path)
        #expect(report.verdict == .match, "seed \(seed): \(report.differences.map(\.message))")
        try target.expectHistory(of: app, seed)
    }

    private func save(_ app: inout FixtureApp, _ times: Int) throws {
        for _ in 0..<times {
            try app.save()
            Thread.sleep(forTimeInterval: 0.01)
        }
    }

    private func transaction(_ target: ImportTarget, _ fixture: CoreDataFixture) throws -> Int64 {
        guard FileManager.default.fileExists(atPath: target.path) else { return 0 }
        return try target.transaction(of: fixture.path)
    }
}
