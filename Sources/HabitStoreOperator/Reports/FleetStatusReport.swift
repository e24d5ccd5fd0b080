import Foundation
import HabitStoreFleet
import HabitStoreReports
import HabitStoreRollout

/// A fleet's status, as text and JSON.
struct FleetStatusReport: Encodable {
    struct Wave: Encodable {
        let name: String
        let state: String
        let users: Int
        let stages: [String: Int]
    }

    struct Different: Encodable {
        let user: String
        let wave: String
        let stage: String?
        let since: Date?
        let message: String?
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
    let different: [Different]
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
        different = status.different.map { found in
            let wave = status.waves.indices.contains(found.wave) ? status.waves[found.wave].name : "\(found.wave + 1)"
            return Different(
                user: found.user,
                wave: wave,
                stage: found.stage?.rawValue,
                since: found.since,
                message: found.message
            )
        }
        waiting = status.waiting.map { Waiting(reasons: $0.reasons, users: $0.users) }
        leastSecondsLeft = status.secondsLeft?.lowerBound
        mostSecondsLeft = status.secondsLeft?.upperBound
    }

    /// The state in a sentence, the users whose stores differ, the waves, and why users wait.
    func text(_ options: TerminalOptions) -> String {
        var text = TerminalText.escaped("\(state): \(doing)") + "\n" + differences
        let difference = Runbook.Halt.haltedByDifference.rawValue
        let kinds = [halt, different.isEmpty || halt == difference ? nil : difference].compactMap { $0 }
        for kind in kinds { text += RolloutNotes.help(kind) }
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

extension FleetStatusReport {
    /// The users whose stores differ, and what to do.
    private var differences: String {
        guard !different.isEmpty else { return "" }
        var text = "DIFFERENT: the stores of \(FleetOverview.counted(different.count, "user")) differ:\n"
        for found in different.prefix(Self.listedDifferent) {
            let since = found.since.map { ", since \(ISODate.instant($0))" } ?? ""
            let message = found.message.map { ": \($0)" } ?? ""
            text +=
                TerminalText.escaped("  \(found.user) (wave \(found.wave), at \(found.stage ?? "?")\(since))\(message)")
                + "\n"
        }
        let more = different.count - Self.listedDifferent
        if more > 0 { text += "  and \(more) more, which --format json lists\n" }
        return text
    }

    private static let listedDifferent = 100
}

/// A fleet's ledger as JSON.
struct FleetLedgerReport: Encodable {
    let entries: [FleetLedger.Entry]
    let damagedLine: Int?
}

/// The findings of an audit as JSON.
struct FleetAuditReport: Encodable {
    struct Finding: Encodable {
        let user: String
        let message: String
    }

    let users: Int
    let seed: UInt64?
    let findings: [Finding]
}
