import Foundation
import HabitStore

/// A value in an attachment: numbers and texts as in JSON, bytes as `{"base64": …}`, dates as `{"secondsSince2001": …}`, and what JSON
/// cannot express as text.
struct StoredJSON: Encodable, Hashable {
    private let value: SourceValue
    private let isDate: Bool

    init(_ value: SourceValue) {
        self.value = value
        isDate = false
    }

    init(_ value: Value) {
        isDate = if case .date = value { true } else { false }
        switch value {
        case .null: self.value = .null
        case .bool(let flag): self.value = .int(flag ? 1 : 0)
        case .int(let number): self.value = .int(number)
        case .double(let number): self.value = .real(number)
        case .date(let date): self.value = .real(date.timeIntervalSinceReferenceDate)
        case .string(let text): self.value = .text(text)
        case .uuid(let id): self.value = .text(id.uuidString)
        case .data(let bytes): self.value = .blob(bytes)
        case .strings(let texts): self.value = .text(texts.joined(separator: "\n"))
        case .links(let ids): self.value = .text(ids.map(\.uuidString).joined(separator: "\n"))
        }
    }

    private enum CodingKeys: String, CodingKey { case base64, secondsSince2001 }

    func encode(to encoder: any Encoder) throws {
        switch value {
        case .blob(let bytes), .malformedText(let bytes):
            var container = encoder.container(keyedBy: CodingKeys.self)
            return try container.encode(bytes.base64EncodedString(), forKey: .base64)
        default: break
        }
        if isDate, case .real(let seconds) = value {
            var container = encoder.container(keyedBy: CodingKeys.self)
            return try container.encode(seconds, forKey: .secondsSince2001)
        }
        var container = encoder.singleValueContainer()
        switch value {
        case .int(let number): try container.encode(number)
        case .real(let number) where number.isFinite: try container.encode(number)
        case .real(let number): try container.encode("\(number)")
        case .text(let text): try container.encode(text)
        case .null, .blob, .malformedText: try container.encodeNil()
        }
    }
}
