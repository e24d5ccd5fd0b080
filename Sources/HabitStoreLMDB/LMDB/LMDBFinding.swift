/// Something that a structural check found in a file.
struct LMDBFinding: Equatable, Sendable, CustomStringConvertible {
    /// What a finding means for the use of the file.
    enum Severity: String, Sendable {
        /// The file contradicts itself: do not let liblmdb read it.
        case damage
        /// The file uses what this check does not know: it says nothing about that part.
        case unsupported
        /// Records that no store writes: the file was changed by something else, and liblmdb can read it.
        case foreign
        /// Pages that are neither used nor free: lost space, and no danger.
        case leak
    }

    let severity: Severity
    /// The page it is about; nil when it is about the file.
    let page: UInt64?
    /// One sentence; no contents of the file are in it.
    let message: String

    /// The finding in one line.
    var description: String {
        let place = page.map { "page \($0): " } ?? ""
        return "\(severity.rawValue): \(place)\(message)"
    }
}
