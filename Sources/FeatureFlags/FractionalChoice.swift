/// How `fractional` chose.
public struct FractionalChoice: Sendable, Equatable {
    /// The algorithm.
    public let generation: FractionalGeneration
    /// The bytes that were hashed. They are made of values of the context.
    public let bucketingBytes: [UInt8]
    /// Their MurmurHash3_x86_32 with seed 0.
    public let hash: UInt32
    /// Where the hash lies: in `0..<totalWeight` for v2 and v3, in `0...100` for v1.
    public let bucket: UInt64
    /// The sum of all weights.
    public let totalWeight: UInt64
    /// The entries in the order of the rule.
    public let entries: [Entry]
    /// The index of the chosen entry; nil where none was hit, which only v1 knows.
    public let chosen: Int?

    /// An entry of the rule.
    public struct Entry: Sendable, Equatable {
        /// The variant, or another value that the rule gives.
        public let variant: FlagValue
        /// Its weight.
        public let weight: UInt64
    }
}
