import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// The bytes of a record, newline included; ``EvidenceRecord`` has the rule.
enum EvidenceLine {
    /// Why bytes are not a record.
    struct Fault: Error {
        let reason: String
    }

    private struct Payload: Decodable {
        let previous: String
        let sequence: Int
        let time: String
        let event: EvidenceEvent
    }

    static let newline = UInt8(ascii: "\n")
    static let opening = Array("{\"hash\":\"".utf8)
    static let middle = Array("\",".utf8)
    static let hashRange = 9..<73
    /// The hash covers the bytes from here on: from the 76th byte.
    static let payloadStart = 75
    /// The most bytes before a line's event: the longest record number has 19 digits.
    static let lengthBeforeEvent = 256
    private static let timeFormat = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    /// The years 1970 to 9999, which the time format can represent.
    private static let times = 0.0..<253_402_300_800

    // MARK: Writing

    /// The part of a line that does not depend on its place.
    static func content(_ event: EvidenceEvent, at time: Date) throws -> String {
        if case .unknown(let kind) = event {
            throw HabitStoreError(.invalidValue, "an event of the unknown kind \(kind) cannot be recorded")
        }
        guard times.contains(time.timeIntervalSince1970) else {
            throw HabitStoreError(.invalidValue, "evidence is recorded with a time from 1970 to 9999")
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            let event = String(decoding: try encoder.encode(event), as: UTF8.self)
            return "\"time\":\"\(timeFormat.format(time))\",\"event\":\(event)}\n"
        } catch {
            throw HabitStoreError(.invalidValue, "the event has a number that JSON cannot hold", underlying: error)
        }
    }

    /// The line that follows `head`, and its head.
    ///
    /// - Parameter seal: seals the line; nil for a line without a seal.
    static func make(
        _ content: String,
        after head: EvidenceHead,
        seal: EvidenceSeal? = nil
    ) throws -> (bytes: [UInt8], head: EvidenceHead) {
        let next = head.sequence.addingSaturated(1)
        var payload = Array("\"previous\":\"\(head.hash)\",\"sequence\":\(next),\(content)".utf8)
        if let seal { payload = seal.sealed(payload) }
        guard payloadStart + payload.count <= EvidenceLog.maximumLineBytes else {
            throw HabitStoreError(
                .limitExceeded,
                "the event needs more than the \(EvidenceLog.maximumLineBytes) bytes of a line of evidence"
            )
        }
        let hash = payload.withUnsafeBytes(digest)
        return (opening + hash + middle + payload, EvidenceHead(sequence: next, hash: text(hash)))
    }

    // MARK: Reading

    /// The length of the first line with its newline; nil if there is no newline.
    static func length(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let found = memchr(base, Int32(newline), bytes.count) else { return nil }
        return UnsafeRawPointer(found) - base + 1
    }

    /// - Parameter line: a line with its newline.
    static func parse(_ line: UnsafeRawBufferPointer) throws -> EvidenceRecord {
        guard line.count <= EvidenceLog.maximumLineBytes else {
            throw Fault(reason: "it is longer than \(EvidenceLog.maximumLineBytes) bytes")
        }
        guard line.count > payloadStart, line.last == newline, line.starts(with: opening),
            line[hashRange.upperBound..<payloadStart].elementsEqual(middle)
        else { throw Fault(reason: "it is not a record") }
        let hash = hash(of: line)
        guard line[hashRange].elementsEqual(hash) else {
            throw Fault(reason: "its contents do not have the hash that it states")
        }
        guard let payload = try? JSONDecoder().decode(Payload.self, from: Data(line)),
            let time = try? timeFormat.parse(payload.time)
        else { throw Fault(reason: "it has the right hash, but not the form of a record") }
        return EvidenceRecord(
            sequence: payload.sequence,
            time: time,
            event: payload.event,
            previous: payload.previous,
            hash: text(hash)
        )
    }

    /// The hash of a line, whatever hash it states; if it is too short or too long for a record, the hash of all its bytes.
    static func hash(of line: UnsafeRawBufferPointer) -> [UInt8] {
        let isRecord = line.count > payloadStart && line.count <= EvidenceLog.maximumLineBytes
        return digest(UnsafeRawBufferPointer(rebasing: line[(isRecord ? payloadStart : 0)...]))
    }

    /// Whether bytes at the end of a file, with no newline after them, are what a crash left of an unacknowledged write. They are not if they are
    /// longer than a line, or a whole line whose newline was changed to another byte.
    static func isTorn(_ rest: UnsafeRawBufferPointer) -> Bool {
        guard rest.count <= EvidenceLog.maximumLineBytes else { return false }
        var line = Array(rest)
        line[line.count - 1] = newline
        return line.withUnsafeBytes { (try? parse($0)) == nil }
    }

    static func text(_ hash: [UInt8]) -> String { String(decoding: hash, as: UTF8.self) }

    private static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hasher = SHA256()
        hasher.update(bufferPointer: bytes)
        return hasher.finalize().hexadecimalDigits
    }
}

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

/// A place in an evidence log. A store that remembers it (an anchor) can tell later whether the log was cut off, or is another one.
public struct EvidenceHead: Sendable, Hashable, Codable {
    /// The number of the record; 0 before the first.
    public let sequence: Int
    /// The record's hash, 64 lower-case hexadecimal digits; all zeros before the first.
    public let hash: String

    /// Makes a head.
    public init(sequence: Int, hash: String) {
        self.sequence = sequence
        self.hash = hash
    }

    /// Before the first record.
    public static let start = EvidenceHead(sequence: 0, hash: String(repeating: "0", count: 64))
}

extension EvidenceLine {
    /// A line whose hash is right, and of which only its place was read.
    struct Skimmed {
        let head: EvidenceHead
        let previous: String
    }

    private static let previousKey = Array("\"previous\":\"".utf8)
    private static let sequenceKey = Array("\",\"sequence\":".utf8)
    private static let event = Array("\"event\":{".utf8)
    private static let refusal = Array("\"event\":{\"kind\":\"refused\",".utf8)
    private static let checkpoint = Array("\"event\":{\"kind\":\"checkpoint\",".utf8)
    /// The beginning of events that have an epoch and no name that sorts before it: those of moves, among others.
    private static let epoch = Array("\"event\":{\"epoch\":".utf8)
    private static let timeBytes = #","time":"2026-05-04T09:30:00.250Z","#.utf8.count

    /// Reads the place of a refusal in the form that every version has written, without decoding the event: an old log has hundreds of thousands of
    /// refusals, and only the last one counts.
    ///
    /// - Returns: nil for any other line.
    static func skimRefusal(_ line: UnsafeRawBufferPointer) -> Skimmed? { skim(line, event: refusal) }

    /// Reads the place of a line in the form that every version has written, without decoding its event.
    ///
    /// - Returns: nil for a line in another form, whose hash may still be right.
    static func skim(_ line: UnsafeRawBufferPointer) -> Skimmed? { skim(line, event: event) }

    private static func skim(_ line: UnsafeRawBufferPointer, event: [UInt8]) -> Skimmed? {
        var place = payloadStart
        func take(_ bytes: [UInt8]) -> Bool {
            guard place + bytes.count <= line.count, line[place..<place + bytes.count].elementsEqual(bytes) else {
                return false
            }
            place += bytes.count
            return true
        }
        guard line.count <= EvidenceLog.maximumLineBytes, line.count > payloadStart, line.starts(with: opening),
            line[hashRange.upperBound..<payloadStart].elementsEqual(middle), take(previousKey), place + 64 < line.count
        else { return nil }
        let previous = String(decoding: line[place..<place + 64], as: UTF8.self)
        place += 64
        guard take(sequenceKey) else { return nil }
        var sequence = 0
        while place < line.count, case let digit = line[place], digit >= 48, digit <= 57, sequence < .max / 100 {
            sequence = sequence * 10 + Int(digit - 48)
            place += 1
        }
        place += timeBytes
        guard take(event) else { return nil }
        let hash = hash(of: line)
        guard line[hashRange].elementsEqual(hash) else { return nil }
        return Skimmed(head: EvidenceHead(sequence: sequence, hash: text(hash)), previous: previous)
    }

    /// The places at which a line begins that may be a checkpoint, the last one first. Text in a record cannot look like one, since its quotation
    /// marks are escaped.
    ///
    /// - Parameter beginsLine: whether a line begins with the first byte.
    static func checkpoints(in bytes: [UInt8], beginsLine: Bool) -> [Int] {
        lines(in: bytes, beginsLine: beginsLine) { event($0, beginsWith: checkpoint) }
    }

    /// The places at which a line begins that may be a move or a checkpoint or have the hash, the last one first.
    static func moves(in bytes: [UInt8], beginsLine: Bool, orHash hash: [UInt8]) -> [Int] {
        lines(in: bytes, beginsLine: beginsLine) { line in
            event(line, beginsWith: epoch) || event(line, beginsWith: checkpoint)
                || line.count > hashRange.upperBound && line[hashRange].elementsEqual(hash)
        }
    }

    /// The places at which a line begins that may have the hash, the last one first.
    static func lines(in bytes: [UInt8], beginsLine: Bool, withHash hash: [UInt8]) -> [Int] {
        lines(in: bytes, beginsLine: beginsLine) {
            $0.count > hashRange.upperBound && $0[hashRange].elementsEqual(hash)
        }
    }

    private static func lines(
        in bytes: [UInt8],
        beginsLine: Bool,
        where isMeant: (UnsafeRawBufferPointer) -> Bool
    ) -> [Int] {
        bytes.withUnsafeBytes { bytes in
            var found: [Int] = []
            var start = 0
            if !beginsLine {
                guard let length = length(bytes) else { return [] }
                start = length
            }
            while start < bytes.count {
                let line = UnsafeRawBufferPointer(rebasing: bytes[start...])
                if isMeant(line) { found.append(start) }
                guard let length = length(line) else { break }
                start += length
            }
            return found.reversed()
        }
    }

    private static func event(_ line: UnsafeRawBufferPointer, beginsWith beginning: [UInt8]) -> Bool {
        var place = payloadStart + previousKey.count + 64 + sequenceKey.count
        while place < line.count, line[place] >= 48, line[place] <= 57 { place += 1 }
        place += timeBytes
        let end = place + beginning.count
        return end <= line.count && line[place..<end].elementsEqual(beginning)
    }
}

/// Seals lines of one user's evidence with keys, and recognizes lines that the keys have sealed.
///
/// A sealed line has a last field, `mac`: HMAC-SHA-256 of a fixed word, the user's owner text, and the line's bytes from the 76th up to this field.
/// This binds it to its user, and through the previous hash to the line before. The line's own hash covers it.
struct EvidenceSeal: Sendable, Hashable {
    let keys: EvidenceKeys
    /// ``UserDirectory/owner``.
    let owner: String

    private static let opening = Array(",\"mac\":\"".utf8)
    private static let ending = Array("\"}\n".utf8)
    private static let digits = 64
    private static let length = opening.count + digits + ending.count

    /// The bytes of a line from the 76th on, sealed.
    ///
    /// - Parameter payload: the bytes without the seal.
    func sealed(_ payload: [UInt8]) -> [UInt8] {
        let body = payload.dropLast(2)
        let code = HMAC<SHA256>.authenticationCode(for: message(body), using: SymmetricKey(data: keys.keys[0]))
        return [UInt8](body) + Self.opening + code.hexadecimalDigits + Self.ending
    }

    /// Whether one of the keys sealed the line.
    func holds(_ line: UnsafeRawBufferPointer) -> Bool {
        let end = line.count - Self.length
        guard end > EvidenceLine.payloadStart, line.count <= EvidenceLog.maximumLineBytes,
            line[end..<end + Self.opening.count].elementsEqual(Self.opening), line.suffix(3).elementsEqual(Self.ending),
            let code = Self.code(line[end + Self.opening.count..<line.count - Self.ending.count])
        else { return false }
        let message = message(Array(line[EvidenceLine.payloadStart..<end])[...])
        return keys.keys.contains {
            HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: message, using: SymmetricKey(data: $0))
        }
    }

    private func message(_ body: ArraySlice<UInt8>) -> [UInt8] {
        Array("HabitStore evidence 1\n\(owner)\n".utf8) + body
    }

    private static func code(_ digits: Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            let value: UInt8
            switch digit {
            case 48...57: value = digit - 48
            case 97...102: value = digit - 87
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }
}

extension Int {
    /// The sum of two non-negative numbers, or the largest number: numbers from a file must not overflow.
    package func addingSaturated(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
