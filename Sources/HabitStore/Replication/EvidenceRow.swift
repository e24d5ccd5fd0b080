/// A line of a rollout's evidence, as a store keeps it that several machines reach.
@_spi(Engines) public struct EvidenceRow: Sendable, Hashable {
    /// The line's number; each is there once.
    public let number: Int64
    /// The line, newline included.
    public let line: [UInt8]

    /// Names a line.
    public init(number: Int64, line: [UInt8]) { (self.number, self.line) = (number, line) }
}

extension HabitStoreError {
    /// The error of engines that keep no evidence; then one machine has it, in a file.
    static var keepsNoEvidence: HabitStoreError {
        HabitStoreError(.unsupported, "the engine's stores are one machine's, and keep no evidence of a rollout")
    }
}
