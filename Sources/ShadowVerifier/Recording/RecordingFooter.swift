/// The last line of a file of recorded mismatches.
struct RecordingFooter: Codable {
    /// SHA-256 of all bytes before this line, in hexadecimal digits.
    let sha256: String
}
