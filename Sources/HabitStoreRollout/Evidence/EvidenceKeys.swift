import Foundation
import HabitStore

/// Keys outside of the users' folders that lines of evidence are sealed with (HMAC-SHA-256), see
/// ``RolloutOptions/evidenceKeys``.
///
/// The first one seals, all of them are accepted: a new key is put before the old one, and the old one is taken away when
/// nothing counts any more that it has sealed. No description shows them.
public struct EvidenceKeys: Sendable, Hashable {
    /// How long a key is at least.
    public static let minimumBytes = 32
    /// How many keys are accepted.
    public static let maximumKeys = 16
    private static let maximumFileBytes = 65_536

    let keys: [Data]

    /// Keys of ``minimumBytes`` at least; the first one seals.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for no key, too many, and one that is too short.
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

    /// Reads a file of keys, one a line, whose bytes are the key as they stand: `openssl rand -hex 32` makes one.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` for a file that others may read or write, or that is another
    ///   person's; ``HabitStoreError/Code/invalidValue`` for lines that are no keys; what the system refuses.
    public init(path: String) throws {
        let bytes = try SecretFile.bytes(path, "the file of evidence keys", limit: Self.maximumFileBytes)
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { Data($0) }
        guard bytes.count <= Self.maximumFileBytes, lines.allSatisfy({ $0.allSatisfy { $0 > 0x20 && $0 < 0x7F } })
        else {
            throw HabitStoreError(
                .invalidValue,
                "the file of evidence keys has something else in it than one key a line: `openssl rand -hex 32` makes a key",
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
    /// How many there are.
    public var description: String { "\(keys.count) evidence keys" }
    /// How many there are.
    public var debugDescription: String { description }
    /// Shows nothing.
    public var customMirror: Swift.Mirror { Swift.Mirror(self, children: []) }
}
