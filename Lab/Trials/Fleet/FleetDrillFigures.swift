import Foundation

/// What a drill has measured, each beside its goal.
struct FleetDrillFigures {
    private(set) var lines: [String] = []
    /// How many goals were missed.
    private(set) var missed = 0

    /// Notes a figure, and prints it at once.
    ///
    /// - Parameter goal: the most that it may be; nil for what has none.
    mutating func note(_ what: String, _ value: Double, _ unit: String, goal: Double? = nil) {
        var line = "\(what): \(Self.text(value)) \(unit)"
        if let goal {
            let isMet = value <= goal
            line += " (goal \(Self.text(goal)) \(unit)\(isMet ? "" : ", MISSED"))"
            if !isMet { missed += 1 }
        }
        note(line)
    }

    /// Notes something that was found as it should be.
    mutating func note(_ line: String) {
        lines.append(line)
        print(line)
        fflush(nil)
    }

    private static func text(_ value: Double) -> String {
        value >= 100 ? "\(Int(value.rounded()))" : "\((value * 100).rounded() / 100)"
    }

    /// How long something takes, in seconds.
    static func seconds<R>(_ body: () throws -> R) rethrows -> (seconds: Double, result: R) {
        let start = ContinuousClock.now
        let result = try body()
        return ((ContinuousClock.now - start) / .seconds(1), result)
    }
}
