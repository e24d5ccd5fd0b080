import Foundation
import HabitStore

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
