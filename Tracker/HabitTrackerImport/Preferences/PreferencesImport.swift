import DurableFiles
import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker

/// Moves texts out of a preferences file (a property list, binary or XML) into a store, as drafts.
///
/// The key's list is emptied in the file once its drafts are durable in the store. Whatever stops a run in between, the next
/// one with the same folder of notes goes on where it was: no text is lost, and none becomes two drafts. Drafts that are no
/// longer in a store that was put back from a backup meanwhile are made again. Two equal texts in a
/// list are two drafts, and so is a text that is written again after the list was emptied.
///
/// How: before anything else is done, a *journal* is written. It names the batch, from which the drafts' identifiers follow,
/// and a file beside the preferences that holds them with the key emptied. That file is then *exchanged* with the
/// preferences in one step, where the file system can do so. Which of the two is where tells the next run how far this one
/// came; and what the app wrote in the very last moment is in the file that came back, and is not lost either.
public struct PreferencesImport {
    /// What a run did.
    public struct Outcome: Sendable, Equatable {
        /// Drafts that this run has made.
        public var made = 0
        /// Drafts that an interrupted run had made, whose texts this one has taken out of the file, or would have to.
        public var madeBefore = 0
        /// Texts whose Unicode form is another one in the store; they are equal to what they were.
        public var normalized = 0
        /// The file with the originals of texts of which NFC, the store's form, replaces characters; nil without any.
        public var originals: String?
        /// Whether the key was emptied, or had been by the interrupted run.
        public var isEmptied = false
        /// Whether an earlier run had been interrupted.
        public var wasInterrupted = false
    }

    /// How often an app may write to the file while it is being emptied.
    static let maximumAttempts = 16
    private static let timeoutSeconds = 10.0
    private static let author = "habitstore import preferences"

    let key: String
    let path: String
    let store: any HabitStore
    let folder: String
    /// Is called before the file is replaced; tests write to the file in it.
    var beforeReplacing: () throws -> Void = {}

    /// An import from a file into a store.
    ///
    /// - Parameters:
    ///   - path: the preferences; where it is a link, the file that it leads to is the one that is changed.
    ///   - key: the key of the outermost dictionary.
    ///   - folder: where the journal is kept; made when it is needed. Always the same one for the same store.
    public init(path: String, key: String, into store: any HabitStore, journalsIn folder: String) {
        self.path = path
        self.key = key
        self.store = store
        self.folder = folder
    }

    /// How many texts a key holds; nothing is changed.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` for a file or a key that cannot be imported from.
    public static func count(in path: String, key: String) throws -> Int {
        try PreferencesFile(path: try WholeFile.resolved(path)).texts(of: key).count
    }

    /// Says what a run would do.
    ///
    /// - Throws: as ``run()`` does for a file that cannot be imported from.
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

    /// Makes the drafts and empties the key.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` for a file that is no sound property list, a key that is not there or
    ///   holds anything but texts: nothing has been changed then. ``HabitStoreError/Code/busy`` when an app goes on writing
    ///   the file; the next run takes it up.
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

    // MARK: Going on

    /// Finds out how far an interrupted run was, and finishes it where only the end is missing.
    ///
    /// The journal and the file that came back may be the last that have the texts: neither is removed before the drafts are
    /// known to be in the store, which may have been put back from a backup since.
    ///
    /// - Returns: its journal, when its drafts are in the store and the file is not emptied yet.
    private func takeUp(_ file: PreferencesFile, _ outcome: inout Outcome) throws -> PreferencesJournal? {
        guard var journal = try journal(for: file) else { return nil }
        outcome.wasInterrupted = true
        let replacement = PreferencesReplacement(journal)
        let committed = try committed(journal)
        let isDone = try replacement.isDone(now: file)
        guard isDone || !committed.isEmpty else {
            // Nothing of it has happened: the drafts come before the emptying.
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
        // What an app wrote in the last moment came back by the exchange, and may hold texts that nobody has seen.
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
        // What came back by the exchange proves that the preferences were emptied after the drafts were made. Without it they
        // may have been put back as well, and then the texts that are there are these, and are made drafts of from there.
        guard committed.isEmpty, try replacement.returned() == nil else { return drafts }
        var counts: [[UInt8]: Int] = [:]
        for text in texts { counts[Array(text.utf8), default: 0] += 1 }
        return drafts.filter { draft in
            guard let count = counts[Array(draft.content.utf8)], count > 0 else { return true }
            counts[Array(draft.content.utf8)] = count - 1
            return false
        }
    }

    /// The journal of an interrupted run over this file: by its path or, when the file was moved since, by its content.
    private func journal(for file: PreferencesFile) throws -> PreferencesJournal? {
        let journals = try PreferencesJournal.all(in: folder).filter { $0.key == key }
        if let journal = journals.first(where: { $0.path == file.path }) { return journal }
        return journals.first { journal in
            [journal.originalSHA256, journal.replacementSHA256].contains(file.sha256)
                && !FileManager.default.fileExists(atPath: journal.path)
        }
    }

    // MARK: Doing it

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
            "an app goes on writing this file: the drafts are in the store, and the key is not emptied yet; "
                + "end the app and run the import again",
            at: .init(path: path)
        )
    }

    /// - Returns: a new journal; nil when there is nothing to do.
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

    /// Writes the journal and the file that is to take the preferences' place.
    private func prepare(
        _ journal: inout PreferencesJournal,
        _ file: PreferencesFile,
        adding texts: [String]
    ) throws -> PreferencesReplacement {
        let changed = try file.emptying(key)
        let isNew = journal.texts.isEmpty
        try WholeFile.makeFolder(folder)
        // Before the drafts of the journal are known to be safe in the file's place, nothing that it says is forgotten.
        journal.stage = .preparing
        journal.identity = file.identity
        journal.originalSHA256 = file.sha256
        journal.replacementSHA256 = ContentDigest.of(changed)
        try journal.write(in: folder)
        let replacement = PreferencesReplacement(journal)
        do {
            try replacement.prepare(changed, like: file.status)
        } catch {
            // Where no file can be made, nothing has happened, and nothing may be left to take up.
            if isNew { try journal.remove(from: folder) }
            throw error
        }
        journal.stage = .prepared
        journal.texts += texts
        try journal.write(in: folder)
        return PreferencesReplacement(journal)
    }

    /// Stores drafts, all in one transaction, after writing the originals of texts that the store changes: the file is about to
    /// lose them.
    private func insert(_ drafts: [Draft], _ outcome: inout Outcome) throws {
        guard !drafts.isEmpty else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var lines = Data()
        for draft in drafts where draft.content.isReplacedByNFC {
            let fields: [String: ImportJSON] = ["content (original)": .string(draft.content)]
            lines += try encoder.encode(AttachmentLine(kind: .draft, id: draft.id, what: "draft", fields: fields))
            lines.append(UInt8(ascii: "\n"))
        }
        if !lines.isEmpty { outcome.originals = try ContentNamedFile.write(lines, as: "drafts", in: folder) }
        try store.insert(drafts, author: Self.author)
        outcome.made += drafts.count
    }

    /// The drafts of a journal, but for some.
    private func drafts(_ journal: PreferencesJournal, without known: Set<UUID>) -> [Draft] {
        let begun = Date(timeIntervalSinceReferenceDate: journal.begun)
        return zip(journal.ids, journal.texts).enumerated().filter { !known.contains($0.element.0) }.map {
            // A millisecond apart: lists of drafts are in the order of their dates.
            Draft(
                id: $0.element.0,
                content: $0.element.1,
                creationDate: begun.addingTimeInterval(Double($0.offset) / 1_000)
            )
        }
    }

    /// The drafts of a journal that are in the store, or have been: one that was deleted since does not come back.
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
                // What is in the store has to be enough.
            }
            return known
        }
    }

    /// What is in a list and was not taken from it yet: each text that was taken stands for one that is equal to it.
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
