import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// Opens the root of a dead process as the next process does, and reports every violation.
struct Recovery {
    let root: String
    let flags: StageFlags
    var engines = Engines.standard
    /// The writes that existed before.
    let base: Set<Int>
    let report: Report

    /// The result of a check.
    struct Outcome {
        var violations: [String] = []
        /// The user's stage after the restart.
        var stage: Stage?
        /// How many writes were found that were neither acknowledged nor refused.
        var keptOpen = 0
    }

    func check() -> Outcome {
        var outcome = Outcome(violations: report.violations)
        do {
            let user = try SweptUser(root: root, flags: flags, options: .sweep, engines: engines)
            defer { user.store.close() }
            try check(user, &outcome)
        } catch {
            outcome.violations.append("the recovery failed: \(error)")
        }
        return outcome
    }

    private func check(_ user: SweptUser, _ outcome: inout Outcome) throws {
        let stage = try user.store.stage()
        outcome.stage = stage
        if let last = report.stage, stage.position > last.position + 1 {
            outcome.violations.append(
                "the user skipped a stage: last reported at \(last.rawValue), now at \(stage.rawValue)"
            )
        }
        let numbers = try user.store.read(Workload.numbers)
        checkWrites(Set(numbers), &outcome)
        try checkState(user.store, Set(numbers), &outcome)
        try converge(user, &outcome)
        let next = (numbers + Array(report.ledger.begun)).max().map { $0 + 1 } ?? 1
        try user.store.write(author: Workload.author(next)) { try Workload.write(next, in: $0) }
        try compare(user.store, &outcome)
        try checkState(user.store, Set(numbers + [next]), &outcome)
        try checkEvidence(user.store, &outcome)
    }

    private func checkWrites(_ numbers: Set<Int>, _ outcome: inout Outcome) {
        outcome.violations += report.ledger.losses(numbers, base: base)
        outcome.violations += report.ledger.additions(numbers, base: base)
        outcome.keptOpen = report.ledger.open.intersection(numbers).count
    }

    /// The records are exactly those of the writes, and the history has each write once. On a server, a statement that a dead process had sent may
    /// still take
    /// effect: no caller knows of it, and other processes use the server too.
    private func checkState(_ store: UserStore, _ known: Set<Int>, _ outcome: inout Outcome) throws {
        let mayComeLate = try flags.pair.names.contains { try engines.provider($0).isShared } ? report.ledger.open : []
        try store.read { transaction in
            let numbers = Set(try Workload.numbers(transaction))
            guard numbers.isSuperset(of: known), numbers.subtracting(known).isSubset(of: mayComeLate) else {
                outcome.violations.append(
                    "writes appeared or disappeared: \(numbers.symmetricDifference(known).sorted())"
                )
                return
            }
            let sorted = numbers.sorted()
            if try Contents(transaction) != Contents(after: sorted) {
                outcome.violations.append("the records do not match the \(numbers.count) writes")
            }
            let information = try transaction.information()
            if information.token.rawValue != Int64(numbers.count) {
                outcome.violations.append("the token is \(information.token) after \(numbers.count) writes")
            }
            let history = try transaction.fetchHistory(after: information.historyFloor)
            let tokens = history.map(\.token.rawValue)
            if tokens != Array((information.historyFloor.rawValue..<information.token.rawValue).map { $0 + 1 }) {
                outcome.violations.append("the history has gaps: \(tokens)")
            }
            let authors = sorted.suffix(history.count).map { Workload.author($0) }
            if history.map(\.author) != authors {
                outcome.violations.append("the history's authors do not match the writes")
            }
        }
    }

    /// Brings the user to a stage with two equal stores.
    private func converge(_ user: SweptUser, _ outcome: inout Outcome) throws {
        switch try user.store.stage() {
        case .off:
            try user.rearm()
            if try user.goForward() == nil { return }
            // A failed reset has to be repeated.
            if report.hasUnfinishedReset { try user.store.resetEvidence(because: "once more", by: "the sweep") }
            if try !report.hasUnfinishedReset || user.goForward() != nil {
                let missing = try user.store.decision().reasons.map(\.description).joined(separator: "; ")
                outcome.violations.append("the user can no longer advance: \(missing)")
            }
        case .complete:
            // A kill switch that cannot complete leaves the user here; without it, the way back by hand copies what is missing.
            try flags.want(.complete)
            user.stores.reloadFlags()
            try user.goBack()
        default: break
        }
    }

    /// Both stores have the same token and the same records.
    private func compare(_ store: UserStore, _ outcome: inout Outcome) throws {
        // On a busy machine a copy takes longer than a verification waits.
        _ = store.waitUntilMirrorIsIdle(waitSeconds: 60)
        let found = try store.verify()
        guard found.verdict == .match, found.a.information.token == found.b.information.token else {
            let first = found.differences.first?.message ?? found.reason ?? ""
            let tokens = "\(found.a.information.token) and \(found.b.information.token)"
            outcome.violations.append(
                "the stores at \(try store.stage().rawValue) differ: \(found.verdict.rawValue), tokens \(tokens), \(first), "
                    + "mirror \(store.mirrorStatus)"
            )
            return
        }
        // The stores' checks share no code with what decides about references and uniqueness.
        outcome.violations += found.anomalies.map { "a check found \($0.count) of \($0.kind)" }
    }

    /// No stage was skipped, every move was recorded, and no difference was ever found.
    private func checkEvidence(_ store: UserStore, _ outcome: inout Outcome) throws {
        let chain = try EvidenceLog(UserDirectory(root: root, user: SweptUser.name)).read()
        if let damage = chain.damage {
            outcome.violations.append("evidence line \(damage.line): \(damage.reason)")
        }
        var at = Stage.off
        for record in chain.records {
            switch record.event {
            case .difference(let stage, let token, let message, _):
                outcome.violations.append("a difference at \(stage.rawValue), token \(token): \(message)")
            case .stageChanged(let from, let to, _, _, let reason, _, _):
                if from != at || to.position > from.position + 1 {
                    outcome.violations.append("\(from) to \(to) (\(reason.rawValue)) after \(at)")
                }
                at = to
            case .checkpoint(let checkpoint) where record == chain.records.first: at = checkpoint.stage
            case .reset: at = .off
            default: break
            }
        }
        let stage = try store.stage()
        if at != stage { outcome.violations.append("the evidence ends at \(at), and the user is at \(stage)") }
    }
}

/// A child's report before it died: one line for each event, written immediately.
struct Report {
    /// The kinds of lines that a child writes.
    enum Line: String {
        case begun = "b"
        case acknowledged = "a"
        case failed = "f"
        case unknown = "u"
        case stage = "s"
        case notMoved = "n"
        case violation = "v"
        /// An event to count.
        case done = "d"
        /// A kill is complete: when it began, and on which engine.
        case landed = "k"
        /// A re-arm began or ended: when, and which.
        case rearming = "r"
        /// A comparison found a difference between stores.
        case mismatch = "m"

        /// Writes a line to the parent in one call.
        func tell(_ text: String) {
            let line = Array("\(rawValue) \(text)\n".utf8)
            // If the parent is gone, no process reads it.
            _ = line.withUnsafeBytes { Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        }
    }

    /// The evidence is about to be reset, and was.
    static let (resetBegun, resetEnded) = ("evidence reset begun", "evidence reset")

    private(set) var ledger = WriteLedger()
    /// The last stage of the child.
    private(set) var stage: Stage?
    private(set) var moves = 0
    private(set) var violations: [String] = []
    /// The reasons why a write or a move failed, with their counts.
    private(set) var refusals: [String: Int] = [:]
    /// The counts of events.
    private(set) var done: [String: Int] = [:]
    /// The differences that comparisons found.
    private(set) var mismatches: [String] = []
    /// The completed kills, by the time when each began.
    private(set) var landings: [UInt64: EngineName] = [:]
    /// When each re-arm began and ended; nil if no end was reported.
    private(set) var rearms: [(begun: UInt64, ended: UInt64?)] = []

    /// Whether a reset of the evidence did not complete.
    var hasUnfinishedReset: Bool { done[Self.resetBegun, default: 0] > done[Self.resetEnded, default: 0] }

    /// Adds the report of a child, which must not have exited on its own.
    mutating func take(_ child: ChildProcess.End) {
        take(child.outputBytes)
        if !child.isSignalled { violations.append("the child exited on its own with status \(child.status)") }
    }

    /// Adds a violation.
    mutating func note(violation: String) { violations.append(violation) }

    /// Adds a child's output.
    mutating func take(_ bytes: Data) {
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
            let parts = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2).map(String.init)
            guard let kind = parts.first.flatMap(Line.init), parts.count > 1 else {
                violations.append("the child wrote a malformed line: \(parts)")
                continue
            }
            take(kind, parts[1], parts.dropFirst(2).first ?? "")
        }
    }

    /// Adds a line, by its first word and the rest.
    mutating func take(_ kind: Line, _ first: String, _ rest: String = "") {
        let number = Int(first) ?? 0
        switch kind {
        case .begun: ledger.begun.insert(number)
        case .acknowledged: ledger.acknowledged.insert(number)
        case .failed:
            ledger.failed.insert(number)
            refusals["write: \(rest)", default: 0] += 1
        case .unknown: refusals["write: outcome unknown", default: 0] += 1
        case .stage:
            stage = Stage(rawValue: first)
            moves += 1
        case .notMoved: refusals["move: \(first) \(rest)", default: 0] += 1
        case .violation: violations.append("\(first) \(rest)")
        case .mismatch: mismatches.append("\(first) \(rest)")
        case .done: done[rest.isEmpty ? first : "\(first) \(rest)", default: 0] += 1
        case .landed: landings[UInt64(first) ?? 0] = EngineName(rawValue: rest)
        case .rearming:
            if rest == "begun" {
                rearms.append((UInt64(first) ?? 0, nil))
            } else if !rearms.isEmpty {
                rearms[rearms.count - 1].ended = UInt64(first)
            }
        }
    }

    /// An error in one line, without the paths at the end of other errors' messages, since a table counts equal texts.
    static func text(_ error: any Error) -> String {
        guard let error = error as? HabitStoreError else { return "\(error)" }
        return "\(error.code): \(error.message.prefix(90))".replacingOccurrences(of: "\n", with: " ")
    }
}
