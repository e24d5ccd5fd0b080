import Foundation
import HabitStore
import JSONText

/// Converts stored values to values of an attribute's type.
///
/// The declared type of a column says little about its contents: a date without fractions of a second is stored as an integer, a decimal as
/// a double, and edits by hand may have left anything.
enum ValueDecoder {
    static func decode(_ stored: SourceValue, as attribute: CoreDataAttribute, _ external: ExternalData)
        -> CoreDataValue
    {
        if attribute.allowsExternalStorage, case .blob(let bytes) = stored { return inFile(bytes, external) }
        return decode(stored, as: attribute.type, external)
    }

    private static func decode(
        _ stored: SourceValue,
        as type: CoreDataAttributeType,
        _ external: ExternalData
    ) -> CoreDataValue {
        if stored.isNull { return CoreDataValue(.null) }
        switch type {
        case .integer16, .integer32, .integer64, .objectID: return integer(stored)
        case .decimal, .double, .float: return double(stored)
        case .boolean: return boolean(stored)
        case .date: return date(stored)
        case .string, .uri: return text(stored)
        case .uuid: return uuid(stored)
        case .binary, .transformable: return data(stored, external)
        case .undefined, .composite: return asStored(stored)
        }
    }

    private static func integer(_ stored: SourceValue) -> CoreDataValue {
        switch stored {
        case .int(let number): return CoreDataValue(.int(number))
        case .real(let number):
            guard let whole = Int64(exactly: number) else {
                return CoreDataValue(lost: stored, "a number with a fraction")
            }
            return CoreDataValue(.int(whole), but: "a double where a whole number should be")
        case .text(let text):
            guard let number = Int64(text) else { return CoreDataValue(lost: stored, "text where a number should be") }
            return CoreDataValue(.int(number), but: "text where a number should be")
        default: return CoreDataValue(lost: stored, "bytes where a number should be")
        }
    }

    private static func double(_ stored: SourceValue) -> CoreDataValue {
        switch stored {
        case .int(let number):
            let value = Double(number)
            guard Int64(exactly: value) == number else {
                return CoreDataValue(lost: stored, "a number that no double is")
            }
            return CoreDataValue(.double(value))
        case .real(let number):
            guard number.isFinite else { return CoreDataValue(lost: stored, "an infinite number") }
            return CoreDataValue(.double(number))
        case .text(let text):
            guard let number = Double(text), number.isFinite else {
                return CoreDataValue(lost: stored, "text where a number should be")
            }
            return CoreDataValue(.double(number), but: "text where a number should be")
        default: return CoreDataValue(lost: stored, "bytes where a number should be")
        }
    }

    private static func boolean(_ stored: SourceValue) -> CoreDataValue {
        switch stored {
        case .int(0): return CoreDataValue(.bool(false))
        case .int(1): return CoreDataValue(.bool(true))
        case .real(0): return CoreDataValue(.bool(false), but: "a double where a truth value should be")
        case .real(1): return CoreDataValue(.bool(true), but: "a double where a truth value should be")
        default: return CoreDataValue(lost: stored, "neither 0 nor 1 where a truth value should be")
        }
    }

    private static func date(_ stored: SourceValue) -> CoreDataValue {
        switch double(stored) {
        case let decoded where decoded.stored != nil:
            return CoreDataValue(lost: stored, "what is no instant where a date should be")
        case let decoded:
            guard case .double(let seconds) = decoded.value else { return decoded }
            let date = Value.date(Date(timeIntervalSinceReferenceDate: seconds))
            return decoded.problem == nil
                ? CoreDataValue(date) : CoreDataValue(date, but: "text where a date should be")
        }
    }

    private static func text(_ stored: SourceValue) -> CoreDataValue {
        switch stored {
        case .text(let text): return CoreDataValue(.string(text))
        case .malformedText(let bytes):
            // The readable part is better than nothing; the attachment has the bytes.
            let repaired = Value.string(String(decoding: bytes, as: UTF8.self))
            return CoreDataValue(lost: stored, "text that is no UTF-8", as: .malformedText, kept: repaired)
        case .int(let number): return CoreDataValue(.string(String(number)), but: "a number where text should be")
        default: return CoreDataValue(lost: stored, "what is no text where text should be")
        }
    }

    private static func uuid(_ stored: SourceValue) -> CoreDataValue {
        switch stored {
        case .blob(let bytes) where bytes.count == 16:
            return CoreDataValue(.uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }))
        case .text(let text):
            guard let id = UUID(uuidString: text) else { return CoreDataValue(lost: stored, "text that is no UUID") }
            return CoreDataValue(.uuid(id), but: "text where the 16 bytes of a UUID should be")
        default: return CoreDataValue(lost: stored, "what is no UUID where one should be")
        }
    }

    private static func data(_ stored: SourceValue, _ external: ExternalData) -> CoreDataValue {
        switch stored {
        case .blob(let bytes):
            if let name = ExternalData.name(in: bytes) { return beside(name, stored, external) }
            return CoreDataValue(.data(bytes))
        case .text(let text): return CoreDataValue(.data(Data(text.utf8)), but: "text where bytes should be")
        case .malformedText(let bytes): return CoreDataValue(.data(bytes), but: "text where bytes should be")
        default: return CoreDataValue(lost: stored, "a number where bytes should be")
        }
    }

    /// If external storage is allowed, a value begins with a byte: 1 if the data follows, 2 if it is in a separate file.
    private static func inFile(_ bytes: Data, _ external: ExternalData) -> CoreDataValue {
        if bytes.first == 1 { return CoreDataValue(.data(Data(bytes.dropFirst()))) }
        if let name = ExternalData.name(in: bytes) { return beside(name, .blob(bytes), external) }
        return bytes.isEmpty
            ? CoreDataValue(.data(bytes))
            : CoreDataValue(.data(bytes), but: "bytes that do not say whether they are kept in the file or beside it")
    }

    private static func beside(_ name: String, _ stored: SourceValue, _ external: ExternalData) -> CoreDataValue {
        guard let bytes = external.read(name) else {
            return CoreDataValue(
                lost: stored,
                "a reference to data beside the file that is not there or cannot be read",
                as: .externalDataMissing
            )
        }
        return CoreDataValue(.data(bytes))
    }

    /// An attribute of unknown type gets bytes, so that all its values have the same kind.
    private static func asStored(_ stored: SourceValue) -> CoreDataValue {
        switch stored {
        case .blob(let bytes): return CoreDataValue(.data(bytes))
        case .text(let text): return CoreDataValue(.data(Data(text.utf8)))
        case .malformedText(let bytes): return CoreDataValue(.data(bytes))
        case .int(let number): return CoreDataValue(.data(Data(String(number).utf8)))
        case .real(let number): return CoreDataValue(.data(Data(String(number).utf8)))
        case .null: return CoreDataValue(.null)
        }
    }
}

extension CoreDataFile {
    /// Whether an attribute stores lists of texts as JSON, like `[String]` within a composite: every value is such a list, and there is at
    /// least one.
    func holdsTexts(_ attribute: CoreDataAttribute, of entity: CoreDataEntity) throws -> Bool {
        guard attribute.name.contains("."), [.binary, .transformable, .undefined].contains(attribute.type),
            let column = attribute.column
        else { return false }
        let (name, table) = (SourceConnection.quoted(column), SourceConnection.quoted(entity.table))
        let statement = try connection.prepare("SELECT \(name) FROM \(table) WHERE \(name) NOT NULL")
        var found = false
        while try statement.step() {
            guard TextList.read(statement.value(0)) != nil else { return false }
            found = true
        }
        return found
    }
}

/// Decodes a list of texts stored as JSON in UTF-8.
enum TextList {
    static func read(_ stored: SourceValue) -> [String]? {
        switch stored {
        case .blob(let bytes), .malformedText(let bytes): return try? JSONDecoder().decode([String].self, from: bytes)
        case .text(let text): return try? JSONDecoder().decode([String].self, from: Data(text.utf8))
        default: return nil
        }
    }
}

extension JSON {
    /// The value of a database column.
    package init(_ value: SourceValue) {
        switch value {
        case .null: self = .null
        case .int(let number): self = .int(number)
        case .real(let number): self = .double(number)
        case .text(let text): self = .string(text)
        case .blob(let bytes), .malformedText(let bytes): self = .string(bytes.base64EncodedString())
        }
    }

    /// A column's value in an attachment, where bytes are `{"base64": …}`.
    init(stored value: SourceValue) {
        switch value {
        case .blob, .malformedText: self = .object(["base64": JSON(value)])
        case .null, .int, .real, .text: self = JSON(value)
        }
    }

    /// A store's value in an attachment, where bytes are `{"base64": …}`, dates `{"secondsSince2001": …}`, and lists one text of lines.
    init(stored value: Value) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .int(flag ? 1 : 0)
        case .int(let number): self = .int(number)
        case .double(let number): self = .double(number)
        case .date(let date): self = .object(["secondsSince2001": .double(date.timeIntervalSinceReferenceDate)])
        case .string(let text): self = .string(text)
        case .uuid(let id): self = .string(id.uuidString)
        case .data(let bytes): self = .object(["base64": .string(bytes.base64EncodedString())])
        case .strings(let texts): self = .string(texts.joined(separator: "\n"))
        case .links(let ids): self = .string(ids.map(\.uuidString).joined(separator: "\n"))
        }
    }
}

/// A source value that the target cannot hold. It goes to the attachment.
struct ImportLoss: Encodable, Hashable {
    /// The kind of a loss, for callers that may accept some of them.
    enum Kind: String, Sendable, Encodable, CaseIterable {
        /// The target has no place for it, because of the mapping or of the target's rules.
        case noPlace
        /// The stored value has another type than its attribute.
        case otherType
        /// A text that is not valid UTF-8.
        case malformedText
        /// The original of a text in which NFC, the target's form, replaces characters.
        case otherCharacters
        /// External data whose file is missing.
        case externalDataMissing
        /// A column, a row or a link that does not belong to the file's model.
        case unknownToModel
        /// A row of an entity without a key, or with the key of another row.
        case keyUnusable
    }

    /// The entity in the source.
    let entity: String
    /// The record's key in the source.
    let key: Int64
    /// The record's identifier in the target; nil if it was not imported at all.
    let id: UUID?
    /// The attribute or relationship in the source; nil for a whole record.
    let property: String?
    /// The table it was read from; nil if it is not from a single column.
    var table: String?
    var column: String?
    /// The reason why it is not in the target.
    let reason: String
    let value: JSON
    var kind = Kind.noPlace

    private enum CodingKeys: String, CodingKey { case entity, key, id, property, table, column, reason, value }
}
