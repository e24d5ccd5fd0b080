import FeatureFlags
import Foundation
import Logging

/// The suite `flags`: the cost of an evaluation, and the time until a changed file takes effect.
struct FlagRun {
    private let directory: URL
    private let rounds: Int

    /// Per round; the slowest rounds take about a second.
    private static let evaluations = 200_000
    private static let changes = 1000
    private static let goalMilliseconds = 10.0

    init(_ directory: URL, rounds: Int) {
        self.directory = directory
        self.rounds = rounds
    }

    func measure() throws {
        try FlagCost.checkCounting()
        try measureEvaluations()
        try measureChanges()
    }

    private func measureEvaluations() throws {
        print("\nEvaluations on one core: processor time, median of \(rounds) rounds of \(Self.evaluations).\n")
        print("| evaluation | ns | million/s | goal | met | allocations each | asserted |")
        print("|---|---:|---:|---:|---|---:|---|")
        for path in try paths() {
            let cost = try FlagCost(path, rounds: rounds, evaluations: Self.evaluations)
            let goal = path.goalNanoseconds.map { "≤ \(Int($0)) ns" } ?? "–"
            let isMet = path.goalNanoseconds.map { cost.nanoseconds <= $0 ? "yes" : "no" } ?? "–"
            let allocations = cost.allocations.map { Self.decimal(Double($0) / Double(cost.evaluations), 2) }
            let cells = [
                path.name, Self.decimal(cost.nanoseconds, 1), Self.decimal(1000 / cost.nanoseconds, 2), goal, isMet,
                allocations ?? "not counted", path.mustNotAllocate && allocations != nil ? "0" : "–",
            ]
            print("| \(cells.joined(separator: " | ")) |")
        }
    }

    private func paths() throws -> [FlagPath] {
        let file = directory.appendingPathComponent("evaluated.flagd.json")
        try Data(FlagCases.file(number: 0).utf8).write(to: file)
        let provider = try FlagProvider(
            sources: [FlagSource(path: file.path)],
            killSwitch: KillSwitchTriggers(
                flagKey: "kill",
                sentinelPath: directory.appendingPathComponent("no-sentinel").path
            ),
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        )
        let context = FlagCases.context
        func flag(_ name: String, within goal: Double? = nil, _ evaluate: @escaping () -> Bool) -> FlagPath {
            FlagPath(name: name, goalNanoseconds: goal, mustNotAllocate: true) { _ in evaluate() }
        }
        let isInPart = provider.boolean("fractional", default: false, context: context).value
        return [
            try mixedRules(),
            targetedFlags(provider, context),
            flag("static flag, boolean", within: 300) {
                provider.boolean("static", default: false, context: context).value
            },
            flag("static flag, text", within: 300) {
                provider.string("text", default: "", context: context).variant == "a"
            },
            flag("disabled flag", within: 300) { provider.boolean("disabled", default: true, context: context).value },
            flag("fractional flag", within: 1500) {
                provider.boolean("fractional", default: !isInPart, context: context).value == isInPart
            },
            flag("kill signal: flag and sentinel, none pulled") {
                provider.killSignal(context: context) == nil
            },
        ]
    }

    private func mixedRules() throws -> FlagPath {
        let data = FlagCases.data
        let rules = try FlagCases.rules.map { ruleCase in
            let rule = try JsonLogicRule(json: Data(ruleCase.json.utf8))
            let value = try rule.evaluate(data)
            guard value == ruleCase.expected else { throw BenchError("\(ruleCase.json) gave \(value)") }
            return rule
        }
        // Comparing each answer would be measured too; they were compared above.
        return FlagPath(name: "JsonLogic, \(rules.count) rules in turn", goalNanoseconds: 500, mustNotAllocate: false) {
            try withExtendedLifetime(rules[$0 % rules.count].evaluate(data)) { true }
        }
    }

    private func targetedFlags(_ provider: FlagProvider, _ context: EvaluationContext) -> FlagPath {
        let keys = FlagCases.targetedKeys
        let name = "flags with targeting, \(keys.count) kinds in turn"
        return FlagPath(name: name, goalNanoseconds: nil, mustNotAllocate: false) {
            provider.boolean(keys[$0 % keys.count], default: false, context: context).value
        }
    }

    private func measureChanges() throws {
        let threads = EvaluationLoad.threadCount
        print("\nFrom a change to the first evaluation that sees it: \(Self.changes) changes each, every core busy:")
        print("one thread evaluates to see the change, and \(threads) more without pause.\n")
        print("| change | p50, ms | p99, ms | longest, ms | p99 goal | met |")
        print("|---|---:|---:|---:|---:|---|")
        for (index, change) in FlagFileChange.allCases.enumerated() {
            let folder = directory.appendingPathComponent("changes-\(index)")
            let times = try ChangeLatency(change, folder).measure(changes: Self.changes).sorted()
            let (median, late) = (times[times.count / 2], times[times.count * 99 / 100])
            let cells = [
                change.rawValue, Self.decimal(median, 3), Self.decimal(late, 3),
                Self.decimal(times[times.count - 1], 3),
                "≤ \(Int(Self.goalMilliseconds))", late <= Self.goalMilliseconds ? "yes" : "no",
            ]
            print("| \(cells.joined(separator: " | ")) |")
        }
    }

    private static func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
