import Foundation

/// A statement without comments and white space, words in lower case. Quoted names are unchanged, because SQLite may take one for a text
/// (https://www.sqlite.org/quirks.html#double_quoted_string_literals_are_accepted).
struct SQLTokens: Hashable {
    private let bytes: [UInt8]

    init(_ sql: String) {
        let text = Array(sql.utf8)
        var bytes: [UInt8] = []
        var place = 0
        func isWord(_ byte: UInt8) -> Bool {
            byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }
        func begins(_ pair: String) -> Bool { text[place...].starts(with: pair.utf8) }
        while place < text.count {
            let byte = text[place]
            if begins("--") {
                place = text[place...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
            } else if begins("/*") {
                place += 2
                while place < text.count, !begins("*/") { place += 1 }
                place += 2
            } else if [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains(byte) {
                place += 1
            } else if let end = Self.closing(byte) {
                bytes.append(0)
                let isText = byte == UInt8(ascii: "'")
                if isText { bytes.append(byte) }
                place += 1
                while place < text.count {
                    if text[place] == end {
                        guard end != UInt8(ascii: "]"), place + 1 < text.count, text[place + 1] == end else { break }
                        place += 1
                    }
                    bytes.append(text[place])
                    place += 1
                }
                place += 1
            } else {
                bytes.append(0)
                let end = isWord(byte) ? text[place...].firstIndex { !isWord($0) } ?? text.count : place + 1
                bytes += text[place..<end].map(lowercased)
                place = end
            }
        }
        self.bytes = bytes
    }

    private static func closing(_ quote: UInt8) -> UInt8? {
        switch quote {
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): quote
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: nil
        }
    }
}

/// Something that a file declares.
struct Declaration: Hashable {
    /// The table, view or virtual table that it belongs to.
    let owner: SQLName
    /// `a trigger`, `a foreign key`.
    let what: String
    /// Equal if SQLite treats both alike.
    let tokens: SQLTokens
    /// As a report shows it.
    let text: String
    let ownerName: String

    init(_ what: String, _ text: String, of owner: String) {
        (self.owner, self.what, tokens) = (owner.sqlName, what, SQLTokens(text))
        self.text = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        ownerName = owner
    }

    static func == (left: Declaration, right: Declaration) -> Bool {
        left.owner == right.owner && left.what == right.what && left.tokens == right.tokens
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(owner)
        hasher.combine(what)
        hasher.combine(tokens)
    }
}

extension TableFile {
    /// The declarations of a table that are about more than one column: those that have to be equal, and indexes that are not unique.
    func declarations(of table: Table) throws -> (binding: Set<Declaration>, indexes: Set<Declaration>) {
        var binding: Set<Declaration> = []
        var indexes: Set<Declaration> = []
        let name = SourceConnection.literal(table.name)
        if table.isStrict { binding.insert(Declaration("the word", "STRICT", of: table.name)) }
        if table.isWithoutRowid { binding.insert(Declaration("the words", "WITHOUT ROWID", of: table.name)) }
        if table.keepsKeys, table.rowidKey != nil {
            binding.insert(Declaration("the word", "AUTOINCREMENT", of: table.name))
        }
        let list = try connection.prepare(
            "SELECT i.name, i.\"unique\", i.partial, s.sql FROM pragma_index_list(\(name)) AS i LEFT JOIN sqlite_master AS s "
                + "ON s.type = 'index' AND s.name = i.name"
        )
        while try list.step() {
            let index = list.text(0) ?? ""
            var (parts, hasExpression): ([String], Bool) = ([], false)
            let rows = try connection.prepare(
                "SELECT name, desc, coll FROM pragma_index_xinfo(\(SourceConnection.literal(index))) WHERE key ORDER BY seqno"
            )
            while try rows.step() {
                hasExpression = hasExpression || rows.text(0) == nil
                let collation = rows.text(2).map { $0 == "BINARY" ? "" : " COLLATE \($0)" } ?? ""
                parts.append(
                    Self.name(rows.text(0) ?? "") + (rows.optionalInt(1) == 1 ? " DESC" : "") + collation
                )
            }
            var text = parts.joined(separator: ", ")
            // Expressions and conditions are only in the statement: CREATE … INDEX name ON table (…) ….
            if hasExpression || list.optionalInt(2) == 1, let sql = list.text(3) {
                let rest = sql.range(of: index).map { sql[$0.upperBound...] } ?? sql[...]
                text = String(rest.drop { $0 != "(" })
            }
            if list.optionalInt(1) == 1 {
                binding.insert(Declaration("a unique index over", text, of: table.name))
            } else {
                indexes.insert(Declaration("an index over", text, of: table.name))
            }
        }
        return (binding.union(try foreignKeys(of: table)), indexes)
    }

    /// A name in one spelling.
    private static func name(_ name: String) -> String { SourceConnection.quoted(name.sqlName.text) }

    private func foreignKeys(of table: Table) throws -> Set<Declaration> {
        let rows = try connection.prepare(
            "SELECT id, \"table\", \"from\", \"to\", on_update, on_delete FROM pragma_foreign_key_list("
                + "\(SourceConnection.literal(table.name))) ORDER BY id, seq"
        )
        var keys: [Int64: (parent: String, pairs: [String], actions: String)] = [:]
        while try rows.step() {
            let (id, parent) = (rows.optionalInt(0) ?? 0, rows.text(1) ?? "")
            let actions = "ON UPDATE \(rows.text(4) ?? "") ON DELETE \(rows.text(5) ?? "")"
            let place = keys[id]?.pairs.count ?? 0
            // Without columns, a reference means the primary key.
            let known = self.table(parent)?.primaryKey ?? []
            let to = rows.text(3) ?? (place < known.count ? known[place] : "")
            let pair = "\(Self.name(rows.text(2) ?? "")) to \(Self.name(to))"
            keys[id, default: (parent, [], actions)].pairs.append(pair)
        }
        return Set(
            keys.values.map { key in
                let pairs = key.pairs.sorted().joined(separator: ", ")
                return Declaration(
                    "a foreign key",
                    "\(pairs) of \(Self.name(key.parent)) \(key.actions)",
                    of: table.name
                )
            }
        )
    }

    /// The views, triggers and virtual tables.
    func otherDeclarations() throws -> Set<Declaration> {
        let rows = try connection.prepare(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('view', 'trigger') "
                + "OR (type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%')"
        )
        var found: Set<Declaration> = []
        while try rows.step() {
            let (name, owner, sql) = (rows.text(1) ?? "", rows.text(2) ?? "", rows.text(3) ?? "")
            switch rows.text(0) {
            case "trigger":
                if try name.hasPrefix(Self.storePrefix) && isAdopted { continue }
                found.insert(Declaration("a trigger", sql, of: owner))
            case "view": found.insert(Declaration("the view", sql, of: name))
            default: found.insert(Declaration("the virtual table", sql, of: name))
            }
        }
        return found
    }
}
