import Foundation
import Hashing

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
