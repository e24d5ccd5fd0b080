/// The entries of a `fractional` with their weights.
struct FractionalDistribution: Sendable {
    struct Entry: Sendable {
        let variant: FlagValue
        let weight: UInt64
        /// The sum of the weights up to and with this one.
        let cumulativeWeight: UInt64
    }

    private(set) var entries: [Entry] = []

    var totalWeight: UInt64 { entries.last?.cumulativeWeight ?? 0 }

    private static let maximumWeight: Int64 = 0x7FFF_FFFF

    /// nil for entries, or weights, that `fractional` does not take.
    init?(_ values: [FlagValue]) {
        var total: UInt64 = 0
        for value in values {
            guard case .list(let parts) = value, let variant = parts.first else { return nil }
            switch variant {
            case .list, .object: return nil
            case .null, .bool, .int, .double, .string: break
            }
            guard let weight = Self.weight(parts.count > 1 ? parts[1] : .null) else { return nil }
            total += weight
            guard total <= UInt64(Self.maximumWeight) else { return nil }
            entries.append(Entry(variant: variant, weight: weight, cumulativeWeight: total))
        }
        guard total > 0 else { return nil }
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
        case .bool, .string, .list, .object:
            return nil
        }
    }

    /// The bucket of a hash, and the index of its entry. Only v1 can miss all entries, with the one hash whose
    /// magnitude is greater than 2^31 - 1, or where percentages do not add up in floating-point numbers.
    func choose(_ hash: UInt32, _ generation: FractionalGeneration) -> (bucket: UInt64, index: Int?) {
        guard generation == .v1 else {
            let bucket = (UInt64(hash) * totalWeight) >> 32
            return (bucket, entries.indices.partitioningIndex { entries[$0].cumulativeWeight > bucket })
        }
        let magnitude = Double(Int32(bitPattern: hash).magnitude)
        let bucket = (magnitude / Double(Int32.max) * 100).rounded(.towardZero)
        var percentage = 0.0
        for (index, entry) in entries.enumerated() {
            percentage += 100 * Double(entry.weight) / Double(totalWeight)
            if bucket < percentage { return (UInt64(bucket), index) }
        }
        return (UInt64(bucket), nil)
    }

    /// The distribution of arguments that are written in the file, computed once.
    struct Fixed: Sendable {
        /// nil where a context is needed; a nil in it where the arguments are not what `fractional` takes.
        let distribution: FractionalDistribution??

        init(_ arguments: ArraySlice<Rule>) {
            if case .literal(.list(let values)) = Rule.listing(Array(arguments)) {
                distribution = .some(FractionalDistribution(values))
            } else {
                distribution = nil
            }
        }
    }
}

extension Range<Int> {
    /// The first index for which the condition holds, which then holds for all that follow; nil where it holds for none.
    fileprivate func partitioningIndex(where isBehind: (Int) -> Bool) -> Int? {
        var lower = lowerBound
        var upper = upperBound
        while lower < upper {
            let middle = (lower + upper) / 2
            if isBehind(middle) { upper = middle } else { lower = middle + 1 }
        }
        return lower == upperBound ? nil : lower
    }
}
