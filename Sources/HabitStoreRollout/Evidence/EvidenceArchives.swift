import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The archived part of a user's evidence: files named `evidence-<first>-<last>.jsonl`, by the numbers of their records.
struct EvidenceArchives {
    let log: EvidenceLog
    /// The head that the log's first line follows.
    let before: EvidenceHead

    struct Archive {
        let name: String
        let summary: EvidenceSummary
        /// Whether it ends with the head that the next file follows.
        let isFollowed: Bool
    }

    static func name(_ first: Int, _ last: Int) -> String { "evidence-\(first)-\(last).jsonl" }

    /// Whether an archive contains a head, as far as the archives can be trusted.
    func contains(_ anchor: EvidenceHead) throws -> Bool {
        var isThere = false
        try forEach(anchor: anchor) { archive in
            isThere = archive.isFollowed && archive.summary.containsAnchor
            return !isThere && archive.isFollowed
        }
        return isThere
    }

    /// Reads the archives, the last one first, until `body` returns false.
    ///
    /// - Returns: the head that the oldest file follows, if the archive that ends with it is missing; nil if none is missing.
    @discardableResult
    func forEach(anchor: EvidenceHead? = nil, _ body: (Archive) throws -> Bool) throws -> EvidenceHead? {
        let names = try names()
        var due: EvidenceHead? = before
        while let end = due {
            guard let name = names[end.sequence] else { return end }
            let file = try EvidenceFile(EvidenceFile.beside(log.path, name), .read)
            var summary = EvidenceSummary(EvidenceTrust(anchor: anchor), start: 0, identity: nil)
            try summary.read(file)
            guard try body(Archive(name: name, summary: summary, isFollowed: summary.head == end)) else { return nil }
            // Each must begin before it ends, or this would not terminate.
            due = summary.before.flatMap { $0.sequence < end.sequence ? $0 : nil }
        }
        return nil
    }

    /// The archives' names by their last record; if several share it, the longest.
    private func names() throws -> [Int: String] {
        let folder = URL(fileURLWithPath: log.path).deletingLastPathComponent().path
        var found: [Int: (first: Int, name: String)] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let parts = name.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "evidence", let first = Int(parts[1]),
                let last = Int(parts[2].replacing(".jsonl", with: "")), name == Self.name(first, last),
                found[last].map({ first < $0.first }) ?? true
            else { continue }
            found[last] = (first, name)
        }
        return found.mapValues(\.name)
    }
}

extension EvidenceLog {
    /// An archived part of the evidence.
    public struct Archived: Sendable, Hashable, Codable {
        /// The archive's name in the user's folder.
        public let file: String
        /// The first record in it.
        public let first: Int
        /// The last record in it.
        public let last: Int
        /// How many bytes the log shrank by.
        public let sizeBytes: Int
    }

    /// Moves the lines before the last checkpoint to a separate file, so that the log begins with the checkpoint. Writes a checkpoint first if one is
    /// due. A kill at any moment loses no record: it is in one of the files, or in both.
    ///
    /// - Parameter anchor: the stores' anchor of the evidence.
    /// - Returns: nil if there are no lines before a checkpoint.
    /// - Throws: ``HabitStoreError/Code/corrupt`` for evidence that is damaged or incomplete, and system errors.
    public func archive(anchor: EvidenceHead?, at time: Date) throws -> Archived? {
        try archive(EvidenceTrust(anchor: anchor, seal: seal), at: time)
    }

    func archive(_ trust: EvidenceTrust, at time: Date) throws -> Archived? {
        let summary = try summary(trust)
        guard summary.damage == nil, summary.containsAnchor else { throw notWhole(summary.damage) }
        if trust.vouched == nil { try checkpoint(after: summary, at: time) }
        let file = try EvidenceFile(path, .append)
        // A checkpoint that does not count would hide what was proven before it.
        guard let length = try file.lastCheckpoint(below: try file.size(), trust), length > 0 else { return nil }
        // Most readers never read the lines before the checkpoint again, so this checks them all.
        var whole = EvidenceSummary(trust, start: 0, identity: nil)
        try whole.read(file)
        guard whole.damage == nil else { throw notWhole(whole.damage) }
        let first = (whole.before?.sequence ?? whole.firstSequence - 1) + 1
        let last = try file.record(at: length, try file.size()).sequence - 1
        let name = EvidenceArchives.name(first, last)
        try file.archive(length, as: name)
        return Archived(file: name, first: first, last: last, sizeBytes: length)
    }

    func archives(_ before: EvidenceHead) -> EvidenceArchives { EvidenceArchives(log: self, before: before) }

    private func notWhole(_ damage: EvidenceChain.Damage?) -> HabitStoreError {
        HabitStoreError(
            .corrupt,
            (damage.map { "the evidence is damaged in line \($0.line) (\($0.reason))" }
                ?? "the evidence lacks what the stores remember of it")
                + " and is not archived: `\(OperatorCommand.name) rollout evidence --user U` shows it",
            at: .init(path: path)
        )
    }
}

extension EvidenceLog {
    /// Moves the file aside, whatever it is, and begins a new chain with a line that says so.
    ///
    /// The numbers continue, so that a head of the old chain can never be taken for one of the new, and their archives have different names.
    ///
    /// - Parameter number: the last known record number, whether or not the file has it.
    /// - Returns: the new chain's head, and the name under which the old file is kept.
    /// - Throws: system errors; the old file then stays where it is.
    func reset(
        because reason: String,
        by person: String,
        behind number: Int,
        at time: Date
    ) throws -> (head: EvidenceHead, file: String?) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return try begin(reason, person, .nothing, number, time) }
        let name = freeName()
        guard status.st_mode & S_IFMT == S_IFREG else {
            do {
                try DurableFile.move(path, to: EvidenceFile.beside(path, name))
            } catch {
                throw EvidenceFile.error("cannot be put aside", error.number, path)
            }
            return try begin(reason, person, Before(head: .start, sizeBytes: 0, file: name), number, time)
        }
        let file = try EvidenceFile(path, .append)
        // Processes that wait for the lock then take the new file.
        defer { withExtendedLifetime(file) {} }
        let before = Before(head: try file.tail().head, sizeBytes: try file.size(), file: name)
        try file.keep(as: name)
        return try begin(reason, person, before, number, time)
    }

    /// The old file.
    private struct Before {
        let head: EvidenceHead
        let sizeBytes: Int
        let file: String?

        static let nothing = Before(head: .start, sizeBytes: 0, file: nil)
    }

    private func begin(
        _ reason: String,
        _ person: String,
        _ before: Before,
        _ number: Int,
        _ time: Date
    ) throws -> (head: EvidenceHead, file: String?) {
        let event = EvidenceEvent.reset(
            because: reason,
            by: person,
            sequence: before.head.sequence,
            hash: before.head.hash,
            sizeBytes: before.sizeBytes,
            file: before.file
        )
        // A damaged line may claim any number.
        let known = [before.head.sequence, number].filter { $0 < .max / 2 }.max() ?? 0
        let place = EvidenceHead(sequence: known, hash: EvidenceHead.start.hash)
        let line = try EvidenceLine.make(EvidenceLine.content(event, at: time), after: place, seal: seal)
        try EvidenceFile.replace(path, with: line.bytes)
        CrashPoint.reach("evidence.reset")
        return (line.head, before.file)
    }

    /// An unused name for a file that is moved aside.
    func freeName() -> String {
        var number = 1
        var status = stat()
        while lstat(EvidenceFile.beside(path, "evidence-reset-\(number).jsonl"), &status) == 0 { number += 1 }
        return "evidence-reset-\(number).jsonl"
    }
}

/// The outcome of an evidence reset.
public struct EvidenceReset: Sendable, Hashable, Codable {
    /// The user's stage before the reset.
    public let from: Stage
    /// The name under which the old file is kept in the user's folder; nil if there was none.
    public let file: String?
}

/// The newest records of an evidence log, and whether all lines of its file are complete and unchanged.
public struct EvidenceListing: Sendable, Hashable {
    /// The newest records whose own hash is right, in the order of the file. After damage they say what was recorded, but not that nothing is
    /// missing.
    public internal(set) var records: [EvidenceRecord] = []
    /// The number of records in the file whose own hash is right.
    public internal(set) var count = 0
    /// The number of lines in the file.
    public var lines: Int { walk.line }
    /// The first damage; nil if the chain is intact.
    public var damage: EvidenceChain.Damage? { walk.damage }
    /// The number of bytes at the end that a crash left of an unacknowledged write: not damage.
    public internal(set) var tornBytes = 0
    var walk = EvidenceWalk()

    /// Whether every line follows the previous one, from the first line on.
    public var isIntact: Bool { damage == nil }
}

extension EvidenceLog {
    /// The default limit of ``newest(_:)``.
    public static let newestRecords = 1_000

    /// The newest records of the file, and a check of the whole file. Memory depends on `limit` and not on the file's size; of other records only
    /// places and hashes are read.
    ///
    /// - Throws: system errors. A damaged file does not throw: the listing reports it.
    public func newest(_ limit: Int = newestRecords) throws -> EvidenceListing {
        var listing = EvidenceListing()
        guard let file = try open() else { return listing }
        var places = NewestPlaces(limit: limit)
        var start = 0
        let size = try file.size()
        try file.forEachPart(0..<size) { part, length in
            defer { start += length }
            switch part {
            case .line(let bytes):
                guard listing.walk.passes(bytes) else { return }
                listing.count += 1
                places.note(.init(start: start, line: listing.walk.line))
            case .overlong: listing.walk.takeOverlong()
            case .rest(let bytes):
                if EvidenceLine.isTorn(bytes) {
                    listing.tornBytes = bytes.count
                } else {
                    listing.walk.takeUnfinished()
                }
            }
        }
        for place in places.inOrder {
            do {
                listing.records.append(try file.record(at: place.start, size))
            } catch let fault as EvidenceLine.Fault {
                // The hash was checked before and is right, but the line does not decode as an event.
                listing.count -= 1
                listing.walk.note(fault.reason, at: place.line)
            }
        }
        return listing
    }
}

extension EvidenceWalk {
    /// Takes the next line, reading no more of it than needed.
    ///
    /// - Returns: whether its own hash is right.
    fileprivate mutating func passes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // The event of the first line decides whether the chain may begin with it.
        if line > 0, let skimmed = EvidenceLine.skim(bytes) {
            take(skimmed)
            return true
        }
        return take(bytes) != nil
    }
}

/// The last `limit` places.
private struct NewestPlaces {
    struct Place {
        let start: Int
        let line: Int
    }

    let limit: Int
    private var places: [Place] = []
    /// The index of the oldest place, once there are `limit`.
    private var oldest = 0

    init(limit: Int) { self.limit = limit }

    mutating func note(_ place: Place) {
        guard limit > 0 else { return }
        guard places.count == limit else { return places.append(place) }
        places[oldest] = place
        oldest = (oldest + 1) % limit
    }

    var inOrder: [Place] { Array(places[oldest...] + places[..<oldest]) }
}
