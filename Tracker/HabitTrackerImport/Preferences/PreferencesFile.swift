import DurableFiles
import Foundation
import HabitStore
import HabitStoreImport

/// The contents of a property list at one moment.
struct PreferencesFile {
    /// The path with symbolic links resolved.
    let path: String
    let bytes: [UInt8]
    let status: stat
    let sha256: String
    private let content: Content

    /// Binary files have their own parser here: Foundation's terminates the process on a file with a set.
    private enum Content {
        case binary(BinaryPreferences)
        case xml([String: Any])
    }

    private static let maximumBytes = 64 << 20

    /// - Throws: ``HabitStoreError/Code/invalidSource`` if it is not a property list with an outermost dictionary.
    init(path: String) throws {
        self.path = path
        (bytes, status) = try WholeFile.read(path, limit: Self.maximumBytes)
        sha256 = ContentDigest.of(bytes)
        content = try Self.parsed(bytes, path)
    }

    /// The time of the last write.
    var modified: Date {
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }

    /// Differs for another file with the same bytes, and after any write to this file.
    var identity: String {
        #if canImport(Darwin)
        let time = status.st_ctimespec
        #else
        let time = status.st_ctim
        #endif
        return "\(status.st_dev)-\(status.st_ino)-\(time.tv_sec).\(time.tv_nsec)"
    }

    /// The texts in the list under a key.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` if the key is missing, or its value is not a list of texts.
    func texts(of key: String) throws -> [String] {
        let (items, keyCount) = try items(of: key)
        guard let items else {
            throw invalid("there is no key \"\(key)\" in the property list; it has \(keyCount) keys")
        }
        return try items.enumerated().map { number, item in
            switch item {
            case .text(let text): return text
            case .other(let kind, isWhole: true):
                throw invalid("the key \"\(key)\" holds \(kind), not a list of texts")
            case .other(let kind, isWhole: false):
                throw invalid("the key \"\(key)\" holds \(kind) as item \(number + 1), not a text")
            }
        }
    }

    private func items(of key: String) throws -> ([PreferencesItem]?, Int) {
        switch content {
        case .binary(let preferences): return (try preferences.list(of: key), try preferences.keyCount())
        case .xml(let root):
            guard let value = root[key] else { return (nil, root.count) }
            guard let list = value as? [Any] else { return ([.other(Self.kind(of: value), isWhole: true)], root.count) }
            let items = list.map { element -> PreferencesItem in
                (element as? String).map { .text($0) } ?? .other(Self.kind(of: element), isWhole: false)
            }
            return (items, root.count)
        }
    }

    /// The bytes of the same property list with an empty list under the key; all other values are unchanged.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` if the result does not pass verification.
    func emptying(_ key: String) throws -> [UInt8] {
        let changed: [UInt8]
        let isSound: Bool
        switch content {
        case .binary(let preferences):
            changed = try preferences.emptying(key)
            isSound = try BinaryPreferences(changed, path: path).isEmptied(key, of: preferences)
        case .xml(var root):
            changed = try XMLPreferences(bytes, path: path).emptying(key)
            guard case .xml(let after) = try Self.parsed(changed, path) else { throw invalid("it changed its form") }
            root[key] = [Any]()
            isSound = (after[key] as? [Any])?.isEmpty == true && NSDictionary(dictionary: after).isEqual(to: root)
        }
        guard isSound else { throw invalid("the key cannot be emptied without touching others; empty it by hand") }
        return changed
    }

    private static func parsed(_ bytes: [UInt8], _ path: String) throws -> Content {
        if bytes.starts(with: Array("bplist".utf8)) {
            let preferences = try BinaryPreferences(bytes, path: path)
            _ = try preferences.keyCount()
            return .binary(preferences)
        }
        // Refuses nesting that would exhaust the stack in Foundation's parser.
        try XMLPreferences.requireShallow(bytes, path: path)
        var format = PropertyListSerialization.PropertyListFormat.xml
        let value: Any
        do {
            value = try PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: &format)
        } catch {
            throw HabitStoreError(
                .invalidSource,
                bytes.isEmpty ? "the file is empty" : "the file is not a property list, or it is damaged",
                at: .init(path: path),
                underlying: error
            )
        }
        guard format == .xml else {
            throw HabitStoreError(
                .invalidSource,
                "this is a property list of the old text form, or none; convert it to XML or binary",
                at: .init(path: path)
            )
        }
        guard let root = value as? [String: Any] else {
            throw HabitStoreError(
                .invalidSource,
                "the property list holds \(kind(of: value)), not a dictionary of keys",
                at: .init(path: path)
            )
        }
        return .xml(root)
    }

    private static func kind(of value: Any) -> String {
        switch value {
        case is String: return "a text"
        case is [Any]: return "a list"
        case is [String: Any]: return "a dictionary"
        case is Data: return "data"
        case is Date: return "a date"
        case let number as NSNumber: return String(cString: number.objCType) == "c" ? "a truth value" : "a number"
        default: return "a value of another kind"
        }
    }

    private func invalid(_ message: String) -> HabitStoreError {
        HabitStoreError(.invalidSource, message, at: .init(path: path))
    }
}

/// A member of a list in preferences.
enum PreferencesItem {
    case text(String)
    /// A description of another kind of value, which is a member or replaces the whole list.
    case other(String, isWhole: Bool)
}

/// Exchanges a preferences file for one with an empty key.
struct PreferencesReplacement {
    private let journal: PreferencesJournal

    init(_ journal: PreferencesJournal) { self.journal = journal }

    /// Creates the replacement file.
    func prepare(_ bytes: [UInt8], like status: stat) throws {
        try FileFailure.mappingErrors {
            try DurableFile.create(journal.temporary, bytes, like: status)
            try DurableFile.synchronizeFolder(of: journal.temporary)
        }
    }

    /// Whether the replacement is in place.
    ///
    /// After the replacement, the temporary file next to the preferences is gone, or it is the file that was swapped out. If another
    /// program removed it, the preferences are still the file that was read.
    func isDone(now file: PreferencesFile) throws -> Bool {
        guard journal.stage == .prepared else { return false }
        if file.path != journal.path { return file.sha256 == journal.replacementSHA256 }
        guard let beside = try sha256(of: journal.temporary) else {
            return file.identity != journal.identity || file.sha256 != journal.originalSHA256
        }
        return beside != journal.replacementSHA256
    }

    /// The file that was swapped out by the exchange; nil if there is none.
    func returned() throws -> PreferencesFile? {
        guard let beside = try sha256(of: journal.temporary), beside != journal.replacementSHA256 else { return nil }
        return try PreferencesFile(path: journal.temporary)
    }

    /// Reverts the exchange, so that the swapped-out file is in place again.
    func takeBack() throws {
        guard try exchange() else { throw failure(EINVAL) }
        try FileFailure.mappingErrors { try DurableFile.synchronizeFolder(of: journal.path) }
    }

    /// Replaces the preferences with the prepared file, if they are unchanged since they were read.
    ///
    /// - Returns: whether the file was replaced.
    func replace() throws -> Bool {
        // The prepared file stays in place, which shows that nothing was replaced.
        guard try sha256(of: journal.path) == journal.originalSHA256 else { return false }
        guard try exchange() else {
            do {
                try DurableFile.move(journal.temporary, to: journal.path)
            } catch {
                throw failure(error.number)
            }
            return true
        }
        ImportCrashPoint.reach("preferences.exchanged")
        if try sha256(of: journal.temporary) != journal.originalSHA256 {
            // The app wrote between the check and the exchange. Put its file back, unless it has written yet again.
            try takeBack()
            guard try sha256(of: journal.temporary) == journal.replacementSHA256 else {
                try takeBack()
                throw HabitStoreError(
                    .busy,
                    "an app keeps writing this file; end it and run the import again, which does the rest",
                    at: .init(path: journal.path)
                )
            }
            return false
        }
        try FileFailure.mappingErrors { try DurableFile.synchronizeFolder(of: journal.path) }
        return true
    }

    /// Removes the temporary file next to the preferences.
    func discard() throws {
        guard unlink(journal.temporary) == 0 || errno == ENOENT || errno == ENOTDIR else {
            throw HabitStoreError.system(
                errno,
                "the temporary file next to the preferences cannot be removed",
                journal.temporary
            )
        }
    }

    /// Exchanges the two files in one step.
    ///
    /// - Returns: false if the file system does not support that; nothing has happened then.
    private func exchange() throws -> Bool {
        do {
            return try DurableFile.exchange(journal.temporary, journal.path)
        } catch {
            throw failure(error.number)
        }
    }

    private func failure(_ number: Int32) -> HabitStoreError {
        HabitStoreError.system(number, "the preferences cannot be replaced; the drafts are in the store", journal.path)
    }

    private func sha256(of path: String) throws -> String? {
        do {
            return ContentDigest.of(try WholeFile.read(path).bytes)
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }
}
