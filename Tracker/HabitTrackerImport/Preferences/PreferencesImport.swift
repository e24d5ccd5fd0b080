import DurableFiles
import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker
import JSONText

/// Moves texts from a preferences file (a property list, binary or XML) to a store, as drafts.
///
/// The key's list is emptied in the file once its drafts are durable in the store. If a run is interrupted, the next run with the same
/// journal folder resumes it: no text is lost, and none becomes two drafts. Drafts missing from a store that was restored from a backup in
/// the meantime are created again. Two equal texts in a list are two drafts, and so is a text that is written again after the list was
/// emptied.
///
/// A run first writes a *journal*. It names the batch, from which the drafts' identifiers are derived, and a temporary file next to the
/// preferences with the same contents but an empty list. That file is then *exchanged* with the preferences in one step, if the file system
/// supports that. The places of the two files tell the next run how far this one got. What the app wrote at the very last moment is in the
/// file that was swapped out, so it is not lost either.
public struct PreferencesImport {
    /// The result of a run.
    public struct Outcome: Sendable, Equatable {
        /// Drafts created by this run.
        public var made = 0
        /// Drafts created by an interrupted run, whose texts this run has removed from the file or would remove.
        public var madeBefore = 0
        /// Texts that the store normalized; they are equal to the originals.
        public var normalized = 0
        /// The file with the originals of texts in which NFC, the store's form, replaces characters; nil if there are none.
        public var originals: String?
        /// Whether the key was emptied, by this or the interrupted run.
        public var isEmptied = false
        /// Whether an earlier run was interrupted.
        public var wasInterrupted = false
    }

    /// The number of attempts if an app writes to the file while it is being emptied.
    static let maximumAttempts = 16
    private static let timeoutSeconds = 10.0
    private static let author = "habitstore import preferences"

    let key: String
    let path: String
    let store: any HabitStore
    let folder: String
    /// Called before the file is replaced; tests use it to write to the file.
    var beforeReplacing: () throws -> Void = {}

    /// Prepares an import from a file into a store.
    ///
    /// - Parameters:
    ///   - path: the path of the preferences; for a symbolic link, its target is changed.
    ///   - key: the key in the outermost dictionary.
    ///   - folder: the folder for the journal, created if needed. Always use the same one for the same store.
    public init(path: String, key: String, into store: any HabitStore, journalsIn folder: String) {
        self.path = path
        self.key = key
        self.store = store
        self.folder = folder
    }

    /// The number of texts under a key; changes nothing.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` if the file or key cannot be imported.
    public static func count(in path: String, key: String) throws -> Int {
        try PreferencesFile(path: try WholeFile.resolved(path)).texts(of: key).count
    }

    /// Reports what a run would do.
    ///
    /// - Throws: the errors of ``run()`` for a file that cannot be imported.
    public func rehearse() throws -> Outcome {
        let file = try PreferencesFile(path: try WholeFile.resolved(path))
        let texts = try file.texts(of: key)
        if !texts.isEmpty { _ = try file.emptying(key) }
        var outcome = Outcome()
        outcome.made = texts.count
        outcome.normalized = Self.normalized(texts)
        guard FileManager.default.fileExists(atPath: folder), var journal = try journal(for: file) else {
            return outcome
        }
        outcome.wasInterrupted = true
        let committed = try committed(journal)
        let replacement = PreferencesReplacement(journal)
        guard try !replacement.isDone(now: file) else {
            outcome.madeBefore = committed.count
            outcome.made += try missing(journal, committed, replacement, texts).count
            return outcome
        }
        guard !committed.isEmpty else { return outcome }
        journal.texts += Self.subtracting(journal.texts, from: texts)
        outcome.madeBefore = committed.count
        outcome.made = journal.texts.count - committed.count
        return outcome
    }

    /// Creates the drafts and empties the key.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` if the file is not a valid property list, or the key is missing or has values other
    ///   than texts; nothing is changed then. ``HabitStoreError/Code/busy`` if an app keeps writing to the file; the next run resumes.
    public func run() throws -> Outcome {
        let resolved = try WholeFile.resolved(path)
        let lock = try lock(DurableFile.folder(of: resolved))
        defer { withExtendedLifetime(lock) {} }
        var outcome = Outcome()
        let file = try PreferencesFile(path: resolved)
        _ = try file.texts(of: key)
        var journal: PreferencesJournal?
        if FileManager.default.fileExists(atPath: folder) {
            journal = try takeUp(file, &outcome)
        }
        try work(resolved, &journal, &outcome)
        return outcome
    }

    private func lock(_ folder: String) throws -> LockedFile {
        do {
            return try LockedFile(folder: folder, timeoutSeconds: Self.timeoutSeconds)
        } catch {
            guard error.isBusy else { throw HabitStoreError.system(error, "the folder") }
            throw HabitStoreError(
                .busy,
                "another process has been importing from this folder for \(Self.timeoutSeconds) s; try again",
                at: .init(path: folder)
            )
        }
    }

    // MARK: Resuming

    /// Determines how far an interrupted run got, and finishes it if only the end is missing.
    ///
    /// The journal and the swapped-out file may have the only copies of the texts: neither is removed before the drafts are known to be in
    /// the store, which may have been restored from a backup since.
    ///
    /// - Returns: the journal, if its drafts are in the store and the file is not emptied yet.
    private func takeUp(_ file: PreferencesFile, _ outcome: inout Outcome) throws -> PreferencesJournal? {
        guard var journal = try journal(for: file) else { return nil }
        outcome.wasInterrupted = true
        let replacement = PreferencesReplacement(journal)
        let committed = try committed(journal)
        let isDone = try replacement.isDone(now: file)
        guard isDone || !committed.isEmpty else {
            // Nothing has happened: the drafts are stored before the file is emptied.
            try replacement.discard()
            try journal.remove(from: folder)
            return nil
        }
        outcome.madeBefore = committed.count
        guard isDone else {
            if journal.path != file.path { try replacement.discard() }
            journal.path = file.path
            return journal
        }
        // The swapped-out file has what the app wrote at the last moment, which may include new texts.
        if let late = try replacement.returned(), late.sha256 != journal.originalSHA256 {
            if file.sha256 == journal.replacementSHA256 {
                try replacement.takeBack()
                return journal
            }
            let texts = Self.subtracting(journal.texts, from: try late.texts(of: key))
            journal.texts += texts
            try journal.write(in: folder)
        }
        let missing = try missing(journal, committed, replacement, try file.texts(of: key))
        try insert(missing, &outcome)
        outcome.isEmptied = true
        try replacement.discard()
        try journal.remove(from: folder)
        return nil
    }

    /// The drafts of a journal that the store lacks although the preferences were emptied.
    private func missing(
        _ journal: PreferencesJournal,
        _ committed: Set<UUID>,
        _ replacement: PreferencesReplacement,
        _ texts: [String]
    ) throws -> [Draft] {
        let drafts = drafts(journal, without: committed)
        // The swapped-out file proves that the preferences were emptied after the drafts were stored. Without it, the preferences may have
        // been restored from a backup as well; the texts in them are then imported from there.
        guard committed.isEmpty, try replacement.returned() == nil else { return drafts }
        var counts: [[UInt8]: Int] = [:]
        for text in texts { counts[Array(text.utf8), default: 0] += 1 }
        return drafts.filter { draft in
            guard let count = counts[Array(draft.content.utf8)], count > 0 else { return true }
            counts[Array(draft.content.utf8)] = count - 1
            return false
        }
    }

    /// The journal of an interrupted run on this file, by its path or, if the file was moved since, by its contents.
    private func journal(for file: PreferencesFile) throws -> PreferencesJournal? {
        let journals = try PreferencesJournal.all(in: folder).filter { $0.key == key }
        if let journal = journals.first(where: { $0.path == file.path }) { return journal }
        return journals.first { journal in
            [journal.originalSHA256, journal.replacementSHA256].contains(file.sha256)
                && !FileManager.default.fileExists(atPath: journal.path)
        }
    }

    // MARK: Running

    private func work(_ path: String, _ journal: inout PreferencesJournal?, _ outcome: inout Outcome) throws {
        for _ in 0..<Self.maximumAttempts {
            let file = try PreferencesFile(path: path)
            let texts = try file.texts(of: key)
            guard var current = try journal ?? begun(file, texts) else {
                outcome.isEmptied = true
                return
            }
            let added = Self.subtracting(current.texts, from: texts)
            outcome.normalized += Self.normalized(added)
            let replacement = try prepare(&current, file, adding: added)
            journal = current
            ImportCrashPoint.reach("preferences.prepared")
            try insert(drafts(current, without: try committed(current)), &outcome)
            ImportCrashPoint.reach("preferences.committed")
            try beforeReplacing()
            if try replacement.replace() {
                outcome.isEmptied = true
                ImportCrashPoint.reach("preferences.replaced")
                try replacement.discard()
                try current.remove(from: folder)
                journal = nil
                return
            }
        }
        throw HabitStoreError(
            .busy,
            "an app keeps writing this file: the drafts are in the store, and the key is not emptied yet; "
                + "end the app and run the import again",
            at: .init(path: path)
        )
    }

    /// - Returns: a new journal; nil if there is nothing to do.
    private func begun(_ file: PreferencesFile, _ texts: [String]) throws -> PreferencesJournal? {
        guard !texts.isEmpty else { return nil }
        return PreferencesJournal(
            batch: UUID(),
            path: file.path,
            key: key,
            begun: file.modified.timeIntervalSinceReferenceDate,
            token: try store.currentToken().rawValue
        )
    }

    /// Writes the journal and the file that will replace the preferences.
    private func prepare(
        _ journal: inout PreferencesJournal,
        _ file: PreferencesFile,
        adding texts: [String]
    ) throws -> PreferencesReplacement {
        let changed = try file.emptying(key)
        let isNew = journal.texts.isEmpty
        try WholeFile.makeFolder(folder)
        // Texts of earlier attempts stay in the journal until their drafts are known to be safe.
        journal.stage = .preparing
        journal.identity = file.identity
        journal.originalSHA256 = file.sha256
        journal.replacementSHA256 = ContentDigest.of(changed)
        try journal.write(in: folder)
        let replacement = PreferencesReplacement(journal)
        do {
            try replacement.prepare(changed, like: file.status)
        } catch {
            // Nothing has happened yet, so leave no journal for the next run to resume.
            if isNew { try journal.remove(from: folder) }
            throw error
        }
        journal.stage = .prepared
        journal.texts += texts
        try journal.write(in: folder)
        return PreferencesReplacement(journal)
    }

    /// Stores drafts in one transaction, after writing the originals of texts that the store changes, because the file is about to lose
    /// them.
    private func insert(_ drafts: [Draft], _ outcome: inout Outcome) throws {
        guard !drafts.isEmpty else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var lines = Data()
        for draft in drafts where draft.content.isReplacedByNFC {
            let fields: [String: JSON] = ["content (original)": .string(draft.content)]
            lines += try encoder.encode(AttachmentLine(kind: .draft, id: draft.id, what: "draft", fields: fields))
            lines.append(UInt8(ascii: "\n"))
        }
        if !lines.isEmpty { outcome.originals = try ContentNamedFile.write(lines, as: "drafts", in: folder) }
        try store.insert(drafts, author: Self.author)
        outcome.made += drafts.count
    }

    /// The drafts of a journal, without known ones.
    private func drafts(_ journal: PreferencesJournal, without known: Set<UUID>) -> [Draft] {
        let begun = Date(timeIntervalSinceReferenceDate: journal.begun)
        return zip(journal.ids, journal.texts).enumerated().filter { !known.contains($0.element.0) }.map {
            // One millisecond apart, because lists of drafts are sorted by date.
            Draft(
                id: $0.element.0,
                content: $0.element.1,
                creationDate: begun.addingTimeInterval(Double($0.offset) / 1_000)
            )
        }
    }

    /// The drafts of a journal that are or were in the store; one that was deleted since must not come back.
    private func committed(_ journal: PreferencesJournal) throws -> Set<UUID> {
        let ids = Set(journal.ids)
        guard !ids.isEmpty else { return [] }
        return try store.read { transaction in
            var known: Set<UUID> = []
            for id in ids where try transaction.model(Draft.self, id: id) != nil { known.insert(id) }
            do {
                try transaction.enumerateHistory(after: HistoryToken(rawValue: journal.token)) { past in
                    for change in past.changes where change.kind == .insert && ids.contains(change.id) {
                        known.insert(change.id)
                    }
                    return true
                }
            } catch let error as HabitStoreError where error.code == .historyExpired {
                // Only the current records can be checked then.
            }
            return known
        }
    }

    /// The texts in a list that were not taken yet. Each text taken accounts for one equal text.
    static func subtracting(_ taken: [String], from texts: [String]) -> [String] {
        var counts: [[UInt8]: Int] = [:]
        for text in taken { counts[Array(text.utf8), default: 0] += 1 }
        return texts.filter { text in
            guard let count = counts[Array(text.utf8)], count > 0 else { return true }
            counts[Array(text.utf8)] = count - 1
            return false
        }
    }

    private static func normalized(_ texts: [String]) -> Int {
        texts.count { !$0.utf8.elementsEqual($0.precomposedStringWithCanonicalMapping.utf8) }
    }
}

/// The plan of a run, written to disk before it is carried out, so that the next run knows where this one was interrupted.
struct PreferencesJournal: Codable, Equatable {
    /// The progress of a run.
    enum Stage: String, Codable {
        /// The replacement file may be missing or incomplete.
        case preparing
        /// The replacement file is on disk, or has already replaced the preferences.
        case prepared
    }

    static let currentVersion = 1
    private static let prefix = "preferences-"

    var version = Self.currentVersion
    var stage = Stage.preparing
    /// Identifies this emptying: the same text in a later one is another draft.
    let batch: UUID
    var path: String
    let key: String
    /// The texts taken from the list so far, in order.
    var texts: [String] = []
    /// The creation date of the drafts, in seconds since 2001.
    let begun: Double
    /// The store's token before any of the drafts were stored.
    let token: Int64
    /// The identity and the SHA-256 of the preferences when they were read.
    var identity = ""
    var originalSHA256 = ""
    /// The SHA-256 of the replacement.
    var replacementSHA256 = ""

    /// The path of the replacement; after an exchange, of the original preferences.
    var temporary: String { DurableFile.folder(of: path) + "/.habitstore-\(batch.uuidString.lowercased()).plist" }

    /// The identifiers of the drafts, which stay the same if storing them is repeated.
    var ids: [UUID] { texts.indices.map { DerivedID.make(["preferences", batch.uuidString, String($0)]) } }

    // MARK: Storage

    /// The journals in a folder; there is one if a run was interrupted.
    static func all(in folder: String) throws -> [PreferencesJournal] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw HabitStoreError(.inputOutput, "the folder cannot be read", at: .init(path: folder), underlying: error)
        }
        return try names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".json") }.sorted().map { name in
            let file = folder + "/" + name
            do {
                let journal = try JSONDecoder().decode(Self.self, from: Data(try WholeFile.read(file).bytes))
                guard journal.version == currentVersion else {
                    throw HabitStoreError(
                        .newerVersion,
                        "the notes of an interrupted import are of a newer version",
                        at: .init(path: file)
                    )
                }
                return journal
            } catch let error as DecodingError {
                throw HabitStoreError(
                    .corrupt,
                    "the notes of an interrupted import are damaged; move the file away to start over",
                    at: .init(path: file),
                    underlying: error
                )
            }
        }
    }

    func write(in folder: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(self)
        try FileFailure.mappingErrors { try DurableFile.replace(file(in: folder), bytes) }
    }

    func remove(from folder: String) throws {
        guard unlink(file(in: folder)) == 0 || errno == ENOENT else {
            throw HabitStoreError.system(errno, "the notes of the import cannot be removed", file(in: folder))
        }
        try FileFailure.mappingErrors { try DurableFile.synchronizeFolder(of: file(in: folder)) }
    }

    private func file(in folder: String) -> String { "\(folder)/\(Self.prefix)\(batch.uuidString.lowercased()).json" }
}
