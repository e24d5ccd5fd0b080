import Foundation

extension EvidenceLine {
    /// A line whose hash is right, and of which no more was read than its place.
    struct Skimmed {
        let head: EvidenceHead
        let previous: String
    }

    private static let previousKey = Array("\"previous\":\"".utf8)
    private static let sequenceKey = Array("\",\"sequence\":".utf8)
    private static let event = Array("\"event\":{".utf8)
    private static let refusal = Array("\"event\":{\"kind\":\"refused\",".utf8)
    private static let checkpoint = Array("\"event\":{\"kind\":\"checkpoint\",".utf8)
    /// How an event begins that came with an epoch and no name that sorts before it: of a move, among others.
    private static let epoch = Array("\"event\":{\"epoch\":".utf8)
    private static let timeBytes = #","time":"2026-05-04T09:30:00.250Z","#.utf8.count

    /// Reads the place of a refusal in the form that every version has written it in, and not the refusal: an old log has
    /// hundred thousands of them, and the last one is all that counts.
    ///
    /// - Returns: nil for any other line.
    static func skimRefusal(_ line: UnsafeRawBufferPointer) -> Skimmed? { skim(line, event: refusal) }

    /// Reads the place of a line that is in the form that every version has written lines in, and not its event.
    ///
    /// - Returns: nil for a line in another form, whose hash may be right all the same.
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

    /// Where in bytes a line begins that may be a checkpoint, the last place first. No text in a record can look like one,
    /// for its quotation marks are escaped.
    ///
    /// - Parameter beginsLine: whether a line begins with the first byte.
    static func checkpoints(in bytes: [UInt8], beginsLine: Bool) -> [Int] {
        lines(in: bytes, beginsLine: beginsLine) { event($0, beginsWith: checkpoint) }
    }

    /// Where in bytes a line begins that may tell of a move, is a checkpoint or may have a hash, the last place first.
    static func moves(in bytes: [UInt8], beginsLine: Bool, orHash hash: [UInt8]) -> [Int] {
        lines(in: bytes, beginsLine: beginsLine) { line in
            event(line, beginsWith: epoch) || event(line, beginsWith: checkpoint)
                || line.count > hashRange.upperBound && line[hashRange].elementsEqual(hash)
        }
    }

    /// Where in bytes a line begins that may have a hash, the last place first.
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
