import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// What a child has told before it died: one line each, written at once.
struct Report {
    /// A line of a child.
    enum Line: String {
        case begun = "b"
        case acknowledged = "a"
        case failed = "f"
        case unknown = "u"
        case stage = "s"
        case notMoved = "n"
        case violation = "v"
        /// Something that is counted.
        case done = "d"
        /// A kill has landed: when it was begun, and on which engine.
        case landed = "k"
        /// A re-arm began or ended: when, and which.
        case rearming = "r"
        /// Stores that were compared differ.
        case mismatch = "m"

        /// Tells the parent, in one piece.
        func tell(_ text: String) {
            let line = Array("\(rawValue) \(text)\n".utf8)
            // A parent that is gone has nothing to be told.
            _ = line.withUnsafeBytes { Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        }
    }

    /// The evidence is about to be begun anew, and was.
    static let (resetBegun, resetEnded) = ("began to begin the evidence anew", "evidence begun anew")

    private(set) var begun: Set<Int> = []
    private(set) var acknowledged: Set<Int> = []
    /// What the child was told has not happened.
    private(set) var failed: Set<Int> = []
    /// The stage that the child came to last.
    private(set) var stage: Stage?
    private(set) var moves = 0
    private(set) var violations: [String] = []
    /// Why a write or a move did not come about, by how often.
    private(set) var refusals: [String: Int] = [:]
    /// What was done, by how often.
    private(set) var done: [String: Int] = [:]
    /// What comparisons found to differ.
    private(set) var mismatches: [String] = []
    /// The kills that landed, by when they were begun.
    private(set) var landings: [UInt64: EngineName] = [:]
    /// When re-arms began, and when they ended; nil for those that nobody heard of again.
    private(set) var rearms: [(begun: UInt64, ended: UInt64?)] = []

    /// Whether a reset of the evidence came to no good end.
    var hasUnfinishedReset: Bool { done[Self.resetBegun, default: 0] > done[Self.resetEnded, default: 0] }

    /// What may have happened or not: the write that was in flight, and those whose outcome the child was not told.
    var open: Set<Int> { begun.subtracting(acknowledged).subtracting(failed) }

    /// Takes in a child's life, which must not have ended by the child's own decision.
    mutating func take(_ child: ChildRun) {
        take(child.output)
        if !child.isSignalled { violations.append("the child ended by itself with the status \(child.status)") }
    }

    /// Something about the child that must not be.
    mutating func note(violation: String) { violations.append(violation) }

    /// Takes in what a child has told.
    mutating func take(_ bytes: Data) {
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
            let parts = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2).map(String.init)
            guard let kind = parts.first.flatMap(Line.init), parts.count > 1 else {
                violations.append("the child wrote a line that is none: \(parts)")
                continue
            }
            take(kind, parts[1], parts.dropFirst(2).first ?? "")
        }
    }

    /// Takes in a line, by its first word and the others.
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

    /// An error in one line, without the paths that messages of other errors end in: a table counts equal texts.
    static func text(_ error: any Error) -> String {
        guard let error = error as? HabitStoreError else { return "\(error)" }
        return "\(error.code): \(error.message.prefix(90))".replacingOccurrences(of: "\n", with: " ")
    }
}
