import Foundation
import HabitStore
import HabitStoreRollout
import Hashing

/// What a hook's bodies are signed with. It is read anew for each request, and stands in no file of the fleet.
struct HookSecret {
    private static let lengths = 16...4_096

    private let key: SymmetricKey

    /// Reads it: all bytes of the file, but for white space at its end.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` for a file that others may read or write, or that is another person's;
    ///   ``HabitStoreError/Code/invalidValue`` for one that is too short or too long; what the system refuses.
    init(path: String) throws {
        var bytes = try SecretFile.bytes(path, "the file of a hook's secret", limit: Self.lengths.upperBound + 1)
        while let last = bytes.last, [0x0A, 0x0D, 0x20, 0x09].contains(last) { bytes.removeLast() }
        guard Self.lengths.contains(bytes.count) else {
            throw HabitStoreError(
                .invalidValue,
                "a hook's secret has \(Self.lengths.lowerBound) to \(Self.lengths.upperBound) bytes: `openssl rand -hex 32` makes one",
                at: .init(path: path)
            )
        }
        key = SymmetricKey(data: bytes)
    }

    /// The signature of a body that is sent at a time, in seconds since 1970: HMAC-SHA256 over the time's digits, a full stop and the body.
    func signature(of body: Data, at seconds: Int) -> String {
        "sha256=" + HMAC<SHA256>.authenticationCode(for: Data("\(seconds).".utf8) + body, using: key).hexadecimal
    }
}
