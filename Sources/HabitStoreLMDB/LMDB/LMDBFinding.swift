/// A finding of a structural check of a file.
struct LMDBFinding: Equatable, Sendable, CustomStringConvertible {
    /// The consequences of a finding for using the file.
    enum Severity: String, Sendable {
        /// The file is inconsistent; liblmdb must not read it.
        case damage
        /// The file uses a feature that this check does not support, so that part is unchecked.
        case unsupported
        /// The file has records that no store writes: something else changed it, but liblmdb can read it.
        case foreign
        /// Some pages are neither used nor free: they waste space but do no harm.
        case leak
    }

    let severity: Severity
    /// The page; nil for a finding about the whole file.
    let page: UInt64?
    /// One sentence, without contents of the file.
    let message: String

    /// The finding in one line.
    var description: String {
        let place = page.map { "page \($0): " } ?? ""
        return "\(severity.rawValue): \(place)\(message)"
    }
}
