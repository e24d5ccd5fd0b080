import Foundation

/// The records of an evidence log, and whether they are all there as they were written.
public struct EvidenceChain: Sendable, Hashable {
    /// The first line that is not as it was written.
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
    public private(set) var damage: Damage?
    /// How many bytes at the end are what a crash left of a write that nobody was told of: no damage.
    public private(set) var tornBytes = 0

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
            var line = 0
            var head = EvidenceHead.start
            while start < bytes.count {
                line += 1
                let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                guard let length = Self.lineLength(rest) else {
                    if EvidenceLine.isTorn(rest) {
                        tornBytes = rest.count
                    } else {
                        note(line, "its end is missing")
                    }
                    return
                }
                head = take(UnsafeRawBufferPointer(rebasing: rest[..<length]), line, after: head)
                start += length
            }
        }
    }

    /// Whether the log has come by this place, as far as it can be believed. It has not when it was cut off before it.
    public func contains(_ head: EvidenceHead) -> Bool {
        head == .start || records.reversed().contains { $0.sequence == head.sequence && $0.hash == head.hash }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ line: Int, after head: EvidenceHead) -> EvidenceHead {
        let due = head.sequence.addingSaturated(1)
        do {
            let record = try EvidenceLine.parse(bytes)
            if record.sequence != due {
                note(line, "it is record \(record.sequence) where \(due) is due")
            } else if record.previous != head.hash {
                note(line, "it does not follow the line before it")
            }
            records.append(record)
            return record.head
        } catch {
            note(line, (error as? EvidenceLine.Fault)?.reason ?? "\(error)")
            let hash = EvidenceLine.text(EvidenceLine.hash(of: bytes))
            return EvidenceHead(sequence: due, hash: hash)
        }
    }

    private mutating func note(_ line: Int, _ reason: String) {
        if damage == nil { damage = Damage(line: line, reason: reason) }
    }

    /// How long the first line is with its newline; nil when there is none.
    private static func lineLength(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let found = memchr(base, Int32(EvidenceLine.newline), bytes.count) else {
            return nil
        }
        return UnsafeRawPointer(found) - base + 1
    }
}
