import Foundation
import HabitStore
import HabitStorePostgres
import HabitStoreTesting
import HabitTracker

/// A run: one trouble after another, each with its own stores, all of which are checked again at the end.
struct Failover {
    /// The result of a run.
    struct Outcome {
        var lines: [String] = []
        var isClean: Bool
    }

    /// The time limit until writes are acknowledged again.
    private static let returnSeconds = 20.0
    private let command: FailoverCommand

    init(_ command: FailoverCommand) { self.command = command }

    func run() throws -> Outcome {
        let servers = try FailoverServers(script: command.script)
        do {
            let outcome = try run(servers)
            try servers.down()
            return outcome
        } catch {
            try servers.down()
            throw error
        }
    }

    private func run(_ servers: FailoverServers) throws -> Outcome {
        try PostgresServer(servers.uri).prepare()
        var check = FailoverCheck()
        var violations: [String] = []
        var histories: [PostgresPlace: [String]] = [:]
        var troubles: [FailoverTrouble: Int] = [:]
        var gaps: [Double] = []
        for round in 0..<command.rounds {
            var random = SeededGenerator(seed: command.seed &+ UInt64(round) &* 7_919)
            let trouble = command.only ?? Self.trouble(&random)
            troubles[trouble, default: 0] += 1
            let names = (0..<command.stores).map { "round \(round), store \($0)" }
            let writers = try FailoverWriters(
                names,
                on: servers.uri,
                threads: command.writers,
                waitSeconds: command.waitSeconds
            )
            writers.start()
            Thread.sleep(forTimeInterval: Double(random.int(50...500)) / 1_000)
            let silence: ClosedRange<ContinuousClock.Instant>
            do {
                silence = try make(trouble, servers)
            } catch {
                _ = writers.stop()
                throw error
            }
            let hasReturned = Self.waits {
                writers.subjects.allSatisfy { $0.ledger.hasAcknowledged(since: silence.upperBound) }
            }
            violations += writers.stop().map { "round \(round): \($0)" }
            if !hasReturned {
                violations.append("round \(round), \(trouble.rawValue): no write is acknowledged any more")
            }
            for subject in writers.subjects {
                histories[subject.place] = try check.check(subject.place, subject.ledger, silence: silence)
            }
            gaps.append(Self.longestGap(writers.subjects.flatMap(\.ledger.writes)))
        }
        for (place, authors) in histories {
            let store = try PostgresHabitStore(place, schema: HabitSchema.current)
            defer { store.close() }
            if try store.fetchHistory(after: .zero).compactMap(\.author) != authors {
                violations.append("\(place.name): the history changed after its round")
            }
        }
        violations += check.violations
        return outcome(check, violations, troubles, gaps)
    }

    private static func trouble(_ random: inout SeededGenerator) -> FailoverTrouble {
        switch random.int(0...9) {
        case 0: .livesOn
        case 1: .frozenStandby
        default: .kill
        }
    }

    /// - Returns: when no server had a standby that answered.
    private func make(
        _ trouble: FailoverTrouble,
        _ servers: FailoverServers
    ) throws -> ClosedRange<ContinuousClock.Instant> {
        // Until writers have given up: waiting for an answer, and learning the outcome.
        let patience = command.waitSeconds * 4 + 0.5
        let began: ContinuousClock.Instant
        switch trouble {
        case .kill:
            try servers.kill(servers.leader)
            began = .now
            try servers.promote()
        case .livesOn:
            try servers.promote()
            began = .now
            Thread.sleep(forTimeInterval: patience)
            try servers.kill(servers.follower)
        case .frozenStandby:
            try servers.freeze(servers.follower)
            began = .now
            Thread.sleep(forTimeInterval: patience)
            let ended = ContinuousClock.now
            try servers.thaw(servers.follower)
            return began...ended
        }
        let ended = ContinuousClock.now
        try servers.rejoin()
        return began...ended
    }

    private static func waits(for condition: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(returnSeconds)
        while !condition() {
            guard ContinuousClock.now < deadline else { return false }
            Thread.sleep(forTimeInterval: 0.01)
        }
        return true
    }

    private static func longestGap(_ writes: [FailoverLedger.Write]) -> Double {
        let instants = writes.filter { $0.outcome == .acknowledged }.map(\.ended).sorted()
        return zip(instants, instants.dropFirst()).map { ($1 - $0) / .seconds(1) }.max() ?? 0
    }

    private func outcome(
        _ check: FailoverCheck,
        _ violations: [String],
        _ troubles: [FailoverTrouble: Int],
        _ gaps: [Double]
    ) -> Outcome {
        let counts = FailoverTrouble.allCases.map { "\(troubles[$0, default: 0]) \($0.rawValue)" }
        let gap = gaps.sorted()
        func seconds(_ value: Double) -> String { String(format: "%.2f", value) }
        var lines = [
            "failover, seed \(command.seed): \(command.rounds) rounds (\(counts.joined(separator: ", "))), "
                + "\(command.writers) writers on \(command.stores) stores",
            "\(check.acknowledged) writes acknowledged, \(check.failed) failed, \(check.unknownKept + check.unknownUndone) "
                + "unknown, of which \(check.unknownKept) were kept and \(check.unknownUndone) undone",
            "longest gap between acknowledgements: median of the rounds \(seconds(gap[gap.count / 2])) s, "
                + "maximum \(seconds(gap[gap.count - 1])) s",
        ]
        lines += violations.prefix(20).map { "VIOLATION: \($0)" }
        lines.append(
            violations.isEmpty
                ? "nothing lost, nothing duplicated, no closure run twice" : "FAILED: \(violations.count)"
        )
        return Outcome(lines: lines, isClean: violations.isEmpty)
    }
}
