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
