/// Lines that one append wrote, or several of one process that follow each other.
struct EvidenceStretch: Sendable, Hashable {
    /// What the first line follows.
    let before: EvidenceHead
    /// The last line.
    let last: EvidenceHead

    /// The number of the first line.
    var first: Int { before.sequence.addingSaturated(1) }

    /// With the lines of another stretch, if they follow.
    func joined(with next: Self) -> Self? { next.before == last ? Self(before: before, last: next.last) : nil }
}
