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
