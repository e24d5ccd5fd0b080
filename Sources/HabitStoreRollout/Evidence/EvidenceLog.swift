import Foundation
import HabitStore

/// The evidence of one user: what happened on the way from the old store to the new one, in the file `evidence.jsonl` of
/// the user's folder, for its owner only. It is only ever added to, by any number of processes, but for what is archived
/// (``archive(anchor:at:)``) or begun anew (``UserStore/resetEvidence(because:by:isForced:)``).
///
/// Every line holds the hash of the one before it (``EvidenceRecord`` has the rule), so a line that was changed, removed,
/// repeated or moved shows for as long as the file exists:
///
/// - What is appended behind a damaged line holds the hash of its bytes as they stand: the damage can be neither removed
///   nor put right without the next line showing it.
/// - What was cut off at the end shows by an anchor, a head that somebody keeps elsewhere. An append that is given an
///   anchor which the log has not come to continues from the anchor, so that the gap stays in the numbers.
///
/// A last line without its newline is no damage: a crash stopped its writer, whom nobody told that it is there. The next
/// append removes it.
///
/// Now and then a line is a checkpoint (``EvidenceCheckpoint``): it says what the lines before it come to, so that whoever
/// judges reads from there on.
///
/// Limits: a line has ``maximumLineBytes`` at most; appending to a file of any size, and ``summary(anchor:)`` of it, take a
/// time that does not depend on the size, once it has a checkpoint; ``newest(_:)`` and ``verify(anchor:)`` read everything, in a
/// memory that does not; ``read()``, which keeps all records, is refused above ``maximumFileBytes``.
public struct EvidenceLog: Sendable {
    /// How long a line may be, its newline included.
    public static let maximumLineBytes = 65_536
    /// How large a file may be that is read: some 800,000 records.
    public static let maximumFileBytes = 268_435_456

    /// How long another process may have the file locked, unless a caller says so.
    public static let lockWaitSeconds = 30.0

    /// The file's name in the user's folder.
    public static let fileName = "evidence.jsonl"

    /// The file.
    public let path: String

    /// What lines are sealed with; nil without keys.
    let seal: EvidenceSeal?

    /// The log in a user's folder; nothing is made yet.
    ///
    /// - Parameter keys: what its lines are sealed with; nil for lines without seals.
    public init(_ directory: UserDirectory, keys: EvidenceKeys? = nil) {
        path = directory.path + "/" + Self.fileName
        seal = keys.map { EvidenceSeal(keys: $0, owner: directory.owner) }
    }

    init(path: String, seal: EvidenceSeal? = nil) {
        self.path = path
        self.seal = seal
    }

    /// Adds events in their order, and waits until they are on the disk. A damaged log is added to as well.
    ///
    /// A crash may leave the first of the events without the others. After an error none of them is recorded, unless the
    /// disk refuses to take them back.
    ///
    /// - Parameters:
    ///   - time: when they happened, from 1970 to 9999.
    ///   - anchor: the head that the log is known to have come to at least.
    ///   - waitSeconds: how long another process may have the file locked. With 0 nothing is waited for, and nothing but
    ///     the events is written: no checkpoint.
    /// - Returns: the last of the records.
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for no events, unknown ones, and numbers that are none;
    ///   ``HabitStoreError/Code/limitExceeded`` for a line that is too long; ``HabitStoreError/Code/busy``, and what the
    ///   system refuses.
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

    /// Adds events as ``append(_:at:anchor:waitSeconds:)`` does.
    ///
    /// - Parameter trust: what a checkpoint is written by, asked for where one is due; nil for none now.
    /// - Returns: the last record, and what was written, a checkpoint included.
    func add(
        _ events: [EvidenceEvent],
        at time: Date,
        anchor: EvidenceHead?,
        waitSeconds: Double,
        trust: () -> EvidenceTrust?
    ) throws -> (last: EvidenceRecord, stretch: EvidenceStretch) {
        let file = try EvidenceFile(path, .append, waitSeconds: waitSeconds)
        return try add(events, to: file, at: time, anchor: anchor, checkpoints: waitSeconds > 0, trust: trust)
    }

    /// The same in a file that the caller has locked.
    func add(
        _ events: [EvidenceEvent],
        to file: borrowing EvidenceFile,
        at time: Date,
        anchor: EvidenceHead?,
        checkpoints: Bool = true,
        trust: () -> EvidenceTrust?
    ) throws -> (last: EvidenceRecord, stretch: EvidenceStretch) {
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
        return (try line.withUnsafeBytes(EvidenceLine.parse), EvidenceStretch(before: before, last: head))
    }

    /// All records, checked; none when there is no file.
    ///
    /// - Throws: ``HabitStoreError/Code/limitExceeded`` for a file that is too large, and what the system refuses. A
    ///   damaged file is no error: the chain says so.
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

    /// The place that the log has come to, without reading it all; ``EvidenceHead/start`` when there is none.
    ///
    /// - Throws: what the system refuses.
    public func head() throws -> EvidenceHead {
        guard let file = try open() else { return .start }
        return try file.tail().head
    }

    /// How long the file is; 0 where there is none, or nothing can be told.
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
