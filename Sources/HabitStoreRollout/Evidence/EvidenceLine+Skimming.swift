import Foundation

extension EvidenceLine {
    /// A line whose hash is right, and of which no more was read than its place.
    struct Skimmed {
        let head: EvidenceHead
        let previous: String
    }

    private static let previousKey = Array("\"previous\":\"".utf8)
    private static let sequenceKey = Array("\",\"sequence\":".utf8)
    private static let refusal = Array("\"event\":{\"kind\":\"refused\",".utf8)
    private static let checkpoint = Array("\"event\":{\"kind\":\"checkpoint\",".utf8)
    private static let timeBytes = #","time":"2026-05-04T09:30:00.250Z","#.utf8.count

    /// Reads the place of a refusal in the form that every version has written it in, and not the refusal: an old log has
    /// hundred thousands of them, and the last one is all that counts.
    ///
    /// - Returns: nil for any other line.
    static func skimRefusal(_ line: UnsafeRawBufferPointer) -> Skimmed? {
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
        guard take(refusal) else { return nil }
        let hash = hash(of: line)
        guard line[hashRange].elementsEqual(hash) else { return nil }
        return Skimmed(head: EvidenceHead(sequence: sequence, hash: text(hash)), previous: previous)
    }

    /// Where in bytes a line begins that may be a checkpoint, the last place first. No text in a record can look like one,
    /// for its quotation marks are escaped.
    ///
    /// - Parameter beginsLine: whether a line begins with the first byte.
    static func checkpoints(in bytes: [UInt8], beginsLine: Bool) -> [Int] {
        bytes.withUnsafeBytes { bytes in
            var found: [Int] = []
            var start = 0
            if !beginsLine {
                guard let length = length(bytes) else { return [] }
                start = length
            }
            while start < bytes.count {
                let line = UnsafeRawBufferPointer(rebasing: bytes[start...])
                if mayBeCheckpoint(line) { found.append(start) }
                guard let length = length(line) else { break }
                start += length
            }
            return found.reversed()
        }
    }

    private static func mayBeCheckpoint(_ line: UnsafeRawBufferPointer) -> Bool {
        var place = payloadStart + previousKey.count + 64 + sequenceKey.count
        while place < line.count, line[place] >= 48, line[place] <= 57 { place += 1 }
        place += timeBytes
        let end = place + checkpoint.count
        return end <= line.count && line[place..<end].elementsEqual(checkpoint)
    }
}
