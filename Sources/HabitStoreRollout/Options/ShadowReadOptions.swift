/// How reads are compared.
///
/// What is sampled is a question: a fetch, a count, or the record of an identifier. Questions that differ in nothing but
/// their literals have one *shape*, and of each `oneIn` questions of a shape, in their order, exactly one is compared. Which
/// one follows from ``seed``, the user's id, the shape, and the number of the question among those of its shape: the same
/// reads give the same sample, and a question that is seldom asked gets its share beside one that is asked all the time.
public struct ShadowReadOptions: Sendable {
    /// Of so many questions of a shape one is compared; 0 compares none.
    public var oneIn = 1
    /// What the sample follows from, beside the user and the questions. Each process draws its own unless it is set: with one
    /// for all, short-lived processes would compare the same few questions again and again.
    public var seed = UInt64.random(in: .min ... .max)
    /// How many questions wait to be compared at most; others are shed.
    public var queueLimit = 1_024
    /// How long the other store is given to come to the read's token, in seconds.
    public var tokenWaitSeconds = 0.05
    /// How long one comparison may take, in seconds.
    public var comparisonSeconds = 5.0
    /// How many comparisons are noted in one record of the evidence.
    public var recordEvery = 100

    /// Options with the defaults.
    public init() {}
}
