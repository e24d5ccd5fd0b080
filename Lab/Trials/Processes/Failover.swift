import ArgumentParser
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

/// Kills the primary of a PostgreSQL cluster again and again while its stores are written to, and compares their contents with the outcomes that the
/// writers saw.
struct FailoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "failover",
        abstract:
            "Kill PostgreSQL primaries while stores are written to; no acknowledged write may be lost or duplicated.",
        discussion: "Exit codes: 0 no violation; 1 a violation, or a server could not be brought back."
    )

    @Option(help: "How many rounds, with one trouble each.")
    var rounds = 200

    @Option(help: "The seed of the times and kinds of trouble.")
    var seed: UInt64 = 1

    @Option(help: "The only kind of trouble: \(FailoverTrouble.allCases.map(\.rawValue).joined(separator: ", ")).")
    var only: FailoverTrouble?

    @Option(help: "How many threads write.")
    var writers = 6

    @Option(help: "How many stores they write to. Each is opened twice.")
    var stores = 3

    @Option(
        help: "How long a write waits for another one. It waits twice as long for an answer and to learn an outcome."
    )
    var waitSeconds = 1.0

    @Option(help: "The script that starts and stops servers.")
    var script = "scripts/postgres.sh"

    func validate() throws {
        guard rounds > 0, stores > 0, writers >= stores, waitSeconds > 0 else {
            throw ValidationError(
                "--rounds, --stores and --wait-seconds must be more than 0, and --writers not less than --stores"
            )
        }
    }

    func run() throws {
        let outcome = try Failover(self).run()
        for line in outcome.lines { print(line) }
        if !outcome.isClean { throw ExitCode(1) }
    }
}

extension FailoverTrouble: ExpressibleByArgument {}

/// A trouble with the servers.
enum FailoverTrouble: String, CaseIterable, Sendable {
    /// The primary and all its processes are killed, and the standby is promoted.
    case kill
    /// The standby is promoted while the primary keeps running and does not know.
    case livesOn = "lives-on"
    /// The standby does not answer for a while.
    case frozenStandby = "frozen-standby"
}

/// A primary and its synchronous standby, which swap roles.
final class FailoverServers {
    private let script: String
    private let folder: String
    /// The connection URI with both hosts.
    let uri: String
    private(set) var leader = "primary-1"
    private(set) var follower = "standby-1"

    /// Starts the servers.
    init(script: String) throws {
        self.script = script
        // The servers' user may have no access to the temporary directory.
        folder = "/tmp/habitstore-failover-\(UUID().uuidString)"
        let assignment = try Self.run(script, ["up", folder])
        guard let uri = assignment.firstMatch(of: /HABITSTORE_POSTGRES='([^']+)'/) else {
            throw HabitStoreError(.internalInconsistency, "the script started no servers", at: .init(path: script))
        }
        self.uri = String(uri.output.1)
    }

    /// Stops the servers.
    func down() throws { try Self.run(script, ["down", folder]) }

    /// Kills a server with all its processes.
    func kill(_ node: String) throws { try Self.run(script, ["signal", folder, node, "KILL"]) }

    /// Stops a server's processes with SIGSTOP.
    func freeze(_ node: String) throws { try Self.run(script, ["signal", folder, node, "STOP"]) }

    /// Continues a server's stopped processes.
    func thaw(_ node: String) throws { try Self.run(script, ["signal", folder, node, "CONT"]) }

    /// Promotes the standby to primary, whatever the state of the old primary.
    func promote() throws {
        try Self.run(script, ["promote", folder, follower])
        (leader, follower) = (follower, leader)
    }

    /// Makes the former primary the synchronous standby.
    func rejoin() throws { try Self.run(script, ["rejoin", folder, follower, leader]) }

    /// Does not use `Process`: servers inherit the file by which it notices the script's end, so it would wait for them.
    @discardableResult
    private static func run(_ script: String, _ arguments: [String]) throws -> String {
        let words = (["/bin/sh", script] + arguments).map { "'\($0.replacing("'", with: "'\\''"))'" }
        var text: [UInt8] = []
        var status: Int32 = -1
        if let output = popen(words.joined(separator: " "), "r") {
            while case let byte = getc(output), byte != EOF { text.append(UInt8(truncatingIfNeeded: byte)) }
            status = pclose(output)
        }
        guard status == 0 else {
            throw HabitStoreError(
                .internalInconsistency,
                "the script's \(arguments.first ?? "") failed with \(status)",
                at: .init(path: script)
            )
        }
        return String(decoding: text, as: UTF8.self)
    }
}
