import Foundation
import HabitStoreFleet
import HabitStoreReports

/// The delivery status of hooks, as text and JSON.
struct FleetHooksReport: Encodable {
    struct Hook: Encodable {
        let name: String
        let confirmsWaves: Bool
        let told: Int?
        let toldAt: Date?
        let owed: Int
        let failure: String?
        let failingSince: Date?

        init(_ status: HookStatus) {
            (name, confirmsWaves, told) = (status.name, status.confirmsWaves, status.told)
            (toldAt, owed) = (status.toldAt, status.owed)
            (failure, failingSince) = (status.failure, status.failingSince)
        }

        /// How many lines are pending and why, in one line; nil if none are.
        var trouble: String? {
            guard owed > 0 || failure != nil else { return nil }
            let since = failingSince.map { "; so since \(ISODate.instant($0))" } ?? ""
            return "the hook \(name) is owed \(owed.counted("line"))"
                + (failure.map { ": it \($0)\(since)" } ?? "")
        }
    }

    struct Try: Encodable {
        let name: String
        let told: Int
        let failure: String?
    }

    let hooks: [Hook]
    let tries: [Try]
    let isTest: Bool

    init(hooks: [Hook], tries: [Fleet.HookTry], isTest: Bool) {
        (self.hooks, self.isTest) = (hooks, isTest)
        self.tries = tries.map { Try(name: $0.name, told: $0.told, failure: $0.failure) }
    }

    /// A line for each attempt, or a table of the hooks.
    func text(_ options: TerminalOptions) -> String {
        var text = ""
        for one in tries {
            let done = isTest ? "has answered" : "got \(one.told.counted("line"))"
            text += TerminalText.escaped("the hook \(one.name) \(one.failure ?? done)") + "\n"
        }
        guard !hooks.isEmpty else { return "the plan has no hooks\n" }
        guard tries.isEmpty else { return text }
        var table = TextTable([
            .init("hook"), .init("confirms"), .init("sent", alignment: .right), .init("at"),
            .init("owed", alignment: .right), .init("last failure"),
        ])
        for hook in hooks {
            let since = hook.failingSince.map { "; so since \(ISODate.instant($0))" } ?? ""
            table.append([
                hook.name, hook.confirmsWaves ? "yes" : "no", hook.told.map { "line \($0)" } ?? "–",
                hook.toldAt.map { ISODate.instant($0) } ?? "–", String(hook.owed),
                hook.failure.map { $0 + since } ?? "–",
            ])
        }
        return table.text(options)
    }
}
