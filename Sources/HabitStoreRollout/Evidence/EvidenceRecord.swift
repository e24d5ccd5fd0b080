import Foundation

/// One line of an evidence log.
///
/// A line is a JSON object whose keys stand in this order:
///
/// ```
/// {"hash":"3b0c…","previous":"9f31…","sequence":2,"time":"2026-05-04T09:30:00.250Z","event":{"kind":"killed",…}}
/// ```
///
/// The rule of the hash: it is the SHA-256 of the line's bytes from the 76th on, which is where `"previous"` begins, its
/// newline included. So `sed -n 2p evidence.jsonl | cut -b 76- | sha256sum` prints what line 2 has as its `hash`, and
/// line 3 as its `previous`. The first line's `previous` is 64 zeros; sequences count from 1, as lines do. A file may also begin
/// with a checkpoint, whose `previous` is the hash of an archive's last line, or with a reset, whose `previous` is zeros; their
/// sequences go on from what was archived or put aside.
///
/// A line that was sealed with a key has one more field at its end, `"mac"` of 64 digits: HMAC-SHA-256 of the text
/// `HabitStore evidence 1`, a newline, the owner that the user's stores have, a newline, and the line's bytes from the 76th up to the
/// comma before this field. The hash covers it.
public struct EvidenceRecord: Sendable, Hashable, Codable {
    /// The record's number, from 1.
    public let sequence: Int
    /// When it was written, to the millisecond.
    public let time: Date
    /// What happened.
    public let event: EvidenceEvent
    /// The hash of the record before, 64 lower-case hexadecimal digits.
    public let previous: String
    /// The hash of this one.
    public let hash: String

    /// The log's head when this record is its last.
    public var head: EvidenceHead { EvidenceHead(sequence: sequence, hash: hash) }
}
