import Foundation
import HabitStore

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

    /// The log in a user's folder; creates nothing yet.
    ///
    /// - Parameter keys: seal its lines; nil for lines without seals.
    public init(_ directory: UserDirectory, keys: EvidenceKeys? = nil) {
        path = directory.path + "/" + Self.fileName
        seal = keys.map { EvidenceSeal(keys: $0, owner: directory.owner) }
    }

    init(path: String, seal: EvidenceSeal? = nil) {
        self.path = path
        self.seal = seal
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
    ) throws -> (last: EvidenceRecord, stretch: EvidenceStretch) {
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
