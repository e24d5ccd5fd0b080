import ArgumentParser
import Foundation

/// The counts of a sweep over scenarios.
protocol ScenarioFigures {
    var kills: Int { get }
    var violations: Int { get }

    /// The table without its last lines.
    func lines(seconds: Double, isVerbose: Bool) -> [String]

    /// The number of deaths at each place.
    var places: [String: Int] { get }
}

extension ScenarioFigures {
    /// Prints the table.
    ///
    /// - Parameter points: the crash points at which a process should have died.
    /// - Throws: `ExitCode.failure` after a violation.
    func conclude(since start: Date, isVerbose: Bool, expects points: [String]) throws {
        print("kills by place:")
        for line in Self.table(places) + lines(seconds: Date().timeIntervalSince(start), isVerbose: isVerbose) {
            print(line)
        }
        let missed = points.filter { places[$0] == nil }
        if !missed.isEmpty { print("no process died at: \(missed.joined(separator: ", "))") }
        print("\(violations) violations")
        if violations > 0 { throw ExitCode.failure }
    }

    static func table(_ counts: [String: Int]) -> [String] {
        counts.sorted { $0.key < $1.key }.map { number($0.value) + "  " + $0.key }
    }

    static func number(_ number: Int) -> String {
        let text = "\(number)"
        return String(repeating: " ", count: max(0, 9 - text.count)) + text
    }
}
