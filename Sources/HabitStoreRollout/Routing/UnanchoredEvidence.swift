/// Lines of evidence that this process has written and the stores were not told of yet. When the process dies before it tells
/// them, these lines count for nothing: nobody can know who wrote them.
struct UnanchoredEvidence {
    /// How many there are at most; of more, the oldest count for nothing.
    private static let maximumStretches = 64

    private(set) var stretches: [EvidenceStretch] = []
    /// When the stores were told last.
    var lastTold: ContinuousClock.Instant?

    mutating func add(_ stretch: EvidenceStretch) {
        if let joined = stretches.last?.joined(with: stretch) {
            stretches[stretches.count - 1] = joined
        } else {
            stretches = (stretches + [stretch]).suffix(Self.maximumStretches)
        }
    }

    /// The stores know of these, or they are in the log no more.
    mutating func remove(_ told: [EvidenceStretch]) { stretches.removeAll(where: told.contains) }
}
