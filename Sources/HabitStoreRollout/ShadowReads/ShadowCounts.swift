/// The outcomes of comparisons since they were last recorded.
struct ShadowCounts: Sendable, Equatable {
    private var counts = [Int](repeating: 0, count: ShadowVerdict.allCases.count)

    /// The number of comparisons with an outcome.
    subscript(_ verdict: ShadowVerdict) -> Int {
        get { counts[verdict.position] }
        set { counts[verdict.position] = newValue }
    }

    var total: Int { counts.reduce(0, +) }
}

extension ShadowVerdict {
    /// The index of the verdict.
    var position: Int {
        switch self {
        case .match: 0
        case .mismatch: 1
        case .rerun: 2
        case .skewed: 3
        case .error: 4
        case .timedOut: 5
        case .shed: 6
        }
    }
}
