/// The keys of the records of which the file's history tells how they came to be, ascending, read beside the records.
struct ToldKeys {
    private let keys: SourceStatement?
    private var next: Int64?

    /// - Parameter root: an entity that inherits from none; the records of all that inherit from it are numbered together.
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

    /// Whether the history tells of a key. Keys are asked for ascending.
    mutating func contains(_ key: Int64) throws -> Bool {
        guard let keys else { return false }
        while let told = next, told < key { next = try keys.step() ? keys.optionalInt(0) : nil }
        return next == key
    }
}
