/// `{"fractional": [bucketBy?, [variant, weight?], …]}`: a pseudo-random and stable choice by weight.
///
/// The algorithm is one of ``FractionalGeneration``. All hash with MurmurHash3_x86_32 and seed 0. In v2, the default, the bucket is
/// `(hash × total weight) >> 32`, and the first entry whose cumulative weight is greater than the bucket is chosen. Without a bucketing text, or
/// if it is null, the text is the flag's key directly followed by the targeting key. Changing this formula moves users between variants.
///
/// Bad input gives null, so that the default variant is served: no targeting key or an empty one, a bucketing value that is not a text (except in
/// v3, which accepts any value), an entry that is not a list or is empty, a variant that is a list or an object, a weight that is not a
/// number, not whole or greater than 2^31 - 1, a sum of weights greater than that, and weights that are all 0. A negative weight is 0.
struct FractionalOperator: RuleOperator {
    static let names = ["fractional"]

    private let arguments: [Rule]
    private let generation: FractionalGeneration
    /// The distribution of all arguments, and of all but the first, where no context is needed for them.
    private let fixed: FractionalDistribution.Fixed
    private let fixedBehindFirst: FractionalDistribution.Fixed

    init(_ call: RuleCall) {
        arguments = call.arguments
        generation = call.fractional
        fixed = FractionalDistribution.Fixed(arguments[...])
        fixedBehindFirst = FractionalDistribution.Fixed(arguments.dropFirst())
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
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
