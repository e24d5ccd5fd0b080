import Foundation

/// A value of a property list that is written byte for byte, including the references of keyed archives.
indirect enum PlistValue: Sendable {
    case string(String)
    case int(Int)
    case bool(Bool)
    case real(Double)
    case data(Data)
    case uid(Int)
    case array([PlistValue])
    case dictionary([(String, PlistValue)])

    /// The bytes of a binary property list (`bplist00`).
    var bytes: Data {
        var writer = PlistWriter()
        let top = writer.add(self)
        return writer.finish(top)
    }
}

/// Writes binary property lists with references and offsets of four bytes.
private struct PlistWriter {
    private var objects: [[UInt8]] = []

    mutating func add(_ value: PlistValue) -> Int {
        let place = objects.count
        objects.append([])
        objects[place] = encoded(value)
        return place
    }

    private mutating func encoded(_ value: PlistValue) -> [UInt8] {
        switch value {
        case .bool(let flag): return [flag ? 9 : 8]
        case .int(let number): return [0x13] + big(UInt64(bitPattern: Int64(number)), 8)
        case .real(let number): return [0x23] + big(number.bitPattern, 8)
        case .uid(let number): return [0x83] + big(UInt64(number), 4)
        case .data(let data): return head(0x40, data.count) + data
        case .string(let text):
            guard text.utf8.allSatisfy({ $0 < 128 }) else {
                return head(0x60, text.utf16.count) + text.utf16.flatMap { big(UInt64($0), 2) }
            }
            return head(0x50, text.utf8.count) + Array(text.utf8)
        case .array(let members):
            return head(0xA0, members.count) + members.map { add($0) }.flatMap { big(UInt64($0), 4) }
        case .dictionary(let pairs):
            let keys = pairs.map { add(.string($0.0)) }
            let values = pairs.map { add($0.1) }
            return head(0xD0, pairs.count) + (keys + values).flatMap { big(UInt64($0), 4) }
        }
    }

    private func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [kind | UInt8(count)] : [kind | 15, 0x13] + big(UInt64(count), 8)
    }

    private func big(_ number: UInt64, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }

    func finish(_ top: Int) -> Data {
        var result = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += big(UInt64(result.count), 4)
            result += object
        }
        let table = result.count
        result += offsets + [0, 0, 0, 0, 0, 0, 4, 4]
        result += big(UInt64(objects.count), 8) + big(UInt64(top), 8) + big(UInt64(table), 8)
        return Data(result)
    }
}
