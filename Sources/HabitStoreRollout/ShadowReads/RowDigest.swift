import Foundation
@_spi(Engines) import HabitStore

/// A digest of an answer's rows: how many, which, and in which order.
struct RowDigest: Sendable, Equatable {
    private(set) var rows = 0
    /// A hash over the rows in their order.
    private var sequence = RowHash.start
    /// A hash over the rows in any order.
    private var sum = RowHash.start

    /// Adds a row: the attributes that it was read for, or all of them.
    mutating func add(_ row: borrowing AttributeReader, _ projection: [Int]?) throws {
        add(try Self.hash(row, projection))
    }

    mutating func add(_ hash: RowHash) {
        rows += 1
        sequence.append(hash)
        sum.add(hash)
    }

    /// The hash of a row: over its identifier and the attributes that it was read for, or over the whole record.
    static func hash(_ row: borrowing AttributeReader, _ projection: [Int]?) throws -> RowHash {
        guard let projection else { return try row.withEncoded { RowHash($0) } }
        let id = try row.identifier()
        let identifier = withUnsafeBytes(of: id) { RowHash($0) }
        guard projection != [0] else { return identifier }
        var hash = identifier
        for position in projection { hash.append(RowHash(try row.value(at: position))) }
        return hash
    }

    /// Whether the same rows are in another order.
    func isReordered(_ other: RowDigest) -> Bool {
        rows == other.rows && sum == other.sum && sequence != other.sequence
    }
}

extension RowHash {
    /// The hash of a value: over its type, the lengths of its parts, and their bytes, so that different values hash different bytes.
    init(_ value: Value) {
        var bytes: [UInt8] = []
        func append(_ number: UInt64) { withUnsafeBytes(of: number) { bytes += $0 } }
        func append(_ text: String) {
            append(UInt64(text.utf8.count))
            bytes += text.utf8
        }
        func append(_ id: UUID) { withUnsafeBytes(of: id) { bytes += $0 } }
        switch value {
        case .null: bytes = [0]
        case .bool(let flag): bytes = [1, flag ? 1 : 0]
        case .int(let number):
            bytes = [2]
            append(UInt64(bitPattern: number))
        case .double(let number):
            bytes = [3]
            append(number.bitPattern)
        case .string(let text):
            bytes = [4]
            append(text)
        case .date(let date):
            bytes = [5]
            append(date.timeIntervalSinceReferenceDate.bitPattern)
        case .uuid(let id):
            bytes = [6]
            append(id)
        case .data(let data): bytes = [7] + data
        case .strings(let texts):
            bytes = [8]
            for text in texts { append(text) }
        case .links(let ids):
            bytes = [9]
            for id in ids { append(id) }
        }
        self = bytes.withUnsafeBytes { RowHash($0) }
    }
}
