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
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.error("cannot be opened", errno, path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.error("cannot be looked at", errno, path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(.inputOutput, "the file of evidence keys is not a file", at: .init(path: path))
        }
        guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw HabitStoreError(
                .permissionDenied,
                "the file of evidence keys is not for its owner alone: make it yours, and `chmod 600` it",
                at: .init(path: path)
            )
        }
        var bytes = [UInt8](repeating: 0, count: Self.maximumFileBytes + 1)
        var count = 0
        while count < bytes.count {
            let part = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if part < 0, errno == EINTR { continue }
            guard part >= 0 else { throw Self.error("cannot be read", errno, path) }
            if part == 0 { break }
            count += part
        }
        let lines = bytes[..<count].split(separator: UInt8(ascii: "\n")).map { Data($0) }
        guard count <= Self.maximumFileBytes, lines.allSatisfy({ $0.allSatisfy { $0 > 0x20 && $0 < 0x7F } }) else {
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

    private static func error(_ what: String, _ number: Int32, _ path: String) -> HabitStoreError {
        HabitStoreError(
            number == ENOENT || number == ENOTDIR ? .notFound : number == EACCES ? .permissionDenied : .inputOutput,
            "the file of evidence keys \(what): \(String(cString: strerror(number)))",
            at: .init(path: path)
        )
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
