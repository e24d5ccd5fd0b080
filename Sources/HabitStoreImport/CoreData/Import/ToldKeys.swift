/// The keys whose insertion the file's history records, ascending, read in step with the records.
struct ToldKeys {
    private let keys: SourceStatement?
    private var next: Int64?

    /// - Parameter root: an entity without a superentity; the entities that inherit from it share its keys.
    init(_ file: CoreDataFile, root: String) throws {
        guard file.history != nil else {
            keys = nil
            return
        }
        let numbers = file.model.family(of: root).map { String($0.number) }.joined(separator: ", ")
        let keys = try file.connection.prepare(
            "SELECT DISTINCT ZENTITYPK FROM ACHANGE WHERE ZCHANGETYPE = 0 AND ZENTITY IN (\(numbers)) "
                + "AND ZENTITYPK NOT NULL AND ZTRANSACTIONID IN (SELECT Z_PK FROM ATRANSACTION) ORDER BY 1"
        )
        self.keys = keys
        next = try keys.step() ? keys.optionalInt(0) : nil
    }

    /// Whether the history records the insertion of a key. Callers ask for keys in ascending order.
    mutating func contains(_ key: Int64) throws -> Bool {
        guard let keys else { return false }
        while let told = next, told < key { next = try keys.step() ? keys.optionalInt(0) : nil }
        return next == key
    }
}
