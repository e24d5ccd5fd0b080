import Foundation
import HabitStore

/// An unfinished text.
public struct Draft: PersistentModel {
    /// The identifier.
    public var id: UUID
    /// The text.
    public var content: String
    /// The creation time.
    public var creationDate: Date
    /// The names of attached files, in the user's order.
    public var attachments: [String]

    /// Creates a draft.
    public init(id: UUID = UUID(), content: String, creationDate: Date = Date(), attachments: [String] = []) {
        self.id = id
        self.content = content
        self.creationDate = creationDate
        self.attachments = attachments
    }

    /// The entity description.
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

    /// Decodes the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(
            id: try row.nextUUID(),
            content: try row.nextString(),
            creationDate: try row.nextDate(),
            attachments: try row.nextStrings()
        )
    }

    /// Encodes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(content)
        try row.append(creationDate)
        row.append(attachments)
    }
}
