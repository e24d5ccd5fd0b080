/// What a user's evidence comes to, for whoever judges by it. It is read from the last checkpoint on, so that it costs the
/// same however long the log is; a log without a checkpoint is read as a whole, in blocks.
///
/// What lies before the checkpoint is not looked at again: it was found whole when the checkpoint was written.
/// ``EvidenceLog/verify()`` looks at it.
public struct EvidenceSummary: Sendable, Hashable {
    /// What the stores remember of the evidence, and was looked for; nil when they remember nothing.
    public var anchor: EvidenceHead? { trust.anchor }
    /// By what lines count that speak for the user.
    let trust: EvidenceTrust
    /// Whether the log has come by the anchor, as far as it can be believed. It has not when it was cut off before it, or
    /// when it is another one.
    public private(set) var containsAnchor: Bool
    /// The first damage of the part that was read; nil when it is whole.
    public var damage: EvidenceChain.Damage? {
        walk.damage.map { EvidenceChain.Damage(line: linesBefore + $0.line, reason: $0.reason) }
    }
    /// How many records there are, those that were archived included.
    public private(set) var records = 0
    /// The last record's place; ``EvidenceHead/start`` for an empty log.
    public var head: EvidenceHead { walk.head }
    /// How many bytes at the end are what a crash left of a write that nobody was told of: no damage.
    public private(set) var tornBytes = 0

    /// What the file's first line follows, if that was archived.
    var before: EvidenceHead? { walk.before }
    /// What the records come to.
    private(set) var evidence = StageEvidence()
    /// The anchor that the last checkpoint vouches for.
    private(set) var vouchedAnchor: EvidenceHead?
    /// Where the part begins that was read: at a checkpoint, or at the file's beginning.
    let start: Int
    /// How many bytes of the file are behind: whole lines.
    private(set) var length: Int
    /// Which file it was.
    let identity: EvidenceFile.Identity?
    var linesBefore = 0
    /// The number of the first record of the part.
    var firstSequence: Int { walk.firstSequence }
    /// How many lines were read.
    var linesRead: Int { walk.line }
    /// How many records were read.
    private(set) var recordsRead = 0
    private var walk = EvidenceWalk()

    /// Nothing was recorded yet.
    init(anchor: EvidenceHead?) { self.init(EvidenceTrust(anchor: anchor), start: 0, identity: nil) }

    init(_ trust: EvidenceTrust, start: Int, identity: EvidenceFile.Identity?) {
        self.trust = trust
        let anchor = trust.anchor
        self.start = start
        self.identity = identity
        length = start
        containsAnchor = anchor == nil || anchor == .start
    }

    /// What a chain comes to.
    init(_ chain: EvidenceChain, anchor: EvidenceHead? = nil) {
        self.init(anchor: anchor)
        walk = chain.walk
        for record in chain.records { count(record, counts: true) }
        tornBytes = chain.tornBytes
    }

    /// Whether so much lies behind the last checkpoint that there should be another.
    var isCheckpointDue: Bool { walk.damage == nil && length - start > EvidenceLog.checkpointEveryBytes }

    /// Whether the stores remember nothing, and the gate has let somebody in: that is another user, or the stores are older.
    var isAnothers: Bool { anchor == nil && evidence.wasPromoted }

    /// What stands for all of it in the log; nil where it is not whole, or lacks the anchor.
    var checkpoint: EvidenceCheckpoint? {
        guard walk.damage == nil, containsAnchor else { return nil }
        return EvidenceCheckpoint(records: records, anchor: anchor ?? vouchedAnchor, evidence: evidence)
    }

    /// Goes on to the end of the file.
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

    /// Another look found the anchor in a part of the log that this did not read.
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
            // One that counts lies before the anchor itself, which is to be found behind it.
            if state.anchor == anchor, trust.vouched == nil || record.sequence > (anchor?.sequence ?? 0) {
                containsAnchor = true
            }
        } else {
            evidence.take(record, counts: counts)
        }
        if record.head == anchor { containsAnchor = true }
        // Who began the chain anew may have died before the stores were told of it; what they remember lies before it.
        if case .reset = record.event, recordsRead == 1, let anchor, anchor.sequence < record.sequence {
            containsAnchor = true
        }
    }

    private mutating func takeLast(_ refusal: [UInt8]) {
        guard !refusal.isEmpty, let record = try? refusal.withUnsafeBytes(EvidenceLine.parse) else { return }
        evidence.take(record)
    }
}
