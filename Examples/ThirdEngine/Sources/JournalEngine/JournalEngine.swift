import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// The engine: it keeps the result of the file's commits in memory, and each write appends a commit.
@_spi(Engines) public final class JournalEngine: StorageEngine {
    /// What this handle knows about the file.
    private struct Known {
        var state = JournalState()
        /// The number of the last commit.
        var number: UInt64 = 0
        /// Where the last commit ends.
        var end = JournalHeader.size
        /// Whether this handle is writing a commit to the disk: it holds the writer lock, so no other handle commits.
        var isCommitting = false
        /// Whether it is unknown if this handle's last commit is on the disk.
        var isDoubtful = false
    }

    /// The file's path, as given when the store was opened.
    public let path: String?
    private let schema: Schema
    private let salt: ArraySlice<UInt8>
    private let isReadOnly: Bool
    /// Set to nil when the store is closed; operations in progress keep the file open until they end.
    private let file: Mutex<JournalFile?>
    private let known = Mutex(Known())
    private let writing = WriterLock()
    /// Guards the commit lock, which belongs to the open file, not to a thread.
    private let turn = NSLock()

    /// Opens a file and replays its commits.
    init(path: String, schema: Schema, access: StoreAccess) throws {
        let file = try JournalFile(path: path, access: access)
        salt = try JournalHeader(try file.read(0..<JournalHeader.size), path: path).salt
        self.path = path
        self.schema = schema
        isReadOnly = access == .readOnly
        self.file = Mutex(file)
        _ = try current(file)
    }

    private func opened() throws -> JournalFile {
        guard let file = file.withLock({ $0 }) else {
            throw HabitStoreError(.closed, "the store was closed; open it again", at: .init(path: path))
        }
        return file
    }

    // MARK: Reading

    /// Runs `body` on everything that any process had committed before it began.
    public func read<R>(_ body: (JournalTransaction) throws -> R) throws -> R {
        try body(JournalTransaction(try current(try opened()), schema))
    }

    /// Checks that the path still leads to the file.
    public func requireInPlace() throws { try opened().requireInPlace() }

    /// Everything committed so far. The check for new commits takes one system call; a torn end is examined each time, until a writer cuts it off.
    private func current(_ file: JournalFile) throws -> JournalState {
        let size = try file.size
        let (state, isCurrent) = known.withLock { ($0.state, $0.end == size || $0.isCommitting) }
        if isCurrent { return state }
        return try turn.withLock { try file.withCommitLock(isExclusive: false) { try catchUp(file).state } }
    }

    /// Reads the new commits. No process may commit meanwhile.
    private func catchUp(_ file: JournalFile) throws -> Known {
        var known = known.withLock { $0 }
        let size = try file.size
        guard size >= known.end else {
            throw HabitStoreError.damage(
                "the journal has \(size) bytes, and had \(known.end): it was cut off",
                at: .init(path: path)
            )
        }
        let bytes = try file.read(known.end..<size)
        var place = 0
        while let frame = JournalFrame(bytes, at: place, salt: salt), frame.number == known.number + 1 {
            var reader = ByteReader(frame.changes)
            while !reader.isAtEnd { known.state.apply(try JournalChange(&reader)) }
            known.number = frame.number
            place += frame.size
        }
        if place < bytes.count, JournalFrame.isFollowed(bytes, after: place, number: known.number + 1, salt: salt) {
            throw HabitStoreError.damage(
                "commit \(known.number + 1) is damaged, and a later one is not",
                at: .init(path: path)
            )
        }
        known.end += place
        self.known.withLock { $0 = known }
        return known
    }

    // MARK: Writing

    /// Runs `body` as the only writer of all processes, and writes its changes to the disk.
    public func write<R>(_ body: (JournalTransaction) throws -> R) throws -> R {
        let file = try opened()
        guard !isReadOnly else {
            throw HabitStoreError(.permissionDenied, "the store was opened for reading only", at: .init(path: path))
        }
        return try writing.hold {
            try file.withWriterLock {
                try file.requireInPlace()
                let transaction = JournalTransaction(try settled(file), schema)
                let result = try body(transaction)
                try commit(transaction, to: try opened())
                return result
            }
        }
    }

    /// The state from which a write begins: everything committed, with nothing after it in the file.
    private func settled(_ file: JournalFile) throws -> JournalState {
        try turn.withLock {
            try file.withCommitLock(isExclusive: true) {
                try settleDoubt(file)
                let known = try catchUp(file)
                if try file.size > known.end { try file.cut(at: known.end) }
                return known.state
            }
        }
    }

    /// Writes a commit of unknown outcome to the disk again, or undoes it: after that its outcome is certain.
    private func settleDoubt(_ file: JournalFile) throws {
        let (isDoubtful, end) = known.withLock { ($0.isDoubtful, $0.end) }
        guard isDoubtful else { return }
        try file.append(try file.read(end..<max(end, try file.size)), at: end)
        known.withLock { $0.isDoubtful = false }
    }

    private func commit(_ transaction: JournalTransaction, to file: JournalFile) throws {
        guard !transaction.changes.isEmpty else { return }
        try file.requireInPlace()
        let (number, end) = known.withLock { ($0.number + 1, $0.end) }
        let frame = try JournalFrame.encode(number, transaction.changes, salt: salt)
        known.withLock { $0.isCommitting = true }
        defer { known.withLock { $0.isCommitting = false } }
        do {
            try turn.withLock {
                try file.withCommitLock(isExclusive: true) { try file.append(frame, at: end) }
            }
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            known.withLock { $0.isDoubtful = true }
            throw error
        }
        known.withLock { known in
            known.state = transaction.state
            known.number = number
            known.end = end + frame.count
        }
    }

    /// Empties entities and changes them to another schema version, in one write; see `StorageEngine`.
    public func reshape<R>(
        to schema: Schema,
        _ body: (JournalTransaction, (Set<String>) throws -> JournalTransaction) throws -> R
    ) throws -> R {
        try write { transaction in
            try body(transaction) { names in
                let kept = Set(schema.entities.map(\.name))
                for name in names.union(transaction.state.records.keys.filter { !kept.contains($0) }) {
                    try transaction.change(.empty(entity: name))
                }
                transaction.schema = schema
                return transaction
            }
        }
    }

    // MARK: Maintenance

    /// Reads the whole file again: every frame and every record has a checksum.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        let file = try opened()
        _ = try current(file)
        let (number, end) = known.withLock { ($0.number, $0.end) }
        let bytes = try file.read(0..<end)
        var (place, found) = (JournalHeader.size, UInt64(0))
        while let frame = JournalFrame(bytes, at: place, salt: salt) {
            (place, found) = (place + frame.size, frame.number)
        }
        guard place == end, found == number else {
            return [StoreFinding(.damage, "frameDamaged", "commit \(found + 1) of \(number) is damaged in the file")]
        }
        return try checkRecords(progress)
    }

    private func checkRecords(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        let state = known.withLock { $0.state }
        var findings: [StoreFinding] = []
        for entity in schema.entities {
            try state.records[entity.name]?.forEach(from: IdentifierRange.all.first) { id, record in
                do {
                    _ = try record.bytes.withUnsafeBytes {
                        try RecordView(validating: $0, layout: entity.layout).identifier()
                    }
                } catch let error as HabitStoreError {
                    findings.append(StoreFinding(.damage, "recordDamaged", error.message, entity: entity.name, id: id))
                }
                try progress(1)
                return true
            }
        }
        return findings
    }

    /// Writes a copy of all commits to a path where nothing exists yet.
    public func backup(to path: String) throws {
        let file = try opened()
        _ = try current(file)
        // Committed bytes do not change any more.
        try JournalFile.make(path, try file.read(0..<known.withLock { $0.end }), mayExist: false)
    }

    /// Closes the file.
    public func close() { file.withLock { $0 = nil } }
}
