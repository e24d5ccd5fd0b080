import Foundation
import HabitStore

/// Keys outside the users' folders that seal lines of evidence (HMAC-SHA-256), see ``RolloutOptions/evidenceKeys``.
///
/// The first one seals, all of them are accepted. To replace a key, add the new one before it, and remove it when no line counts any more that it
/// sealed. Descriptions never show keys.
public struct EvidenceKeys: Sendable, Hashable {
    /// The minimum length of a key in bytes.
    public static let minimumBytes = 32
    /// The most keys that are accepted.
    public static let maximumKeys = 16
    private static let maximumFileBytes = 65_536

    let keys: [Data]

    /// Takes keys of at least ``minimumBytes``; the first one seals.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for no keys, too many, or one that is too short.
    public init(_ keys: [Data]) throws {
        guard !keys.isEmpty, keys.count <= Self.maximumKeys else {
            throw HabitStoreError(.invalidValue, "there are \(keys.count) evidence keys; give 1 to \(Self.maximumKeys)")
        }
        if let place = keys.firstIndex(where: { $0.count < Self.minimumBytes }) {
            throw HabitStoreError(
                .invalidValue,
                "evidence key \(place + 1) has \(keys[place].count) bytes; it needs at least \(Self.minimumBytes)"
            )
        }
        self.keys = keys
    }

    /// Reads a file of keys, one per line, whose bytes are the key unchanged: `openssl rand -hex 32` makes one.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` for a file that others may read or write, or that another user owns;
    ///   ``HabitStoreError/Code/invalidValue`` for lines that are not keys; system errors.
    public init(path: String) throws {
        let bytes = try SecretFile.bytes(path, "the file of evidence keys", limit: Self.maximumFileBytes)
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { Data($0) }
        guard bytes.count <= Self.maximumFileBytes, lines.allSatisfy({ $0.allSatisfy { $0 > 0x20 && $0 < 0x7F } })
        else {
            throw HabitStoreError(
                .invalidValue,
                "the file of evidence keys must have one key per line: `openssl rand -hex 32` makes a key",
                at: .init(path: path)
            )
        }
        do {
            try self.init(lines)
        } catch let error as HabitStoreError {
            throw HabitStoreError(error.code, error.message, at: .init(path: path))
        }
    }
}

extension EvidenceKeys: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of keys.
    public var description: String { "\(keys.count) evidence keys" }
    /// The number of keys.
    public var debugDescription: String { description }
    /// Shows no keys.
    public var customMirror: Swift.Mirror { Swift.Mirror(self, children: []) }
}
