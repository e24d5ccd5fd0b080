import Foundation
@_spi(Engines) import HabitStore

/// The evidence of one user: what happened on the way from the old store to the new one, in the file `evidence.jsonl` of the user's folder, readable
/// by its owner only. Any number of processes append to it; otherwise it only changes by archiving (``archive(anchor:at:)``) or a reset
/// (``UserStore/resetEvidence(because:by:isForced:)``).
///
/// Every line contains the hash of the previous one (``EvidenceRecord`` has the rule), so a line that was changed, removed, repeated or moved is
/// detectable for as long as the file exists:
///
/// - A line appended after a damaged one contains the hash of the damaged bytes, so the damage can be neither removed nor corrected without the next
///   line showing it.
/// - A cut-off end shows by an anchor, a head that is kept elsewhere. An append with an anchor that the log has not reached continues from the
///   anchor, so that the gap stays visible in the numbers.
///
/// A last line without its newline is not damage: its writer crashed before the line was acknowledged. The next append removes it.
///
/// Some lines are checkpoints (``EvidenceCheckpoint``), which sum up the lines before them, so that the gate can start reading there.
///
/// Limits: a line has at most ``maximumLineBytes``. Once there is a checkpoint, the time of an append and of ``summary(anchor:)`` does not depend on
/// the file's size. ``newest(_:)`` and ``verify(anchor:)`` read everything in constant memory. ``read()`` keeps all records, and refuses files above
/// ``maximumFileBytes``.
public struct EvidenceLog: Sendable {
    /// The longest line, its newline included.
    public static let maximumLineBytes = 65_536
    /// The largest file that ``read()`` accepts: about 800,000 records.
    public static let maximumFileBytes = 268_435_456

    /// The default time to wait for a lock that another process has on the file.
    public static let lockWaitSeconds = 30.0

    /// The file's name in the user's folder.
    public static let fileName = "evidence.jsonl"

    /// The file's path.
    public let path: String

    /// Seals the lines; nil without keys.
    let seal: EvidenceSeal?

    /// The temporary folder of the file, for a user without a folder here; nil for the user's folder.
    private let scratch: ScratchEvidence?

    /// Whether the file stays when nothing uses this log any more.
    package var isKept: Bool { scratch == nil }

    /// The log in a user's folder; creates nothing yet.
    ///
    /// - Parameter keys: seal its lines; nil for lines without seals.
    public init(_ directory: UserDirectory, keys: EvidenceKeys? = nil) {
        self.init(directory, keys: keys, scratch: nil)
    }

    init(_ directory: UserDirectory, keys: EvidenceKeys?, scratch: ScratchEvidence?) {
        path = (scratch?.path ?? directory.path) + "/" + Self.fileName
        seal = keys.map { EvidenceSeal(keys: $0, owner: directory.owner) }
        self.scratch = scratch
    }

    init(path: String, seal: EvidenceSeal? = nil) {
        (self.path, self.seal, scratch) = (path, seal, nil)
    }

    /// Appends events in their order, durably, even to a damaged log.
    ///
    /// A crash may leave the first of the events without the others. After an error none of them is recorded, unless truncating the file fails too.
    ///
    /// - Parameters:
    ///   - time: when they happened, from 1970 to 9999.
    ///   - anchor: a head that the log is known to have reached.
    ///   - waitSeconds: how long to wait for a lock of another process. With 0 it does not wait, and writes only the events, no checkpoint.
    /// - Returns: the last of the records.
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for no events, unknown ones, and NaN or infinite numbers;
    ///   ``HabitStoreError/Code/limitExceeded`` for a line that is too long; ``HabitStoreError/Code/busy``, and system errors.
    @discardableResult
    public func append(
        _ events: [EvidenceEvent],
        at time: Date,
        anchor: EvidenceHead? = nil,
        waitSeconds: Double = lockWaitSeconds
    ) throws -> EvidenceRecord {
        let trust = EvidenceTrust(anchor: anchor, seal: seal)
        return try add(events, at: time, anchor: anchor, waitSeconds: waitSeconds) { trust }.last
    }

    /// Appends events as ``append(_:at:anchor:waitSeconds:)`` does.
    ///
    /// - Parameter trust: decides what a checkpoint counts; called only if one is due; nil for no checkpoint now.
    /// - Returns: the last record, and the written lines, a checkpoint included.
    func add(
        _ events: [EvidenceEvent],
        at time: Date,
        anchor: EvidenceHead?,
        waitSeconds: Double,
        trust: () -> EvidenceTrust?
    ) throws -> (last: EvidenceRecord, stretch: EvidenceLineRange) {
        let file = try EvidenceFile(path, .append, waitSeconds: waitSeconds)
        return try add(events, to: file, at: time, anchor: anchor, checkpoints: waitSeconds > 0, trust: trust)
    }

    /// The same, in a file that the caller has locked.
    func add(
        _ events: [EvidenceEvent],
        to file: borrowing EvidenceFile,
        at time: Date,
        anchor: EvidenceHead?,
        checkpoints: Bool = true,
        trust: () -> EvidenceTrust?
    ) throws -> (last: EvidenceRecord, stretch: EvidenceLineRange) {
        let contents = try events.map { try EvidenceLine.content($0, at: time) }
        guard !contents.isEmpty else { throw HabitStoreError(.invalidValue, "there is no event to record") }
        let tail = try file.tail()
        var head = tail.head
        if let anchor, anchor.sequence > head.sequence || (anchor.sequence == head.sequence && anchor != head) {
            head = anchor
        }
        var bytes: [UInt8] = tail.lacksNewline ? [EvidenceLine.newline] : []
        var line: [UInt8] = []
        let size = contents.reduce(0) { $0 + $1.utf8.count }
        let before = head
        if checkpoints, let checkpoint = try dueCheckpoint(file, tail, adding: size, time, trust) {
            bytes += checkpoint.bytes
            head = checkpoint.head
        }
        for content in contents {
            (line, head) = try EvidenceLine.make(content, after: head, seal: seal)
            bytes += line
        }
        try file.write(bytes, at: tail.length)
        return (try line.withUnsafeBytes(EvidenceLine.parse), EvidenceLineRange(before: before, last: head))
    }

    /// All records, checked; none if there is no file.
    ///
    /// - Throws: ``HabitStoreError/Code/limitExceeded`` for a file that is too large, and system errors. A damaged file does not throw: the chain
    ///   reports it.
    public func read() throws -> EvidenceChain {
        guard let file = try open() else { return EvidenceChain() }
        let size = try file.size()
        guard size <= Self.maximumFileBytes else {
            throw HabitStoreError(
                .limitExceeded,
                "the evidence has \(size) bytes; \(Self.maximumFileBytes) are the most that are read",
                at: .init(path: path)
            )
        }
        return EvidenceChain(try file.read(0..<size))
    }

    /// The head of the log, without reading all of it; ``EvidenceHead/start`` if there is no log.
    ///
    /// - Throws: system errors.
    public func head() throws -> EvidenceHead {
        guard let file = try open() else { return .start }
        return try file.tail().head
    }

    /// The length of the file; 0 if there is none, or it cannot be read.
    var sizeBytes: UInt64 {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt64(clamping: status.st_size) : 0
    }

    func open(_ access: EvidenceFile.Access = .read) throws -> EvidenceFile? {
        do {
            return try EvidenceFile(path, access)
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }
}

extension EvidenceLog {
    /// How many bytes may follow the last checkpoint before another one is due.
    static let checkpointEveryBytes = 65_536

    /// The summary of the evidence, from the last checkpoint on.
    ///
    /// - Parameter anchor: the stores' anchor. If neither the checkpoint nor the lines after it contain it, everything is read, archives included.
    /// - Throws: system errors. A damaged file does not throw: the summary reports it.
    public func summary(anchor: EvidenceHead? = nil) throws -> EvidenceSummary {
        try summary(EvidenceTrust(anchor: anchor, seal: seal))
    }

    /// The summary of the evidence, from the last checkpoint on that counts.
    ///
    /// - Throws: system errors. A damaged file does not throw: the summary reports it.
    func summary(_ trust: EvidenceTrust) throws -> EvidenceSummary {
        guard let file = try open() else { return EvidenceSummary(trust, start: 0, identity: nil) }
        var summary = try summary(file, trust, below: try file.size())
        // Another process may just have written a checkpoint; the one before it knows the anchor.
        if !summary.containsAnchor, summary.start > 0 {
            summary = try self.summary(file, trust, below: summary.start)
        }
        if !summary.containsAnchor, summary.start > 0 {
            summary = EvidenceSummary(trust, start: 0, identity: try file.identity())
            try summary.read(file)
        }
        if !summary.containsAnchor, let anchor = trust.anchor, let before = summary.before,
            try archives(before).contains(anchor)
        {
            summary.noteAnchor()
        }
        return summary
    }

    /// Whether the log, archives included, contains the stores' anchor, as far as it can be trusted. False if it was cut off before it, or is another
    /// log.
    ///
    /// - Throws: system errors.
    public func contains(_ anchor: EvidenceHead?) throws -> Bool {
        try trace(anchor: anchor)?.containsAnchor ?? (anchor == nil || anchor == .start)
    }

    /// How far the user has come according to the log. Waits for no lock.
    ///
    /// - Parameter anchor: the stores' anchor.
    /// - Throws: system errors.
    func trace(anchor: EvidenceHead?) throws -> EvidenceTrace? {
        guard let file = try open(.look) else { return nil }
        var trace = try EvidenceTrace(file, anchor: anchor)
        if !trace.containsAnchor, let anchor, let before = trace.before, try archives(before).contains(anchor) {
            trace.noteAnchor()
        }
        return trace
    }

    /// Writes a checkpoint after the lines of a summary and those added since, if one is due and the chain is intact.
    ///
    /// - Returns: the checkpoint's line; nil if none was written.
    @discardableResult
    func checkpoint(after summary: EvidenceSummary, at time: Date) throws -> EvidenceLineRange? {
        guard summary.isCheckpointDue else { return nil }
        let file = try EvidenceFile(path, .append)
        guard try file.identity() == summary.identity else { return nil }
        let known = summary.length
        var summary = summary
        try summary.read(file)
        // Another process may have written one meanwhile.
        guard try file.lastCheckpoint(below: summary.length, from: known, summary.trust) == nil,
            let state = summary.checkpoint
        else { return nil }
        let content = try EvidenceLine.content(.checkpoint(state), at: time)
        let line = try EvidenceLine.make(content, after: summary.head, seal: seal)
        try file.write(line.bytes, at: summary.length)
        CrashPoint.reach("evidence.checkpointed")
        return EvidenceLineRange(before: summary.head, last: line.head)
    }

    /// The line of a checkpoint that an append should write before its own: if enough lies after the last checkpoint, and little enough to verify
    /// during the append. ``checkpoint(after:at:)`` handles the long logs of earlier versions.
    ///
    /// - Parameter bytes: how many bytes will be added, so that not every append to a damaged log has to detect the damage again.
    func dueCheckpoint(
        _ file: borrowing EvidenceFile,
        _ tail: EvidenceFile.Tail,
        adding bytes: Int,
        _ time: Date,
        _ trust: () -> EvidenceTrust?
    ) throws -> (bytes: [UInt8], head: EvidenceHead)? {
        guard tail.length > Self.checkpointEveryBytes, !tail.lacksNewline,
            tail.length / Self.attemptEveryBytes != (tail.length + bytes) / Self.attemptEveryBytes
        else { return nil }
        let lowest = max(0, tail.length - Self.maximumCatchUpBytes)
        guard let trust = trust(),
            let start = try file.lastCheckpoint(below: tail.length, from: lowest, trust) ?? (lowest == 0 ? 0 : nil),
            tail.length - start > Self.checkpointEveryBytes
        else { return nil }
        var summary = EvidenceSummary(trust, start: start, identity: try file.identity())
        try summary.read(file)
        guard summary.head == tail.head, let state = summary.checkpoint else { return nil }
        let content = try EvidenceLine.content(.checkpoint(state), at: time)
        return try EvidenceLine.make(content, after: summary.head, seal: seal)
    }

    private static let attemptEveryBytes = 16_384
    private static let maximumCatchUpBytes = 1_048_576

    private func summary(
        _ file: borrowing EvidenceFile,
        _ trust: EvidenceTrust,
        below size: Int
    ) throws -> EvidenceSummary {
        let start = try file.lastCheckpoint(below: size, trust) ?? 0
        var summary = EvidenceSummary(trust, start: start, identity: try file.identity())
        try summary.read(file)
        if summary.damage != nil, start > 0 { summary.linesBefore = try file.countLines(start) }
        return summary
    }
}

extension EvidenceLog {
    /// Whether two heads lie in one chain that is intact between them. Decodes as few lines as possible.
    ///
    /// - Parameter known: the stores' anchor of the log; nil connects with nothing.
    /// - Throws: system errors.
    func connects(_ known: EvidenceHead?, _ head: EvidenceHead) throws -> Bool {
        guard let known, let file = try open(.look) else { return false }
        if known.sequence == head.sequence { return known == head }
        let (low, high) = known.sequence < head.sequence ? (known, head) : (head, known)
        let size = try file.size()
        guard low != .start else { return try file.leads(from: 0, after: .start, to: high, size) }
        if let place = try file.place(of: low, below: size) {
            return try file.leads(from: place, after: nil, to: high, size)
        }
        // The anchor was archived since.
        guard size > 0, let first = try? file.record(at: 0, size), case .checkpoint = first.event else { return false }
        let before = EvidenceHead(sequence: first.sequence - 1, hash: first.previous)
        guard try archives(before).contains(low) else { return false }
        return try file.leads(from: 0, after: before, to: high, size)
    }
}

extension EvidenceFile {
    /// The start of the line with this head; nil if there is none.
    fileprivate func place(of head: EvidenceHead, below size: Int) throws -> Int? {
        var found: Int?
        let hash = Array(head.hash.utf8)
        try forEachPlace(below: size) {
            EvidenceLine.lines(in: $0, beginsLine: $1, withHash: hash)
        } _: { place in
            if let record = try? record(at: place, size), record.head == head { found = place }
            return found == nil
        }
        return found
    }

    /// Whether the lines from `start` on follow each other up to the line `high`.
    ///
    /// - Parameter before: the head that the first one has to follow; nil for any.
    fileprivate func leads(from start: Int, after before: EvidenceHead?, to high: EvidenceHead, _ size: Int) throws
        -> Bool
    {
        var due = before
        var isWhole = true
        var isThere = false
        try forEachPart(start..<size) { part, _ in
            guard isWhole, !isThere, case .line(let bytes) = part else { return }
            guard let (head, previous) = EvidenceLine.place(bytes) else {
                isWhole = false
                return
            }
            if let due { isWhole = previous == due.hash && head.sequence == due.sequence.addingSaturated(1) }
            due = head
            isThere = isWhole && head == high
        }
        return isThere
    }
}

extension EvidenceLine {
    /// The head of a line whose own hash is right, and the hash of the line before it.
    static func place(_ line: UnsafeRawBufferPointer) -> (head: EvidenceHead, previous: String)? {
        if let skimmed = skim(line) { return (skimmed.head, skimmed.previous) }
        guard let record = try? parse(line) else { return nil }
        return (record.head, record.previous)
    }
}

/// Consecutive lines that one process wrote in one append or several.
struct EvidenceLineRange: Sendable, Hashable {
    /// The head that the first line follows.
    let before: EvidenceHead
    let last: EvidenceHead

    /// The number of the first line.
    var first: Int { before.sequence.addingSaturated(1) }

    /// Joined with another stretch, if that follows this one.
    func joined(with next: Self) -> Self? { next.before == last ? Self(before: before, last: next.last) : nil }
}

/// A private folder in the system's folder for temporary files, removed with its last reference.
final class ScratchEvidence: Sendable {
    let path: String

    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it cannot be made.
    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("habitstore-" + UUID().uuidString).path
        try PrivateFolder.make(
            path,
            isNew: true,
            or: .inputOutput,
            "a temporary folder cannot be made; check its space"
        )
    }

    /// For a look at a user without a folder here; nil if there is one.
    convenience init?(insteadOf directory: UserDirectory) throws {
        guard !BackupFiles.exists(directory.path) else { return nil }
        try self.init()
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
