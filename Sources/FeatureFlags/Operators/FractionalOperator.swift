/// `{"fractional": [bucketBy?, [variant, weight?], …]}`: a pseudo-random and stable choice by weight.
///
/// This is flagd's second generation of the operator (core 0.15.0 to 0.16.1): `h` is MurmurHash3_x86_32 with seed 0
/// over the UTF-8 bytes of the bucketing text, the bucket is `(h × total weight) >> 32`, and the first entry whose
/// cumulative weight is greater than the bucket is chosen. Without a bucketing text, or where it is null, the text
/// is the flag's key followed at once by the targeting key. A change of this formula moves users between variants.
///
/// Bad input gives null, so that the default variant is served: no targeting key, a bucketing value that is no text,
/// an entry that is no list or is empty, a variant that is a list or an object, a weight that is no number, not whole
/// or greater than 2^31 - 1, a sum of weights greater than that, and weights that are all 0. A negative weight is 0.
struct FractionalOperator: RuleOperator {
    static let names = ["fractional"]

    private static let maximumWeight: Int64 = 0x7FFF_FFFF

    private let arguments: [Rule]
    /// What the arguments come to where no context is needed for them, as in `[["lmdb", 5], ["sqlite", 95]]`.
    private let fixed: Fixed?

    private struct Fixed {
        /// nil asks for the flag's key and the targeting key.
        let bucketBy: String?
        let distribution: Distribution?
    }

    private struct Distribution {
        var entries: [(variant: FlagValue, cumulativeWeight: UInt64)] = []
        var total: UInt64 = 0
    }

    private enum BucketBy {
        case text(String)
        case flagAndTargetingKey
    }

    init(_ arguments: [Rule]) {
        self.arguments = arguments
        guard case .literal(.list(let values)) = Rule.listing(arguments) else {
            fixed = nil
            return
        }
        let (bucketBy, entries) = Self.split(values)
        let distribution = Self.distribution(entries)
        switch bucketBy {
        case .text(let text): fixed = Fixed(bucketBy: text, distribution: distribution)
        case .flagAndTargetingKey: fixed = Fixed(bucketBy: nil, distribution: distribution)
        }
    }

    func evaluate(in scope: EvaluationScope) -> FlagValue {
        if let fixed {
            return Self.choose(fixed.distribution, fixed.bucketBy.map { .text($0) } ?? .flagAndTargetingKey, scope)
        }
        let (bucketBy, entries) = Self.split(arguments.map { $0.evaluate(in: scope) })
        return Self.choose(Self.distribution(entries), bucketBy, scope)
    }

    /// The first argument is the bucketing text if it is one. A null in its place is dropped; anything else is left
    /// to be refused as an entry.
    private static func split(_ values: [FlagValue]) -> (BucketBy, ArraySlice<FlagValue>) {
        switch values.first {
        case .string(let text): (.text(text), values.dropFirst())
        case .null: (.flagAndTargetingKey, values.dropFirst())
        default: (.flagAndTargetingKey, values[...])
        }
    }

    private static func distribution(_ entries: ArraySlice<FlagValue>) -> Distribution? {
        var distribution = Distribution()
        for entry in entries {
            guard case .list(let parts) = entry, let variant = parts.first else { return nil }
            switch variant {
            case .list, .object: return nil
            default: break
            }
            guard let weight = weight(parts.count > 1 ? parts[1] : .null) else { return nil }
            distribution.total += weight
            guard distribution.total <= UInt64(maximumWeight) else { return nil }
            distribution.entries.append((variant, distribution.total))
        }
        return distribution.total > 0 ? distribution : nil
    }

    /// A weight that is missing or null is 1.
    private static func weight(_ value: FlagValue) -> UInt64? {
        switch value {
        case .null:
            return 1
        case .int(let weight):
            return weight <= maximumWeight ? UInt64(max(0, weight)) : nil
        case .double(let weight):
            guard weight.rounded() == weight, weight <= Double(maximumWeight) else { return nil }
            return UInt64(max(0, weight))
        default:
            return nil
        }
    }

    private static func choose(
        _ distribution: Distribution?,
        _ bucketBy: BucketBy,
        _ scope: EvaluationScope
    ) -> FlagValue {
        guard let distribution else { return .null }
        var hash = MurmurHash3()
        switch bucketBy {
        case .text(let text):
            hash.combine(text.utf8)
        case .flagAndTargetingKey:
            guard case .string(let targetingKey) = scope.targetingKey else { return .null }
            hash.combine(scope.flagKey.utf8)
            hash.combine(targetingKey.utf8)
        }
        let bucket = (UInt64(hash.finalized()) * distribution.total) >> 32
        for entry in distribution.entries where bucket < entry.cumulativeWeight { return entry.variant }
        return .null
    }
}
