import Foundation
import HabitStore

/// A text that is not finished.
public struct Draft: PersistentModel {
    /// The identity.
    public var id: UUID
    /// The text.
    public var content: String
    /// When it was begun.
    public var creationDate: Date
    /// Names of attached files, in the user's order.
    public var attachments: [String]

    /// Makes a draft.
    public init(id: UUID = UUID(), content: String, creationDate: Date = Date(), attachments: [String] = []) {
        self.id = id
        self.content = content
        self.creationDate = creationDate
        self.attachments = attachments
    }

    /// The declaration.
    public static let entity = EntityDescription(
        Draft.self,
        attributes: [
            .id(\Draft.id),
            .attribute("content", \Draft.content),
            .attribute("creationDate", \Draft.creationDate),
            .attribute("attachments", \Draft.attachments),
        ],
        indexes: [.index(\Draft.creationDate)]
    )

    /// Reads the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(
            id: try row.nextUUID(),
            content: try row.nextString(),
            creationDate: try row.nextDate(),
            attachments: try row.nextStrings()
        )
    }

    /// Writes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(content)
        try row.append(creationDate)
        row.append(attachments)
    }
}
