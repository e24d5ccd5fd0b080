import Foundation
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// Users' status as a table and a summary.
struct RolloutStatusReport {
    private let statuses: [UserStatus]
    private let root: String
    private let options: TerminalOptions
    private let timeZone: TimeZone

    /// - Parameter root: the folder that was searched for users.
    init(_ statuses: [UserStatus], root: String, options: TerminalOptions, timeZone: TimeZone) {
        (self.statuses, self.root) = (statuses, root)
        self.options = options
        self.timeZone = timeZone
    }

    /// The table, and the number of users at each stage.
    var text: String {
        guard !statuses.isEmpty else { return TerminalText.escaped("no user has stores under \(root)") + "\n" }
        var table = TextTable([
            .init("user", maximumWidth: 60), .init("stage", canShrink: false), .init("wanted", canShrink: false),
            .init("engine"),
            .init("token", alignment: .right), .init("mirror"), .init("evidence", alignment: .right),
            .init("clean reads", alignment: .right), .init("rate below", alignment: .right),
            .init("verified"), .init("rehearsed"), .init("last difference"), .init("remark"),
        ])
        for status in statuses { table.append(row(status)) }
        return table.text(options) + "\n" + summary
    }

    private func row(_ status: UserStatus) -> [String] {
        [
            status.user,
            (status.stage?.rawValue ?? "?") + (status.movingTo.map { " → \($0.rawValue)" } ?? ""),
            status.wanted?.rawValue ?? "no change",
            status.engine?.rawValue ?? "?",
            status.token?.description ?? "?",
            status.mirror.text,
            status.evidence.isIntact ? "\(status.evidence.records) intact" : "DAMAGED",
            String(status.cleanShadowReads),
            status.next?.upperBound.map { Self.rate($0) } ?? "",
            Self.age(status.evidence.lastVerification),
            Self.age(status.evidence.lastRehearsal),
            status.evidence.lastDifference.map { ISODate.local($0.time, in: timeZone) + ", \($0.stage.rawValue)" }
                ?? "none",
            remark(status),
        ]
    }

    /// The age and result of a proof: `3 h ago, NOT CLEAN`.
    private static func age(_ proof: (time: Date, isClean: Bool)?) -> String {
        guard let proof else { return "never" }
        let seconds = max(0, Date().timeIntervalSince(proof.time))
        return "\(seconds.durationText) ago" + (proof.isClean ? "" : ", NOT CLEAN")
    }

    private func remark(_ status: UserStatus) -> String {
        var remarks: [String] = []
        if status.isKilled { remarks.append("killed") }
        if let trigger = status.killTrigger { remarks.append("the kill switch is pulled: \(trigger)") }
        remarks += status.problems.map { "\($0.place): \($0.error.description)" }
        if let damage = status.evidence.damage {
            remarks.append("evidence, line \(damage.line): \(damage.reason)")
        }
        if let open = status.evidence.openDifference { remarks.append("the stores DIFFER: \(open.message)") }
        if status.evidence.isCutOff { remarks.append("lines of the evidence are missing at its end") }
        if let stays = status.stays {
            remarks.append(stays.sentence(user: ShellWord.quoted(status.user)))
        } else if !status.isKilled, !status.reasonsNotThere.isEmpty {
            remarks.append("waits: " + status.reasonsNotThere.map(\.kind).joined(separator: ", "))
        }
        return remarks.joined(separator: "; ")
    }

    private var summary: String {
        var table = TextTable([
            .init("stage"), .init("users", alignment: .right), .init("wanted", alignment: .right),
            .init("killed", alignment: .right), .init("lagging", alignment: .right),
            .init("unreadable", alignment: .right),
        ])
        for stage in Stage.allCases {
            let here = statuses.filter { $0.stage == stage }
            table.append([
                stage.rawValue, String(here.count), String(statuses.count { $0.wanted == stage }),
                String(here.count(where: \.isKilled)), String(here.count { $0.mirror.isLagging }),
                String(here.count { !$0.problems.isEmpty }),
            ])
        }
        let unknown = statuses.filter { $0.stage == nil }
        if !unknown.isEmpty { table.append(["?", String(unknown.count), "", "", "", String(unknown.count)]) }
        return table.text(options)
    }

    /// A rate as `0.30 %`, rounded up: it is a bound.
    static func rate(_ bound: Double) -> String { String(format: "%.2f %%", (bound * 10_000).rounded(.up) / 100) }
}

extension UserStatus.Mirror {
    /// The mirror's state in one or two words.
    var text: String {
        switch self {
        case .none: "none"
        case .notFilled: "not filled"
        case .parted: "parted"
        case .behind(0): "current"
        case .behind(let count): "\(count) behind"
        case .unknown: "unknown"
        }
    }

    /// Whether it is known to lack transactions.
    var isLagging: Bool {
        switch self {
        case .none, .unknown, .behind(0): false
        case .notFilled, .parted, .behind: true
        }
    }
}
