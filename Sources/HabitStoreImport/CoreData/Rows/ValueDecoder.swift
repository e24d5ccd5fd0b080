import Foundation
import HabitStore

/// Turns what a column holds into a value of its attribute's type.
///
/// The declared type of a column says little about what is stored in it: a whole second of a date is stored as an integer,
/// a decimal as a double, and hands that have been in the file may have left anything.
enum ValueDecoder {
    static func decode(_ stored: SourceValue, as type: CoreDataAttributeType) -> CoreDataValue {
        if stored.isNull { return CoreDataValue(.null) }
        switch type {
        case .integer16, .integer32, .integer64, .objectID: return integer(stored)
        case .decimal, .double, .float: return double(stored)
        case .boolean: return boolean(stored)
        case .date: return date(stored)
        case .string, .uri: return text(stored)
        case .uuid: return uuid(stored)
        case .binary, .transformable: return data(stored)
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

    private static func data(_ stored: SourceValue) -> CoreDataValue {
        switch stored {
        case .blob(let bytes) where isReference(bytes):
            return CoreDataValue(.data(bytes), but: "a reference to data that is kept beside the file")
        case .blob(let bytes): return CoreDataValue(.data(bytes))
        case .text(let text): return CoreDataValue(.data(Data(text.utf8)), but: "text where bytes should be")
        default: return CoreDataValue(lost: stored, "a number where bytes should be")
        }
    }

    /// Large data may be kept in a file of its own, in `.NAME_SUPPORT/_EXTERNAL_DATA` beside the store: in the column stands a 2,
    /// and the file's name, a UUID.
    private static func isReference(_ bytes: Data) -> Bool {
        guard bytes.first == 2, (37...38).contains(bytes.count), bytes.count == 37 || bytes.last == 0 else {
            return false
        }
        return UUID(uuidString: String(decoding: bytes.dropFirst().prefix(36), as: UTF8.self)) != nil
    }

    /// For an attribute whose type is not known: bytes, so that all its values are of one kind.
    private static func asStored(_ stored: SourceValue) -> CoreDataValue {
        switch stored {
        case .blob(let bytes): return CoreDataValue(.data(bytes))
        case .text(let text): return CoreDataValue(.data(Data(text.utf8)))
        case .int(let number): return CoreDataValue(.data(Data(String(number).utf8)))
        case .real(let number): return CoreDataValue(.data(Data(String(number).utf8)))
        case .null: return CoreDataValue(.null)
        }
    }
}
