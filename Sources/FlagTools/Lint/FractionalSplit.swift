import FeatureFlags

/// What a `fractional` hands out, as far as it stands in the file.
struct FractionalSplit {
    struct Entry {
        /// The variant's name; nil where it is computed.
        let variant: String?
        /// The weight; nil where it is computed.
        let weight: UInt64?
        let range: Range<Int>
        /// The variant as it stands in the file.
        let node: JSONNode
        /// Where the weight stands, if it does.
        let weightRange: Range<Int>?
    }

    /// The operator's name, to point to.
    let range: Range<Int>
    let entries: [Entry]
    /// What users are bucketed by, in the form of ``RuleReader/bucketing(_:)``.
    let bucketing: FlagValue

    /// The sum of the weights; nil where one is computed.
    var totalWeight: UInt64? {
        entries.reduce(UInt64(0) as UInt64?) { sum, entry in
            guard let sum, let weight = entry.weight else { return nil }
            return sum + weight
        }
    }
}
