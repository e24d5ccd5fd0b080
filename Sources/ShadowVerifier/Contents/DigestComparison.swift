import Foundation
@_spi(Engines) import HabitStore

/// Narrows two stores' differences down by their kept digests.
enum DigestComparison {
    /// The ranges of identifiers in which the digests differ, ascending.
    ///
    /// The leaves of the two need not be the same, but one always lies within the other: the smaller ones are added up
    /// until they fill the larger one.
    static func differingRanges(_ a: [DigestLeaf], _ b: [DigestLeaf]) -> [IdentifierRange] {
        var ranges: [IdentifierRange] = []
        var (left, right) = (a[...], b[...])
        while let first = left.first, let second = right.first {
            if first.depth <= second.depth {
                left.removeFirst()
                if take(&right, within: first) != first.digest { ranges.append(first.range) }
            } else {
                right.removeFirst()
                if take(&left, within: second) != second.digest { ranges.append(second.range) }
            }
        }
        return ranges
    }

    private static func take(_ leaves: inout ArraySlice<DigestLeaf>, within leaf: DigestLeaf) -> RecordDigest {
        let last = leaf.range.last
        var sum = RecordDigest()
        while let next = leaves.first, !last.isBefore(next.first) {
            sum += next.digest
            leaves.removeFirst()
        }
        return sum
    }
}
