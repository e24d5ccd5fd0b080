import ArgumentParser

/// Validates habits beyond what any store refuses.
enum HabitRules {
    static func check(name: String?, times: Int?, period: Int?, target: Double?) throws {
        if let name, name.allSatisfy(\.isWhitespace) { throw ValidationError("a habit needs a name") }
        if let times, times < 1 { throw ValidationError("--times must be 1 or more") }
        if let period, period < 1 { throw ValidationError("--period must be 1 or more") }
        if let target, !target.isFinite { throw ValidationError("--target must be a finite number") }
    }
}
