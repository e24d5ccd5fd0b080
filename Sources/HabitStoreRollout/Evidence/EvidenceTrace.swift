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
