import Foundation
import HabitStore
import HabitTracker
import ShadowVerifier
import Testing
import Trials

@testable import HabitStoreRollout

/// Four processes write and two read while the user is moved up and down and the kill switch is pulled: their results fit one order of writes that
/// agrees with time, and no acknowledged write is missing.
@Suite(.timeLimit(.minutes(30)))
struct SeveralProcessesTests {
    /// `make several-processes` asks for more.
    private static let kills =
        ProcessInfo.processInfo.environment["HABITSTORE_TRAFFIC_KILLS"].flatMap(Int.init) ?? 10
    private static let seed =
        ProcessInfo.processInfo.environment["HABITSTORE_TRAFFIC_SEED"].flatMap(UInt64.init)
        ?? UInt64.random(in: 0...9_999)

    @Test func operationsOfSeveralProcessesAreLinearizableWhileTheUserIsMovedAndKilled() throws {
        let user = try StagedUser()
        try user.want("complete")
        var control = try TrafficControl(user, seed: Self.seed)
        let processes = try (0..<6).map { number in
            try TrafficProcess(
                number < 4 ? "write" : "read",
                root: user.root,
                flags: user.flags,
                log: user.folder.path("log-\(number)")
            )
        }
        for _ in 0..<Self.kills { try control.round() }
        let lines = try processes.flatMap { try $0.finish() }
        control.store.close()
        let check = TrafficCheck(lines)
        print(
            "several processes, seed \(Self.seed): \(Self.kills) kills \(control.kills.map { "\($0.key): \($0.value)" }),"
                + " \(control.moves) moves, \(check.acknowledged.count) writes, \(check.reads.count) reads,"
                + " \(Dictionary(grouping: lines.map(\.outcome)) { $0 }.mapValues(\.count))"
        )
        #expect(check.violations.isEmpty, "seed \(Self.seed): \(check.violations.prefix(5).joined(separator: "\n"))")
        #expect(check.acknowledged.count > Self.kills * 10)
        #expect(check.reads.count > Self.kills * 10)
        // The stores are sound: a move must not fail an operation.
        let failures = lines.filter { $0.outcome != TrafficLine.ok }
        #expect(failures.isEmpty, "seed \(Self.seed): \(failures.prefix(5))")
        try expectAllThere(user, check)
    }

    private func expectAllThere(_ user: StagedUser, _ check: TrafficCheck) throws {
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        let drafts = try store.all(Draft.self)
        let ids = Set(drafts.map(\.id))
        let missing = check.acknowledged.filter { !ids.contains($0.id) }
        #expect(missing.isEmpty, "seed \(Self.seed): \(missing.count) acknowledged writes are missing")
        let failed = check.lines.filter { $0.isWrite && ![TrafficLine.ok, "outcomeUnknown"].contains($0.outcome) }
        #expect(failed.allSatisfy { !ids.contains($0.id) }, "seed \(Self.seed): a write that failed has happened")
        let counted = drafts.first { $0.id == TrafficLine.counter }.flatMap { Int($0.content) }
        // Each number was written exactly once, whichever process knows it.
        #expect(counted == drafts.count - 1)
    }
}
