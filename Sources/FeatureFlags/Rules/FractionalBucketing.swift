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
