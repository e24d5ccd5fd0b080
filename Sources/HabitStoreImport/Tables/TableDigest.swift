import Foundation
import HabitStore
import Hashing

extension TableImport {
    /// SHA-256 of the rows that a mapping means, as they are stored, in hexadecimal.
    ///
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` if the tables no longer fit the mapping.
    static func digest(of file: TableFile, _ mapping: TableMapping, _ schema: Schema) throws -> String {
        let plan = try TablePlanner.plan(mapping, file, schema)
        let rows = TableRows(file, plan)
        var digest = RowDigest()
        for source in plan.sources {
            digest.add(.text(source.table.name.sqlName.text))
            var count: Int64 = 0
            try rows.forEachRow(source) {
                for value in $0 { digest.add(value) }
                count += 1
            }
            digest.add(.int(count))
            for links in source.linkTables {
                digest.add(.text(links.table.sqlName.text))
                try rows.forEachLink(links) { for value in $0 { digest.add(value) } }
            }
        }
        return digest.finish()
    }
}

/// Values with their storage class and length.
private struct RowDigest: ~Copyable {
    private var hash = SHA256()
    private var pending = Data()

    mutating func add(_ value: SourceValue) {
        switch value {
        case .null: add("n", Data())
        case .int(let number): add("i", Data(String(number).utf8))
        case .real(let number): add("r", Data(String(number.bitPattern).utf8))
        case .text(let text): add("t", Data(text.utf8))
        case .malformedText(let bytes): add("m", bytes)
        case .blob(let bytes): add("b", bytes)
        }
    }

    private mutating func add(_ kind: String, _ bytes: Data) {
        pending += Data("\(kind)\(bytes.count):".utf8) + bytes
        guard pending.count > 1 << 16 else { return }
        hash.update(data: pending)
        pending = Data()
    }

    mutating func finish() -> String {
        hash.update(data: pending)
        return hash.finalize().hexadecimal
    }
}
