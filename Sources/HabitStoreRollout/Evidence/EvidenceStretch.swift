/// Consecutive lines that one process wrote in one append or several.
struct EvidenceStretch: Sendable, Hashable {
    /// The head that the first line follows.
    let before: EvidenceHead
    let last: EvidenceHead

    /// The number of the first line.
    var first: Int { before.sequence.addingSaturated(1) }

    /// Joined with another stretch, if that follows this one.
    func joined(with next: Self) -> Self? { next.before == last ? Self(before: before, last: next.last) : nil }
}
