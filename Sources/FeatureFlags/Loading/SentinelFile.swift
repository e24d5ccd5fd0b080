import Foundation
import Synchronization

/// A file whose existence is a signal, and which therefore cannot be malformed.
///
/// Anything at the path counts: a file of any content, a directory, a link that leads nowhere. What cannot be looked at,
/// such as a path in a directory that may not be searched, counts too: it is safer to be switched off in error.
public final class SentinelFile: Sendable {
    /// The path.
    public let path: String
    private let present: Atomic<Bool>

    /// Checks the path immediately.
    ///
    /// - Throws: A ``FlagError`` for a path that no file can have: an empty one, or one with a NUL byte.
    public init(path: String) throws(FlagError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw FlagError(.general, "the path of the sentinel file is empty or holds a NUL byte; name a file")
        }
        self.path = path
        present = Atomic(!Self.fingerprint(path).isMissing)
    }

    /// Whether the file was there when it was looked for last. Costs no system call.
    public var isPresent: Bool { present.load(ordering: .acquiring) }

    /// Looks at the path again.
    ///
    /// - Returns: Whether that changed ``isPresent``.
    @discardableResult
    public func check() -> Bool { update(to: Self.fingerprint(path)) }

    /// Takes over the state that was seen at the path.
    ///
    /// - Returns: Whether that changed ``isPresent``.
    func update(to seen: FileFingerprint) -> Bool {
        present.exchange(!seen.isMissing, ordering: .acquiringAndReleasing) == seen.isMissing
    }

    /// The current state of the path; a link at its end is not followed.
    static func fingerprint(_ path: String) -> FileFingerprint { FileFingerprint(path, followsLinks: false) }
}
