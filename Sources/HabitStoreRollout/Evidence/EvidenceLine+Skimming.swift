import Foundation

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
