import Foundation

/// Follows the lines of a chain, and finds the first changed or damaged one.
///
/// A chain begins with record 1. A file may also begin with a checkpoint, if the lines before it were archived, or with a reset, which is the first
/// line of its chain whatever its number.
struct EvidenceWalk: Sendable, Hashable {
    /// The head that the next line has to follow.
    private var due = EvidenceHead.start
    /// The number of lines so far.
    private(set) var line = 0
    private(set) var damage: EvidenceChain.Damage?
    /// The last record whose own hash is right.
    private(set) var head = EvidenceHead.start
    /// The number of the first record.
    private(set) var firstSequence = 1
    /// The head that the first line follows in a file that begins with a checkpoint: the end of an archive.
    private(set) var before: EvidenceHead?

    /// Takes the next line.
    ///
    /// - Returns: the record, if its own hash is right.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> EvidenceRecord? {
        do {
            let record = try EvidenceLine.parse(bytes)
            let beginsFile = line == 0 && Self.beginsFile(record)
            if beginsFile, record.previous != EvidenceHead.start.hash {
                before = EvidenceHead(sequence: record.sequence - 1, hash: record.previous)
            }
            follow(record.head, previous: record.previous, beginsFile: beginsFile)
            return record
        } catch {
            line += 1
            note((error as? EvidenceLine.Fault)?.reason ?? "\(error)")
            let hash = EvidenceLine.text(EvidenceLine.hash(of: bytes))
            due = EvidenceHead(sequence: due.sequence.addingSaturated(1), hash: hash)
            return nil
        }
    }

    /// Takes the next line, of which only its place was read.
    mutating func take(_ skimmed: EvidenceLine.Skimmed) {
        follow(skimmed.head, previous: skimmed.previous, beginsFile: false)
    }

    /// Takes a line that is too long to read.
    mutating func takeOverlong() {
        line += 1
        note("it is longer than \(EvidenceLog.maximumLineBytes) bytes")
        due = EvidenceHead(sequence: due.sequence.addingSaturated(1), hash: "")
    }

    /// Takes a last line whose end is missing in a way that no crash explains.
    mutating func takeUnfinished() {
        line += 1
        note("its end is missing")
    }

    /// Notes damage in an earlier line that does not decode; the first damage counts.
    mutating func note(_ reason: String, at line: Int) {
        guard damage.map({ line < $0.line }) ?? true else { return }
        damage = EvidenceChain.Damage(line: line, reason: reason)
    }

    private mutating func follow(_ record: EvidenceHead, previous: String, beginsFile: Bool) {
        line += 1
        if !beginsFile {
            let sequence = due.sequence.addingSaturated(1)
            if record.sequence != sequence {
                note("it is record \(record.sequence) where \(sequence) is due")
            } else if previous != due.hash {
                note("it does not follow the line before it")
            }
        }
        if head == .start { firstSequence = record.sequence }
        due = record
        head = record
    }

    private mutating func note(_ reason: String) {
        if damage == nil { damage = EvidenceChain.Damage(line: line, reason: reason) }
    }

    private static func beginsFile(_ record: EvidenceRecord) -> Bool {
        switch record.event {
        case .checkpoint: record.sequence > 1
        case .reset: record.sequence >= 1 && record.previous == EvidenceHead.start.hash
        default: false
        }
    }
}

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

/// How far the user has come according to a log. It is searched from the end, skipping lines that are not moves. It proves nothing, and takes no
/// longer than reading the log's bytes.
struct EvidenceTrace: Sendable {
    /// The stage that the last move led to.
    private(set) var stage = Stage.off
    /// The epoch that began with that move; 0 if the log has no move.
    private(set) var epoch = 0
    /// Whether the log contains the stores' anchor, as far as it can be trusted.
    private(set) var containsAnchor: Bool
    /// The head that the file's first line follows, if it says so: the end of an archive.
    private(set) var before: EvidenceHead?
    private let anchor: EvidenceHead?
    private var hasMove = false
    /// Admissions after the last move, which the backward search meets before it.
    private var admitted: [(stage: Stage, epoch: Int)] = []

    init(_ file: borrowing EvidenceFile, anchor: EvidenceHead?) throws {
        self.anchor = anchor
        containsAnchor = anchor == nil || anchor == .start
        let size = try file.size()
        let hash = Array((anchor?.hash ?? "").utf8)
        try file.forEachPlace(below: size) {
            EvidenceLine.moves(in: $0, beginsLine: $1, orHash: hash)
        } _: { place in
            if let record = try Self.record(file, place, size) { take(record) }
            return !hasMove || !containsAnchor
        }
        guard !containsAnchor, size > 0, let first = try Self.record(file, 0, size) else { return }
        takeFirst(first)
    }

    /// The record of a line whose hash is right; nil for any other.
    private static func record(_ file: borrowing EvidenceFile, _ place: Int, _ size: Int) throws -> EvidenceRecord? {
        do {
            return try file.record(at: place, size)
        } catch is EvidenceLine.Fault {
            return nil
        }
    }

    private mutating func take(_ record: EvidenceRecord) {
        if record.head == anchor { containsAnchor = true }
        switch record.event {
        case .stageChanged(_, let to, let epoch, _, _, _, _): come(to: to, epoch)
        case .admitted(let to, let epoch): if !hasMove { admitted.append((to, epoch)) }
        case .checkpoint(let state):
            come(to: state.stage, state.evidence.epoch)
            if state.anchor == anchor { containsAnchor = true }
        default: break
        }
    }

    /// An admission to the stage that the user is at shows that the user left it in between; that line was lost with its process.
    private mutating func come(to stage: Stage, _ epoch: Int) {
        guard !hasMove else { return }
        hasMove = true
        self.stage = stage
        self.epoch = admitted.first { $0.stage == stage }?.epoch ?? epoch
    }

    private mutating func takeFirst(_ record: EvidenceRecord) {
        switch record.event {
        case .checkpoint where record.sequence > 1:
            before = EvidenceHead(sequence: record.sequence - 1, hash: record.previous)
        // A process that reset the chain may have died before it updated the stores; their anchor lies before it.
        case .reset: if let anchor, anchor.sequence < record.sequence { containsAnchor = true }
        default: break
        }
    }

    /// A later search found the anchor in an archive.
    mutating func noteAnchor() { containsAnchor = true }
}
