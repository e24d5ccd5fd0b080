/// The columns of a file's history, for both layouts; `t` is the transaction in the expressions.
struct CoreDataHistoryColumns: Sendable {
    let hasNamesInTable: Bool
    let author: String
    let context: String
    let process: String
    let bundle: String
    /// `ZTOMBSTONE0` and so on.
    let tombstones: [String]

    /// Nil if the file has no history.
    init?(_ tables: StoreTables) {
        let needed = ["Z_PK", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"]
        guard tables.has("ZTIMESTAMP", in: "ATRANSACTION"), needed.allSatisfy({ tables.has($0, in: "ACHANGE") }) else {
            return nil
        }
        let names = tables.columns["ATRANSACTIONSTRING"] != nil
        hasNamesInTable = names && tables.has("ZAUTHORTS", in: "ATRANSACTION")
        func expression(_ column: String) -> String {
            var parts: [String] = []
            if names, tables.has(column + "TS", in: "ATRANSACTION") {
                parts.append("(SELECT ZNAME FROM ATRANSACTIONSTRING s WHERE s.Z_PK = t.\(column)TS)")
            }
            if tables.has(column, in: "ATRANSACTION") { parts.append("t.\(column)") }
            return parts.isEmpty ? "NULL" : "coalesce(\(parts.joined(separator: ", ")), NULL)"
        }
        author = expression("ZAUTHOR")
        context = expression("ZCONTEXTNAME")
        process = expression("ZPROCESSID")
        bundle = expression("ZBUNDLEID")
        tombstones = tables.columns["ACHANGE", default: []].map(\.name).filter { $0.isNumbered("ZTOMBSTONE") }.sorted()
    }
}
