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
