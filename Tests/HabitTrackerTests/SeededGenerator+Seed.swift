import HabitStoreTesting

extension SeededGenerator {
    /// A new seed, printed under the test's name, or the one given in HABITTRACKING_SEED.
    static func printedSeed(_ test: String, environment: [String: String]) -> UInt64 {
        let seed = environment["HABITTRACKING_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
        print("\(test): HABITTRACKING_SEED=\(seed)")
        return seed
    }
}
