import Foundation

/// The records of an evidence log, and whether they are complete and unchanged.
public struct EvidenceChain: Sendable, Hashable {
    /// A changed or damaged line.
    public struct Damage: Sendable, Hashable, Codable {
        /// The line, from 1.
        public let line: Int
        /// The problem.
        public let reason: String
    }

    /// The records whose own hash is right, in the order of the file. After damage they say what was recorded, but not that nothing is missing.
    public private(set) var records: [EvidenceRecord] = []
    /// The first damage; nil if the chain is intact.
    public var damage: Damage? { walk.damage }
    /// The number of bytes at the end that a crash left of an unacknowledged write: not damage.
    public private(set) var tornBytes = 0
    private(set) var walk = EvidenceWalk()

    /// Whether every line follows the previous one, from the first line on.
    public var isIntact: Bool { damage == nil }

    /// The head at the last record; ``EvidenceHead/start`` for an empty log.
    public var head: EvidenceHead { records.last?.head ?? .start }

    /// A chain without records.
    public init() {}

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

    /// Whether the log contains this record, as far as it can be trusted; false if it was cut off before it.
    public func contains(_ head: EvidenceHead) -> Bool {
        head == .start || records.reversed().contains { $0.sequence == head.sequence && $0.hash == head.hash }
    }
}
