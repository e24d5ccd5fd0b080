import Foundation

/// One line of an evidence log.
///
/// A line is a JSON object with its keys in this order:
///
/// ```
/// {"hash":"3b0c…","previous":"9f31…","sequence":2,"time":"2026-05-04T09:30:00.250Z","event":{"kind":"killed",…}}
/// ```
///
/// The hash is the SHA-256 of the line's bytes from the 76th on, where `"previous"` begins, newline included. So `sed -n 2p evidence.jsonl | cut -b
/// 76- | sha256sum` prints the `hash` of line 2, which is the `previous` of line 3. The first line's `previous` is 64 zeros; sequences count from 1,
/// as lines do. A file may also begin with a checkpoint, whose `previous` is the hash of an archive's last line, or with a reset, whose `previous` is
/// zeros; their sequences continue those of the archived or replaced lines.
///
/// A line sealed with a key has one more field at its end, `"mac"` of 64 digits: HMAC-SHA-256 of the text `HabitStore evidence 1`, a newline, the
/// owner in the user's stores, a newline, and the line's bytes from the 76th up to the comma before this field. The hash covers it.
public struct EvidenceRecord: Sendable, Hashable, Codable {
    /// The record's number, from 1.
    public let sequence: Int
    /// When it was written, to the millisecond.
    public let time: Date
    /// What happened.
    public let event: EvidenceEvent
    /// The hash of the previous record, 64 lower-case hexadecimal digits.
    public let previous: String
    /// The hash of this record.
    public let hash: String

    /// The log's head if this record is its last.
    public var head: EvidenceHead { EvidenceHead(sequence: sequence, hash: hash) }
}
