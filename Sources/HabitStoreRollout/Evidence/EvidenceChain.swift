import Foundation

/// The records of an evidence log, and whether they are all there as they were written.
public struct EvidenceChain: Sendable, Hashable {
    /// A line that is not as it was written.
    public struct Damage: Sendable, Hashable, Codable {
        /// The line, from 1.
        public let line: Int
        /// What is wrong with it.
        public let reason: String
    }

    /// The records whose own hash is right, in the order of the file. Behind a damage they say what was recorded, but not
    /// that it is everything.
    public private(set) var records: [EvidenceRecord] = []
    /// The first damage; nil when the chain is intact.
    public var damage: Damage? { walk.damage }
    /// How many bytes at the end are what a crash left of a write that nobody was told of: no damage.
    public private(set) var tornBytes = 0
    private(set) var walk = EvidenceWalk()

    /// Whether every line follows the one before it, from the first on.
    public var isIntact: Bool { damage == nil }

    /// The last record's place; ``EvidenceHead/start`` for an empty log.
    public var head: EvidenceHead { records.last?.head ?? .start }

    /// A chain without records.
    public init() {}

    /// Checks the bytes of a log.
    init(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                guard let length = EvidenceLine.length(rest) else {
                    if EvidenceLine.isTorn(rest) { tornBytes = rest.count } else { walk.takeUnfinished() }
                    return
                }
                if let record = walk.take(UnsafeRawBufferPointer(rebasing: rest[..<length])) { records.append(record) }
                start += length
            }
        }
    }

    /// Whether the log has come by this place, as far as it can be believed. It has not when it was cut off before it.
    public func contains(_ head: EvidenceHead) -> Bool {
        head == .start || records.reversed().contains { $0.sequence == head.sequence && $0.hash == head.hash }
    }
}
