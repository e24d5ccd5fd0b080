import Foundation

/// The summary of a user's evidence, by which the gate judges. It is read from the last checkpoint on, so its cost does not depend on the length of
/// the log; a log without a checkpoint is read completely, in blocks.
///
/// The lines before the checkpoint were found intact when it was written, and are not read again. ``EvidenceLog/verify(anchor:)`` checks them.
public struct EvidenceSummary: Sendable, Hashable {
    /// The anchor to look for, which the stores remember; nil if they remember none.
    public var anchor: EvidenceHead? { trust.anchor }
    /// Decides which lines that speak for the user count.
    let trust: EvidenceTrust
    /// Whether the log contains the anchor, as far as it can be trusted. False if it was cut off before the anchor, or is another log.
    public private(set) var containsAnchor: Bool
    /// The first damage in the part that was read; nil if it is intact.
    public var damage: EvidenceChain.Damage? {
        walk.damage.map { EvidenceChain.Damage(line: linesBefore + $0.line, reason: $0.reason) }
    }
    /// The number of records, including archived ones.
    public private(set) var records = 0
    /// The head at the last record; ``EvidenceHead/start`` for an empty log.
    public var head: EvidenceHead { walk.head }
    /// The number of bytes at the end that a crash left of an unacknowledged write: not damage.
    public private(set) var tornBytes = 0

    /// The head that the file's first line follows, if that was archived.
    var before: EvidenceHead? { walk.before }
    /// The state after all records.
    private(set) var evidence = StageEvidence()
    /// The anchor that the last checkpoint vouches for.
    private(set) var vouchedAnchor: EvidenceHead?
    /// Where reading began: at a checkpoint, or at the beginning of the file.
    let start: Int
    /// The position up to which the file was read, in bytes: whole lines.
    private(set) var length: Int
    /// The file that was read.
    let identity: EvidenceFile.Identity?
    var linesBefore = 0
    /// The number of the first record in the part.
    var firstSequence: Int { walk.firstSequence }
    var linesRead: Int { walk.line }
    private(set) var recordsRead = 0
    private var walk = EvidenceWalk()

    /// A summary without records.
    init(anchor: EvidenceHead?) { self.init(EvidenceTrust(anchor: anchor), start: 0, identity: nil) }

    init(_ trust: EvidenceTrust, start: Int, identity: EvidenceFile.Identity?) {
        self.trust = trust
        let anchor = trust.anchor
        self.start = start
        self.identity = identity
        length = start
        containsAnchor = anchor == nil || anchor == .start
    }

    init(_ chain: EvidenceChain, anchor: EvidenceHead? = nil) {
        self.init(anchor: anchor)
        walk = chain.walk
        for record in chain.records { count(record, counts: true) }
        tornBytes = chain.tornBytes
    }

    /// Whether enough lines follow the last checkpoint for another one.
    var isCheckpointDue: Bool { walk.damage == nil && length - start > EvidenceLog.checkpointEveryBytes }

    /// Whether the stores have no anchor although the gate has admitted the user: the evidence is another user's, or the stores are older.
    var isAnothers: Bool { anchor == nil && evidence.wasPromoted }

    /// A checkpoint that sums up the whole log; nil if it is damaged or lacks the anchor.
    var checkpoint: EvidenceCheckpoint? {
        guard walk.damage == nil, containsAnchor else { return nil }
        return EvidenceCheckpoint(records: records, anchor: anchor ?? vouchedAnchor, evidence: evidence)
    }

    /// Continues to the end of the file.
    mutating func read(_ file: borrowing EvidenceFile) throws {
        var refusal: [UInt8] = []
        try file.forEachPart(length..<(try file.size())) { part, _ in
            switch part {
            case .line(let bytes): take(bytes, &refusal)
            case .overlong: walk.takeOverlong()
            case .rest(let bytes):
                if EvidenceLine.isTorn(bytes) { tornBytes = bytes.count } else { walk.takeUnfinished() }
            }
        }
        takeLast(refusal)
    }

    /// A later search found the anchor in a part that this summary did not read.
    mutating func noteAnchor() { containsAnchor = true }

    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ refusal: inout [UInt8]) {
        length += bytes.count
        if let skimmed = EvidenceLine.skimRefusal(bytes) {
            walk.take(skimmed)
            records = records.addingSaturated(1)
            recordsRead += 1
            if skimmed.head == anchor { containsAnchor = true }
            refusal = Array(bytes)
            return
        }
        guard let record = walk.take(bytes) else { return }
        let stay = evidence.stay
        count(record, counts: trust.doubt(record.sequence, bytes) == nil)
        if evidence.stay != stay { refusal = [] }
    }

    private mutating func count(_ record: EvidenceRecord, counts: Bool) {
        records = records.addingSaturated(1)
        recordsRead += 1
        if case .checkpoint(let state) = record.event, records == 1 {
            records = records.addingSaturated(state.records)
            evidence = state.evidence
            if !counts { evidence.forgetGoodNews() }
            evidence.take(record, counts: counts)
            vouchedAnchor = state.anchor
            // A checkpoint that counts lies before the anchor, which must then be found after it.
            if state.anchor == anchor, trust.vouched == nil || record.sequence > (anchor?.sequence ?? 0) {
                containsAnchor = true
            }
        } else {
            evidence.take(record, counts: counts)
        }
        if record.head == anchor { containsAnchor = true }
        // A process that reset the chain may have died before it updated the stores; their anchor lies before it.
        if case .reset = record.event, recordsRead == 1, let anchor, anchor.sequence < record.sequence {
            containsAnchor = true
        }
    }

    private mutating func takeLast(_ refusal: [UInt8]) {
        guard !refusal.isEmpty, let record = try? refusal.withUnsafeBytes(EvidenceLine.parse) else { return }
        evidence.take(record)
    }
}

extension EvidenceSummary {
    /// The time and outcome of the last rehearsal of the way back; nil if there was none that still counts.
    package var lastRehearsal: (time: Date, isClean: Bool)? {
        evidence.rehearsal.map { ($0.time.date, $0.isClean) }
    }
}

extension EvidenceLog {
    /// Reads all of the evidence, archives included, and checks every line.
    ///
    /// - Parameter anchor: the stores' anchor.
    /// - Throws: system errors. Damage does not throw: the result reports it.
    public func verify(anchor: EvidenceHead? = nil) throws -> EvidenceVerification {
        var found = EvidenceVerification()
        guard let file = try open() else {
            found.isCutOff = anchor != nil && anchor != .start
            return found
        }
        var live = EvidenceSummary(EvidenceTrust(anchor: anchor), start: 0, identity: nil)
        try live.read(file)
        found.take(live, Self.fileName)
        var containsAnchor = live.containsAnchor
        if let before = live.before {
            let missing = try archives(before).forEach(anchor: anchor) { archive in
                found.take(archive.summary, archive.name)
                if found.damage == nil, !archive.isFollowed {
                    found.damage = .init(
                        file: archive.name,
                        line: archive.summary.linesRead,
                        reason: "it does not end with what the next file follows"
                    )
                }
                containsAnchor = containsAnchor || archive.summary.containsAnchor
                return true
            }
            found.missingUpTo = missing?.sequence
        }
        // Of a missing archive, only what a checkpoint vouches for is known.
        found.isCutOff = !containsAnchor && !(found.missingUpTo != nil && live.vouchedAnchor == anchor)
        return found
    }
}

extension EvidenceVerification {
    fileprivate mutating func take(_ summary: EvidenceSummary, _ file: String) {
        files += 1
        records += summary.recordsRead
        if damage == nil, let found = summary.damage {
            damage = Damage(file: file, line: found.line, reason: found.reason)
        }
    }
}

/// Whether all of a user's evidence, archives included, is complete and unchanged.
public struct EvidenceVerification: Sendable, Hashable, Codable {
    /// A changed or damaged line.
    public struct Damage: Sendable, Hashable, Codable {
        /// The name of its file.
        public let file: String
        /// The line, from 1.
        public let line: Int
        /// The problem.
        public let reason: String
    }

    /// The number of files that were read.
    public internal(set) var files = 0
    /// The number of records in them.
    public internal(set) var records = 0
    /// The first damage of the newest file that has one.
    public internal(set) var damage: Damage?
    /// The records up to this one were archived, and their archive is missing; nil if none is. The first checkpoint after them replaces them, so that
    /// the gate still works, but it can no longer be checked.
    public internal(set) var missingUpTo: Int?
    /// Whether the evidence ends before the stores' anchor, or is another user's.
    public internal(set) var isCutOff = false

    /// Whether everything is complete and unchanged.
    public var isWhole: Bool { damage == nil && missingUpTo == nil && !isCutOff }
}
