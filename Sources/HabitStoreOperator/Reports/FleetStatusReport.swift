import Foundation
import HabitStoreFleet
import HabitStoreReports
import HabitStoreRollout

/// Where a fleet is, for people and programs.
struct FleetStatusReport: Encodable {
    struct Wave: Encodable {
        let name: String
        let state: String
        let users: Int
        let stages: [String: Int]
    }

    struct Waiting: Encodable {
        let reasons: String
        let users: Int
    }

    let state: String
    let doing: String
    let halt: String?
    let since: Date?
    let waves: [Wave]
    let waiting: [Waiting]
    let leastSecondsLeft: Double?
    let mostSecondsLeft: Double?
    let damagedLine: Int?
    let hooks: [FleetHooksReport.Hook]
    let hooksProblem: String?

    init(_ status: FleetStatus) {
        halt = status.halt?.rawValue
        (hooks, hooksProblem) = (status.hooks.map(FleetHooksReport.Hook.init), status.hooksProblem)
        (state, doing, since, damagedLine) = (status.state, status.doing, status.since, status.damagedLine)
        waves = status.waves.map { wave in
            let stages = wave.stages.map { ($0.key.rawValue, $0.value) }
            return Wave(
                name: wave.name,
                state: wave.state,
                users: wave.users,
                stages: Dictionary(uniqueKeysWithValues: stages)
            )
        }
        waiting = status.waiting.map { Waiting(reasons: $0.reasons, users: $0.users) }
        leastSecondsLeft = status.secondsLeft?.lowerBound
        mostSecondsLeft = status.secondsLeft?.upperBound
    }

    /// One sentence, the waves, and why users wait.
    func text(_ options: TerminalOptions) -> String {
        var text = TerminalText.escaped("\(state): \(doing)") + "\n"
        if let halt { text += "what helps: \(Tool.name) rollout runbook \(halt)\n" }
        if let leastSecondsLeft, let mostSecondsLeft {
            text +=
                "between \(leastSecondsLeft.durationText) and \(mostSecondsLeft.durationText) are left at this pace\n"
        }
        var table = TextTable(
            [.init("wave"), .init("state"), .init("users", alignment: .right)]
                + Stage.allCases.map { .init($0.rawValue, alignment: .right) }
        )
        for wave in waves {
            let stages = Stage.allCases.map { String(wave.stages[$0.rawValue] ?? 0) }
            table.append([wave.name, wave.state, String(wave.users)] + stages)
        }
        text += "\n" + table.text(options)
        if !waiting.isEmpty {
            text += "\nwhy users wait:\n"
            for reason in waiting { text += TerminalText.escaped("  \(reason.users) by \(reason.reasons)") + "\n" }
        }
        for trouble in hooks.compactMap(\.trouble) + [hooksProblem].compactMap({ $0 }) {
            text += "\n" + TerminalText.escaped(trouble) + "\n"
        }
        if let damagedLine {
            text += "\nthe ledger is DAMAGED in line \(damagedLine), or lines are missing from there on\n"
        }
        return text
    }
}

/// A fleet's ledger, for programs.
struct FleetLedgerReport: Encodable {
    let entries: [FleetLedger.Entry]
    let damagedLine: Int?
}

/// What an audit has found, for programs.
struct FleetAuditReport: Encodable {
    struct Finding: Encodable {
        let user: String
        let message: String
    }

    let users: Int
    let seed: UInt64?
    let findings: [Finding]
}
