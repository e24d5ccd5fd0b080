/// Lines of evidence that this process has written and not reported to the stores yet. If the process dies first, they never count, since their
/// writer cannot be verified.
struct UnanchoredEvidence {
    /// The most stretches that are kept; beyond that, the oldest never count.
    private static let maximumStretches = 64

    private(set) var stretches: [EvidenceStretch] = []
    /// The time of the last report to the stores.
    var lastTold: ContinuousClock.Instant?

    mutating func add(_ stretch: EvidenceStretch) {
        if let joined = stretches.last?.joined(with: stretch) {
            stretches[stretches.count - 1] = joined
        } else {
            stretches = (stretches + [stretch]).suffix(Self.maximumStretches)
        }
    }

    /// Removes lines that the stores know of, or that are no longer in the log.
    mutating func remove(_ told: [EvidenceStretch]) { stretches.removeAll(where: told.contains) }
}
