/// How far a log says that its user has come. It is found from the log's end, past all lines that tell of no move: nothing is
/// proven by it, and a log of any length takes no longer than reading its bytes.
struct EvidenceTrace: Sendable {
    /// The stage that the last move led to.
    private(set) var stage = Stage.off
    /// The epoch that began with it; 0 where no move is told of.
    private(set) var epoch = 0
    /// Whether the log has come by what the stores remember of it, as far as it can be believed.
    private(set) var containsAnchor: Bool
    /// What the file's first line follows, where it says so: the end of an archive.
    private(set) var before: EvidenceHead?
    private let anchor: EvidenceHead?
    private var hasMove = false
    /// Who was let in after the last move: lines that are met before it on the way back.
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

    /// A line whose hash is right; nil for any other.
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

    /// Nobody is let in where they are: the user left in between, and the line of that is lost with its process.
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
        // Who began the chain anew may have died before the stores were told of it; what they remember lies before it.
        case .reset: if let anchor, anchor.sequence < record.sequence { containsAnchor = true }
        default: break
        }
    }

    /// Another look found the anchor in an archive.
    mutating func noteAnchor() { containsAnchor = true }
}
