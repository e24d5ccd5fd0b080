import Foundation
import HabitStore

/// Refuses JSON from which a decoder would silently drop something (all but one of several members with the same name, the last digits of
/// long numbers), and JSON in another encoding, which the verification cannot read.
package enum JSONMembers {
    /// - Parameter wholeNumbers: whether to refuse integers of more than 64 bits, too.
    /// - Throws: ``HabitStoreError/Code/invalidSource`` with the member and its place.
    package static func require(_ bytes: [UInt8], wholeNumbers: Bool = false, path: String) throws {
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            throw HabitStoreError(.invalidSource, "the JSON is not text in UTF-8", at: .init(path: path))
        }
        // The names in the open objects; nil for an array.
        var open: [Set<String>?] = []
        var awaitsName = false
        var (position, line, lineStart) = (0, 1, 0)
        func failure(_ what: String) -> HabitStoreError {
            let place = "line \(line), byte \(position - lineStart + 1)"
            return HabitStoreError(.invalidSource, "\(what) (\(place))", at: .init(path: path))
        }
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "{"):
                open.append([])
                awaitsName = true
            case UInt8(ascii: "["):
                open.append(nil)
                awaitsName = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = open.popLast()
                awaitsName = false
            case UInt8(ascii: ","): awaitsName = open.last.map { $0 != nil } ?? false
            case UInt8(ascii: "\n"): (line, lineStart) = (line + 1, position + 1)
            case UInt8(ascii: "\""):
                let end = end(of: bytes, from: position)
                if awaitsName, !open.isEmpty {
                    let name = text(bytes[position..<end])
                    if open[open.count - 1]?.insert(name).inserted == false {
                        throw failure("the member \"\(name)\" is there twice in one object")
                    }
                    awaitsName = false
                }
                position = end
                continue
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let token = bytes[position...].prefix { "+-.0123456789eE".utf8.contains($0) }
                let digits = String(decoding: token, as: UTF8.self)
                if wholeNumbers, token.dropFirst().allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), Int64(digits) == nil,
                    token.count > 1
                {
                    throw failure("a number has more digits than can be kept: put it in quotes")
                }
                position += token.count
                continue
            default: break
            }
            position += 1
        }
    }

    /// The position after a quoted text.
    private static func end(of bytes: [UInt8], from start: Int) -> Int {
        var position = start + 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, bytes.count)
    }

    private static func text(_ quoted: ArraySlice<UInt8>) -> String {
        let plain = String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
        guard quoted.contains(UInt8(ascii: "\\")) else { return plain }
        // The decoder of the file refuses a malformed text.
        return (try? JSONDecoder().decode(String.self, from: Data(quoted))) ?? plain
    }
}
