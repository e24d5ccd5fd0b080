import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

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

    private(set) var begun: Set<Int> = []
    private(set) var acknowledged: Set<Int> = []
    /// Writes that the store reported as failed.
    private(set) var failed: Set<Int> = []
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

    /// Writes whose outcome is open: the one in progress, and those that the store reported as unknown.
    var open: Set<Int> { begun.subtracting(acknowledged).subtracting(failed) }

    /// Adds the report of a child, which must not have exited on its own.
    mutating func take(_ child: ChildRun) {
        take(child.output)
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
        case .begun: begun.insert(number)
        case .acknowledged: acknowledged.insert(number)
        case .failed:
            failed.insert(number)
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
