/// A small random generator (SplitMix64) whose seed reproduces a run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// A new seed, printed under the test's name, or the one given in HABITTRACKING_SEED.
    static func printedSeed(_ test: String, environment: [String: String]) -> UInt64 {
        let seed = environment["HABITTRACKING_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
        print("\(test): HABITTRACKING_SEED=\(seed)")
        return seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
