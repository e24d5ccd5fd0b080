/// How reads are sampled and compared.
///
/// The sample consists of questions: a fetch, a count, or the record of an identifier. Questions that differ only in their literals have one *shape*,
/// and of every `oneIn` consecutive questions of a shape exactly one is compared. Which one follows from ``seed``, the user's id, the shape, and the
/// question's number within its shape: the same reads give the same sample, and a rare question gets its share next to a frequent one.
public struct ShadowReadOptions: Sendable {
    /// One of this many questions of a shape is compared; 0 compares none.
    public var oneIn = 1
    /// The seed of the sample. Each process draws its own unless it is set: with a common one, short-lived processes would compare the same few
    /// questions over and over.
    public var seed = UInt64.random(in: .min ... .max)
    /// The most questions that wait to be compared; more are shed.
    public var queueLimit = 1_024
    /// How long to wait for the other store to reach the read's token, in seconds.
    public var tokenWaitSeconds = 0.05
    /// How long one comparison may take, in seconds.
    public var comparisonSeconds = 5.0
    /// How many comparisons to sum up in one record of the evidence.
    public var recordEvery = 100

    /// Options with the defaults.
    public init() {}
}
