import FeatureFlags

/// The constant parts of a `fractional`.
struct FractionalSplit {
    struct Entry {
        /// The variant's name; nil if it is computed.
        let variant: String?
        /// The weight; nil if it is computed.
        let weight: UInt64?
        let range: Range<Int>
        /// The variant in the file.
        let node: JSONNode
        /// The position of the weight, if there is one.
        let weightRange: Range<Int>?
    }

    /// The position of the operator's name.
    let range: Range<Int>
    let entries: [Entry]
    /// What users are bucketed by, in the form of ``RuleReader/bucketing(_:)``.
    let bucketing: FlagValue

    /// The sum of the weights; nil if one is computed.
    var totalWeight: UInt64? {
        entries.reduce(UInt64(0) as UInt64?) { sum, entry in
            guard let sum, let weight = entry.weight else { return nil }
            return sum + weight
        }
    }
}
