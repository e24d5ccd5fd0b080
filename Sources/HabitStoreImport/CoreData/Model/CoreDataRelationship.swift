/// A relationship of an entity.
public struct CoreDataRelationship: Sendable, Hashable, Encodable {
    /// Where the file keeps it.
    public enum Storage: Sendable, Hashable, Encodable {
        /// In a column of this entity's table; the second column says of which entity the target is, where it may be several.
        case column(String, entityColumn: String?)
        /// On the other side, in the column of the inverse relationship, or in one that was made for it.
        case otherSide(column: String)
        /// In a table of its own: the column that leads here, and the one that leads to the targets.
        case table(String, here: String, there: String)
        /// Nowhere that was found.
        case missing

        private enum CodingKeys: String, CodingKey { case kind, column, entityColumn, table, here, there }

        /// Writes `kind` (`column`, `otherSide`, `table`, `missing`), and the names that belong to it.
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
    /// The entity that it leads to.
    public let destination: String
    /// The relationship that leads back.
    public let inverse: String?
    /// Whether it leads to many records.
    public let isToMany: Bool
    /// Whether these have an order.
    public let isOrdered: Bool
    /// Whether a record may be without.
    public let isOptional: Bool
    /// What happens to the other side: `noAction`, `nullify`, `cascade`, `deny`.
    public let deleteRule: String
    /// The entity that declares it: this one, or one that it inherits from.
    public let declaredIn: String
    /// Whether it is a guess from columns and tables, for want of a model.
    public let isGuessed: Bool
    /// Where the file keeps it.
    public internal(set) var storage = Storage.missing
    /// The column that holds the order of an ordered relationship.
    public internal(set) var orderColumn: String?

    var baseColumn: String { "Z" + name.uppercased() }
}
