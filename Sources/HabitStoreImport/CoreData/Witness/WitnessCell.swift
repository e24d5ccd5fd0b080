import Foundation
import HabitStore

/// Compares a cell of a file with values of a store or an attachment.
package enum WitnessCell {
    // MARK: Comparing with a store

    /// Whether a store's value equals the cell: the same number, the same text in NFC, or the same bytes.
    static func equals(_ cell: SourceValue, _ value: Value, _ file: CoreDataFile) -> Bool {
        switch (cell, value) {
        case (.int(let number), .int(let other)): return number == other
        case (.int(let number), .bool(let flag)): return number == (flag ? 1 : 0)
        case (.int(let number), .double(let other)): return Int64(exactly: other) == number
        case (.int(let number), .date(let date)): return Int64(exactly: date.timeIntervalSinceReferenceDate) == number
        case (.int(let number), .string(let text)):
            return text == String(number) || number == 1 && text == "true" || number == 0 && text == "false"
        case (.int(let number), .data(let bytes)): return bytes == Data(String(number).utf8)
        case (.real(let number), .double(let other)): return number == other
        case (.real(let number), .date(let date)): return number == date.timeIntervalSinceReferenceDate
        case (.real(let number), .int(let other)): return Int64(exactly: number) == other
        case (.real(let number), .bool(let flag)): return number == (flag ? 1 : 0)
        case (.real(let number), .string(let text)): return text == String(number)
        case (.real(let number), .data(let bytes)): return bytes == Data(String(number).utf8)
        case (.text(let text), _): return equals(text, value)
        case (.blob(let bytes), _): return equals(bytes, value, file)
        default: return false
        }
    }

    private static func equals(_ text: String, _ value: Value) -> Bool {
        switch value {
        // Swift considers canonically equivalent texts equal.
        case .string(let other): return text == other
        case .uuid(let id): return UUID(uuidString: text) == id
        case .int(let number): return text == String(number)
        case .double(let number): return Double(text) == number
        case .date(let date): return Double(text) == date.timeIntervalSinceReferenceDate
        case .data(let bytes): return bytes == Data(text.utf8)
        case .strings(let texts): return texts == [text] || texts == list(Data(text.utf8))
        default: return false
        }
    }

    private static func equals(_ bytes: Data, _ value: Value, _ file: CoreDataFile) -> Bool {
        switch value {
        case .data(let other):
            if other == bytes { return true }
            if bytes.first == 1, other.count == bytes.count - 1 { return other.elementsEqual(bytes.dropFirst()) }
            return externalName(bytes).flatMap { externalBytes($0, of: file) } == other
        case .uuid(let id): return identifier(bytes) == id
        case .string(let text): return identifier(bytes)?.uuidString == text
        case .strings(let texts): return list(bytes) == texts
        default: return false
        }
    }

    private static func list(_ bytes: Data) -> [String]? {
        (try? JSONSerialization.jsonObject(with: bytes)) as? [String]
    }

    private static func identifier(_ bytes: Data) -> UUID? {
        bytes.count == 16 ? NSUUID(uuidBytes: Array(bytes)) as UUID : nil
    }

    // MARK: External data

    /// The name of an external file, which follows a 2.
    static func externalName(_ bytes: Data) -> String? {
        guard bytes.first == 2, bytes.count == 37 || bytes.count == 38 && bytes.last == 0 else { return nil }
        let name = String(decoding: bytes.dropFirst().prefix(36), as: UTF8.self)
        return UUID(uuidString: name).map { _ in name }
    }

    /// The contents of a store's external file.
    static func externalBytes(_ name: String, of file: CoreDataFile) -> Data? {
        let store = URL(fileURLWithPath: file.path).resolvingSymlinksInPath()
        let folder = ".\(store.deletingPathExtension().lastPathComponent)_SUPPORT"
        let path = store.deletingLastPathComponent().appendingPathComponent("\(folder)/_EXTERNAL_DATA/\(name)")
        return try? Data(contentsOf: path)
    }

    /// Whether a text has characters excluded from composition, which NFC replaces.
    package static func hasReplacedCharacters(_ text: String) -> Bool {
        text.unicodeScalars.contains { !$0.isASCII && $0.properties.isFullCompositionExclusion }
    }

    // MARK: Comparing with an attachment

    /// A textual form of the stored cell, as in a row that was kept whole.
    package static func words(_ cell: SourceValue) -> String {
        switch cell {
        case .null: return "null"
        case .int(let number): return words(number)
        case .real(let number): return number.isFinite ? words(number) : "t:\(number)"
        case .text(let text): return "t:\(text)"
        case .blob(let bytes), .malformedText(let bytes): return "b:\(bytes.base64EncodedString())"
        }
    }

    private static func words(_ number: Int64) -> String { "n:\(number)" }

    private static func words(_ number: Double) -> String { Int64(exactly: number).map(words) ?? "n:\(number)" }

    /// The textual forms of a cell and of what an attribute may have made from it.
    static func forms(_ cell: SourceValue, _ file: CoreDataFile) -> [String] {
        var result = [words(cell)]
        switch cell {
        case .null: break
        case .int(let number):
            result += ["t:\(number)", words(.blob(Data(String(number).utf8)))]
        case .real(let number):
            result += ["t:\(number)", words(.blob(Data(String(number).utf8)))]
        case .text(let text):
            if let number = Double(text), number.isFinite { result.append(Int64(text).map(words) ?? words(number)) }
            if let id = UUID(uuidString: text) { result.append("t:\(id.uuidString)") }
            result.append(words(.blob(Data(text.utf8))))
        case .malformedText: break
        case .blob(let bytes):
            if let id = identifier(bytes) { result.append("t:\(id.uuidString)") }
            if bytes.first == 1 { result.append(words(.blob(Data(bytes.dropFirst())))) }
            if let beside = externalName(bytes).flatMap({ externalBytes($0, of: file) }) {
                result.append(words(.blob(beside)))
            }
        }
        return result
    }

    /// The textual form of a value in an attachment; nil if it has none.
    package static func words(json value: ImportJSON) -> String? {
        switch value {
        case .string(let text): "t:\(text)"
        case .int(let number): words(number)
        case .double(let number): words(number)
        case .object(let members):
            members["base64"]?.text.map { "b:\($0)" } ?? members["secondsSince2001"]?.number.map { words($0) }
        case .null, .bool, .array: nil
        }
    }
}
