import Foundation

/// The measurements of a drill, with their goals.
struct FleetDrillFigures {
    private(set) var lines: [String] = []
    /// The number of missed goals.
    private(set) var missed = 0

    /// Adds a measurement and prints it immediately.
    ///
    /// - Parameter goal: its maximum; nil without a goal.
    mutating func note(_ what: String, _ value: Double, _ unit: String, goal: Double? = nil) {
        var line = "\(what): \(Self.text(value)) \(unit)"
        if let goal {
            let isMet = value <= goal
            line += " (goal \(Self.text(goal)) \(unit)\(isMet ? "" : ", MISSED"))"
            if !isMet { missed += 1 }
        }
        note(line)
    }

    /// Adds a line about a check that passed.
    mutating func note(_ line: String) {
        lines.append(line)
        print(line)
        fflush(nil)
    }

    private static func text(_ value: Double) -> String {
        value >= 100 ? "\(Int(value.rounded()))" : "\((value * 100).rounded() / 100)"
    }

    /// The duration of `body` in seconds.
    static func seconds<R>(_ body: () throws -> R) rethrows -> (seconds: Double, result: R) {
        let start = ContinuousClock.now
        let result = try body()
        return ((ContinuousClock.now - start) / .seconds(1), result)
    }
}
