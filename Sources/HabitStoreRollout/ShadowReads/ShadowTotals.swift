import Synchronization

/// The outcomes of a user's shadow reads since the store was opened.
final class ShadowTotals: Sendable {
    private let counts = Mutex(ShadowCounts())

    func add(_ verdict: ShadowVerdict, _ count: Int) { counts.withLock { $0[verdict] += count } }

    var all: [ShadowVerdict: Int] {
        counts.withLock { counts in
            Dictionary(uniqueKeysWithValues: ShadowVerdict.allCases.map { ($0, counts[$0]) })
        }
    }
}
