/// The algorithm of `fractional`. Each generation puts every user into another bucket, so changing it moves users between variants: it is chosen
/// by name, and never changes automatically.
public enum FractionalGeneration: String, Sendable, CaseIterable {
    /// flagd before core 0.15.0: `abs(int32(hash)) / (2^31 - 1) × 100`, its whole part against cumulative percentages.
    case v1
    /// flagd core 0.15.0 and later, and the default here: `(hash × total weight) >> 32` over the text's UTF-8 bytes.
    case v2
    /// flagd's decision of 2025-12: as v2, over the value's deterministic CBOR encoding (RFC 8949, 4.2.1), so that
    /// numbers and booleans can be bucketed by; without a bucketing value it is the array of flag key and targeting key.
    case v3
}
