/// `{"fractional": [bucketBy?, [variant, weight?], …]}`: a pseudo-random and stable choice by weight.
///
/// The algorithm is one of ``FractionalGeneration``. All hash with MurmurHash3_x86_32 and seed 0. In v2, the default, the bucket is
/// `(hash × total weight) >> 32`, and the first entry whose cumulative weight is greater than the bucket is chosen. Without a bucketing text, or
/// if it is null, the text is the flag's key directly followed by the targeting key. Changing this formula moves users between variants.
///
/// Bad input gives null, so that the default variant is served: no targeting key or an empty one, a bucketing value that is not a text (except in
/// v3, which accepts any value), an entry that is not a list or is empty, a variant that is a list or an object, a weight that is not a
/// number, not whole or greater than 2^31 - 1, a sum of weights greater than that, and weights that are all 0. A negative weight is 0.
struct FractionalOperator {
    private let arguments: [Rule]
    private let generation: FractionalGeneration
    /// The distribution of all arguments, and of all but the first, where no context is needed for them.
    private let fixed: FractionalDistribution.Fixed
    private let fixedBehindFirst: FractionalDistribution.Fixed

    static func prepared(_ call: RuleCall) -> RuleOperator.Body {
        let fractional = FractionalOperator(call)
        return { (_, evaluation) throws(EvaluationFault) in try fractional.evaluate(&evaluation) }
    }

    private init(_ call: RuleCall) {
        arguments = call.arguments
        generation = call.fractional
        fixed = FractionalDistribution.Fixed(arguments[...])
        fixedBehindFirst = FractionalDistribution.Fixed(arguments.dropFirst())
    }

    private func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let first = try arguments.value(at: 0, &evaluation)
        var bucketing = FractionalBucketing(generation)
        let isEntry: Bool
        switch first {
        case .list:
            isEntry = true
        case .null:
            isEntry = false
        case .string(let text):
            isEntry = false
            bucketing.text = text
        case .bool, .int, .double, .object:
            // Before v3 only a text can be bucketed by: this is an entry then, and a bad one.
            guard generation == .v3 else { return .null }
            isEntry = false
            bucketing.value = first
        }
        guard let distribution = try distribution(first, isEntry, &evaluation),
            let hash = try bucketing.hash(&evaluation)
        else { return .null }
        let (bucket, chosen) = distribution.choose(hash, generation)
        if let trace = evaluation.trace {
            trace.add(
                FractionalChoice(
                    generation: generation,
                    bucketingBytes: bucketing.bytes(evaluation),
                    hash: hash,
                    bucket: bucket,
                    totalWeight: distribution.totalWeight,
                    entries: distribution.entries.map { .init(variant: $0.variant, weight: $0.weight) },
                    chosen: chosen
                )
            )
        }
        return chosen.map { distribution.entries[$0].variant } ?? .null
    }

    private func distribution(
        _ first: FlagValue,
        _ isEntry: Bool,
        _ evaluation: inout Evaluation
    ) throws(EvaluationFault) -> FractionalDistribution? {
        if case .some(let known) = (isEntry ? fixed : fixedBehindFirst).distribution { return known }
        var entries: [FlagValue] = isEntry ? [first] : []
        for argument in arguments.dropFirst() { entries.append(try argument.evaluate(&evaluation)) }
        try evaluation.spend(entries.count)
        return FractionalDistribution(entries)
    }
}

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
            return (bucket, entries.indices.firstSortedIndex { entries[$0].cumulativeWeight > bucket })
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
    package func firstSortedIndex(where isBehind: (Int) -> Bool) -> Int? {
        var lower = lowerBound
        var upper = upperBound
        while lower < upper {
            let middle = (lower + upper) / 2
            if isBehind(middle) { upper = middle } else { lower = middle + 1 }
        }
        return lower == upperBound ? nil : lower
    }
}

/// The value that a `fractional` hashes: a text, another value in v3, or else the flag's key and the targeting key.
struct FractionalBucketing {
    private let generation: FractionalGeneration
    var text: String?
    var value: FlagValue?

    init(_ generation: FractionalGeneration) { self.generation = generation }

    /// nil where there is nothing to bucket by.
    func hash(_ evaluation: inout Evaluation) throws(EvaluationFault) -> UInt32? {
        var hash = MurmurHash3()
        if generation == .v3 {
            guard let value = cborValue(evaluation) else { return nil }
            try evaluation.spend(onKeeping: value)
            hash.combine(DeterministicCBOR.encode(value))
        } else if let text {
            try evaluation.spend(text.utf8.count / 64)
            hash.combine(text)
        } else {
            guard let (flagKey, targetingKey) = evaluation.bucketingKeys() else { return nil }
            try evaluation.spend(targetingKey.utf8.count / 64)
            hash.combine(flagKey)
            hash.combine(targetingKey)
        }
        return hash.finalized()
    }

    /// The bytes that are hashed, for an explanation.
    func bytes(_ evaluation: borrowing Evaluation) -> [UInt8] {
        if generation == .v3 { return cborValue(evaluation).map { DeterministicCBOR.encode($0) } ?? [] }
        if let text { return Array(text.utf8) }
        guard let (flagKey, targetingKey) = evaluation.bucketingKeys() else { return [] }
        return Array((flagKey + targetingKey).utf8)
    }

    private func cborValue(_ evaluation: borrowing Evaluation) -> FlagValue? {
        if let text { return .string(text) }
        if let value { return value }
        guard let (flagKey, targetingKey) = evaluation.bucketingKeys() else { return nil }
        return .list([.string(flagKey), .string(targetingKey)])
    }
}

/// MurmurHash3_x86_32 by Austin Appleby (public domain), fed byte by byte so that two texts can be hashed as one
/// without being joined.
struct MurmurHash3: Sendable {
    private var state: UInt32
    private var block: UInt32 = 0
    private var blockBytes: UInt32 = 0
    private var length: UInt32 = 0

    init(seed: UInt32 = 0) { state = seed }

    mutating func combine(_ text: String) {
        var text = text
        text.withUTF8 { combine($0) }
    }

    mutating func combine(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { combine($0) } }

    private mutating func combine(_ bytes: UnsafeBufferPointer<UInt8>) {
        for byte in bytes {
            block |= UInt32(byte) << (8 * blockBytes)
            blockBytes += 1
            length &+= 1
            guard blockBytes == 4 else { continue }
            state ^= Self.mixed(block)
            state = Self.rotated(state, by: 13) &* 5 &+ 0xe654_6b64
            block = 0
            blockBytes = 0
        }
    }

    func finalized() -> UInt32 {
        var hash = state
        if blockBytes > 0 { hash ^= Self.mixed(block) }
        hash ^= length
        hash ^= hash >> 16
        hash &*= 0x85eb_ca6b
        hash ^= hash >> 13
        hash &*= 0xc2b2_ae35
        hash ^= hash >> 16
        return hash
    }

    private static func mixed(_ block: UInt32) -> UInt32 {
        rotated(block &* 0xcc9e_2d51, by: 15) &* 0x1b87_3593
    }

    private static func rotated(_ value: UInt32, by bits: UInt32) -> UInt32 {
        (value << bits) | (value >> (32 - bits))
    }
}

/// CBOR (RFC 8949) in its core deterministic encoding (section 4.2.1): shortest forms, definite lengths, and maps
/// sorted by the bytes of their encoded keys. Numbers without a fraction within -2^63 ... 2^64 - 1 are integers.
enum DeterministicCBOR {
    static func encode(_ value: FlagValue) -> [UInt8] {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return bytes
    }

    private enum MajorType: UInt8 {
        case unsigned = 0
        case negative = 1
        case text = 3
        case array = 4
        case map = 5
    }

    private static func append(_ value: FlagValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(0xF6)
        case .bool(let value): bytes.append(value ? 0xF5 : 0xF4)
        case .int(let value): append(value, to: &bytes)
        case .double(let value): append(value, to: &bytes)
        case .string(let text):
            appendHead(.text, UInt64(text.utf8.count), to: &bytes)
            bytes.append(contentsOf: text.utf8)
        case .list(let elements):
            appendHead(.array, UInt64(elements.count), to: &bytes)
            for element in elements { append(element, to: &bytes) }
        case .object(let members):
            appendHead(.map, UInt64(members.count), to: &bytes)
            let encoded = members.map { (key: encode(.string($0.key)), value: $0.value) }
            for member in encoded.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                bytes.append(contentsOf: member.key)
                append(member.value, to: &bytes)
            }
        }
    }

    private static func append(_ value: Int64, to bytes: inout [UInt8]) {
        if value >= 0 {
            appendHead(.unsigned, UInt64(value), to: &bytes)
        } else {
            appendHead(.negative, UInt64(bitPattern: ~value), to: &bytes)
        }
    }

    private static func append(_ value: Double, to bytes: inout [UInt8]) {
        if let integer = Int64(exactly: value) {
            append(integer, to: &bytes)
        } else if let integer = UInt64(exactly: value) {
            appendHead(.unsigned, integer, to: &bytes)
        } else if value.isNaN {
            bytes.append(contentsOf: [0xF9, 0x7E, 0x00])
        } else if let half = halfPrecision(Float(value)), Double(Float(value)) == value {
            bytes.append(0xF9)
            appendBigEndian(UInt64(half), count: 2, to: &bytes)
        } else if Double(Float(value)) == value {
            bytes.append(0xFA)
            appendBigEndian(UInt64(Float(value).bitPattern), count: 4, to: &bytes)
        } else {
            bytes.append(0xFB)
            appendBigEndian(value.bitPattern, count: 8, to: &bytes)
        }
    }

    /// The bits of the IEEE 754 half-precision number of the same value, or nil where there is none.
    private static func halfPrecision(_ value: Float) -> UInt16? {
        let sign = UInt16(value.bitPattern >> 16) & 0x8000
        if value.isInfinite { return sign | 0x7C00 }
        let exponent = Int(value.exponent)
        let significand = value.significandBitPattern
        switch exponent {
        case -14...15:
            guard significand & 0x1FFF == 0 else { return nil }
            return sign | UInt16(exponent + 15) << 10 | UInt16(significand >> 13)
        case -24 ..< -14:
            let shift = UInt32(13 + (-14 - exponent))
            let whole = significand | 0x80_0000
            guard whole & (1 << shift - 1) == 0 else { return nil }
            return sign | UInt16(whole >> shift)
        default:
            return nil
        }
    }

    private static func appendHead(_ type: MajorType, _ argument: UInt64, to bytes: inout [UInt8]) {
        let major = type.rawValue << 5
        switch argument {
        case 0..<24:
            bytes.append(major | UInt8(argument))
        case 24...0xFF:
            bytes.append(major | 24)
            appendBigEndian(argument, count: 1, to: &bytes)
        case 0x100...0xFFFF:
            bytes.append(major | 25)
            appendBigEndian(argument, count: 2, to: &bytes)
        case 0x1_0000...0xFFFF_FFFF:
            bytes.append(major | 26)
            appendBigEndian(argument, count: 4, to: &bytes)
        default:
            bytes.append(major | 27)
            appendBigEndian(argument, count: 8, to: &bytes)
        }
    }

    private static func appendBigEndian(_ value: UInt64, count: Int, to bytes: inout [UInt8]) {
        for position in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * position))) }
    }
}
