/// A relationship of an entity.
public struct CoreDataRelationship: Sendable, Hashable, Encodable {
    /// Where the file stores a relationship.
    public enum Storage: Sendable, Hashable, Encodable {
        /// In a column of this entity's table; if the target may be of several entities, the second column has its entity's number.
        case column(String, entityColumn: String?)
        /// On the other side, in the column of the inverse or in a column made for the relationship.
        case otherSide(column: String)
        /// In a link table: the column that refers to this side, and the one that refers to the targets.
        case table(String, here: String, there: String)
        /// Not found in the file.
        case missing

        private enum CodingKeys: String, CodingKey { case kind, column, entityColumn, table, here, there }

        /// Encodes `kind` (`column`, `otherSide`, `table`, `missing`) and the names of that kind.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .column(let column, let entityColumn):
                try container.encode("column", forKey: .kind)
                try container.encode(column, forKey: .column)
                try container.encodeIfPresent(entityColumn, forKey: .entityColumn)
            case .otherSide(let column):
                try container.encode("otherSide", forKey: .kind)
                try container.encode(column, forKey: .column)
            case .table(let table, let here, let there):
                try container.encode("table", forKey: .kind)
                try container.encode(table, forKey: .table)
                try container.encode(here, forKey: .here)
                try container.encode(there, forKey: .there)
            case .missing: try container.encode("missing", forKey: .kind)
            }
        }
    }

    /// The name.
    public let name: String
    /// The entity of its targets.
    public let destination: String
    /// The name of the inverse relationship.
    public let inverse: String?
    /// Whether it is a to-many relationship.
    public let isToMany: Bool
    /// Whether the targets are ordered.
    public let isOrdered: Bool
    /// Whether a record may lack a target.
    public let isOptional: Bool
    /// The delete rule: `noAction`, `nullify`, `cascade` or `deny`.
    public let deleteRule: String
    /// The entity that declares it: this one or an ancestor.
    public let declaredIn: String
    /// Whether it was guessed from columns and tables, because there is no model.
    public let isGuessed: Bool
    /// Where the file stores it.
    public internal(set) var storage = Storage.missing
    /// The column with the order of an ordered relationship.
    public internal(set) var orderColumn: String?

    var baseColumn: String { "Z" + name.uppercased() }
}
