/// How reads are compared with the other store.
public struct ShadowReadOptions: Sendable {
    /// Of so many read transactions one is compared.
    public var oneIn = 1
    /// How many read transactions wait to be compared at most; others are shed.
    public var queueLimit = 256
    /// How long the other store is given to come to the read's token, in seconds.
    public var tokenWaitSeconds = 0.05
    /// How many comparisons are noted in one record of the evidence.
    public var recordEvery = 100

    /// Options with the defaults.
    public init() {}
}
