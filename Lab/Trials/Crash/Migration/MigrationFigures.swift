import HabitStore

/// The counts of a sweep over migrations.
struct MigrationFigures {
    private(set) var kills = 0
    private var finished = 0
    private var found: [Schema.Version: Int] = [:]
    private(set) var violations = 0

    /// Counts the end of a process.
    ///
    /// - Parameter wasKilled: false if it had ended before.
    mutating func died(_ wasKilled: Bool) { if wasKilled { kills += 1 } else { finished += 1 } }

    /// Counts the version of a store found afterwards.
    mutating func found(_ version: Schema.Version) { found[version, default: 0] += 1 }

    mutating func violation(_ text: String) {
        print("VIOLATION kill \(kills): \(text)")
        violations += 1
    }

    var lines: [String] {
        let versions = found.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }.joined(separator: ", ")
        return [
            "\(kills) kills, \(finished) processes finished before they were killed",
            "versions of the stores afterwards: \(versions)",
            "\(violations) violations",
        ]
    }
}
