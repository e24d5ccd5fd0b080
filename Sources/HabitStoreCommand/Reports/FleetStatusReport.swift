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
    let since: Date?
    let waves: [Wave]
    let waiting: [Waiting]
    let leastSecondsLeft: Double?
    let mostSecondsLeft: Double?
    let damagedLine: Int?

    init(_ status: FleetStatus) {
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
        if let damagedLine { text += "\nthe ledger is DAMAGED in line \(damagedLine)\n" }
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

extension FleetEvent {
    /// What was done, and the rest of it.
    var words: (what: String, details: String) {
        switch self {
        case .drawn(let users, let digest, let person): ("drawn", "\(users) users, by \(person), \(digest.prefix(12))…")
        case .joined(let users, let digest): ("joined", "\(users) users in the last wave, \(digest.prefix(12))…")
        case .began(let person): ("a run began", "by \(person)")
        case .ended(let isDone): ("a run ended", isDone ? "all waves are done" : "")
        case .waveBegan(let wave, let name, let users): ("wave \(wave + 1) began", "\(name), \(users) users")
        case .soakBegan(let wave, let passedOver):
            ("wave \(wave + 1) is watched", passedOver > 0 ? "\(passedOver) users were passed over" : "")
        case .waveDone(let wave): ("wave \(wave + 1) is done", "")
        case .paused(let person, let reason): ("paused", "by \(person): \(reason)")
        case .unpaused(let person, let reason): ("goes on", "by \(person): \(reason)")
        case .resumed(let person, let reason): ("resumed", "by \(person): \(reason)")
        case .halted(let person, let reason, let user):
            ("HALTED", "by \(person): \(reason)" + (user.map { " (user \($0))" } ?? ""))
        case .tookBack(let wave, let users, let failed):
            ("wave \(wave + 1) was taken back", "\(users) users, \(failed) could not be")
        case .forgotten(let digest, let redacted, let head):
            (
                "a user was erased",
                (digest.map { "of the members, \($0.prefix(12))…; " } ?? "")
                    + "\(redacted) lines redacted; the ledger was at \(head.prefix(20))…"
            )
        }
    }
}
