import Foundation
@_spi(Engines) import HabitStore

/// Codes the values of the history's records. ``LMDBFormat`` documents the bytes.
package enum HistoryCoder {
    private enum Kind {
        static let insert: UInt8 = 1
        static let update: UInt8 = 2
        static let delete: UInt8 = 3
    }

    private static let headerLength = 13

    // MARK: Headers

    package static func header(_ transaction: HistoryTransaction) -> [UInt8] {
        var bytes: [UInt8] = []
        append(transaction.timestamp.timeIntervalSinceReferenceDate.bitPattern, to: &bytes)
        append(UInt32(transaction.changes.count), to: &bytes)
        guard let author = transaction.author else { return bytes + [0] }
        return bytes + [1] + Array(author.utf8)
    }

    package static func header(
        _ value: UnsafeRawBufferPointer,
        path: String
    ) throws -> (timestamp: Date, author: String?, changes: Int) {
        guard value.count >= headerLength else { throw damaged(path) }
        let bits = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        let seconds = Double(bitPattern: bits)
        let count = UInt32(littleEndian: value.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        guard seconds.isFinite else { throw damaged(path) }
        var author: String?
        switch value[12] {
        case 0: guard value.count == headerLength else { throw damaged(path) }
        case 1: author = try text(UnsafeRawBufferPointer(rebasing: value[headerLength...]), path)
        default: throw damaged(path)
        }
        return (Date(timeIntervalSinceReferenceDate: seconds), author, Int(count))
    }

    // MARK: Changes

    /// Replaces `bytes` with an encoded change.
    package static func encode(_ change: HistoryChange, into bytes: inout [UInt8]) throws {
        bytes.removeAll(keepingCapacity: true)
        switch change.kind {
        case .insert: bytes.append(Kind.insert)
        case .update: bytes.append(Kind.update)
        case .delete: bytes.append(Kind.delete)
        }
        let name = change.entity.utf8
        guard let length = UInt16(exactly: name.count) else {
            throw HabitStoreError(.limitExceeded, "an entity's name is too long for the history")
        }
        append(length, to: &bytes)
        bytes.append(contentsOf: name)
        withUnsafeBytes(of: change.id.uuid) { bytes.append(contentsOf: $0) }
        switch change.kind {
        case .insert: break
        case .update(let names): try NameList.append(names, to: &bytes)
        case .delete(let tombstone): bytes.append(contentsOf: try encoder().encode(tombstone))
        }
    }

    /// Replaces the identifier at the end of an encoded insertion.
    package static func replaceIdentifier(_ id: UUID, in bytes: inout [UInt8]) {
        let start = bytes.count - KeyFormat.identifierLength
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: id.uuid, toByteOffset: start, as: uuid_t.self) }
    }

    package static func change(_ value: UnsafeRawBufferPointer, path: String) throws -> HistoryChange {
        guard value.count >= 3 else { throw damaged(path) }
        let nameLength = Int(UInt16(littleEndian: value.loadUnaligned(fromByteOffset: 1, as: UInt16.self)))
        let identifierStart = 3 + nameLength
        let payloadStart = identifierStart + KeyFormat.identifierLength
        guard value.count >= payloadStart else { throw damaged(path) }
        let entity = try text(UnsafeRawBufferPointer(rebasing: value[3..<identifierStart]), path)
        let id = UUID(uuid: value.loadUnaligned(fromByteOffset: identifierStart, as: uuid_t.self))
        let payload = UnsafeRawBufferPointer(rebasing: value[payloadStart...])
        return HistoryChange(entity: entity, id: id, kind: try kind(value[0], payload, path))
    }

    private static func kind(
        _ code: UInt8,
        _ payload: UnsafeRawBufferPointer,
        _ path: String
    ) throws -> HistoryChange.Kind {
        do {
            switch code {
            case Kind.insert:
                guard payload.isEmpty else { throw damaged(path) }
                return .insert
            case Kind.update:
                return .update(updatedAttributes: try NameList.names(payload))
            case Kind.delete:
                return .delete(tombstone: try JSONDecoder().decode([String: Value].self, from: Data(payload)))
            default: throw damaged(path)
            }
        } catch let error as DecodingError {
            throw damaged(path, error)
        }
    }

    /// Encodes equal values as equal bytes.
    private static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func text(_ bytes: UnsafeRawBufferPointer, _ path: String) throws -> String {
        guard let text = String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self) else {
            throw damaged(path)
        }
        return text
    }

    private static func damaged(_ path: String, _ cause: (any Error)? = nil) -> HabitStoreError {
        HabitStoreError.damage(
            "the history holds a record that cannot be read; run `\(OperatorCommand.name) check`",
            at: .init(path: path),
            underlying: cause
        )
    }
}

/// The key of a history record: token u64 and sequence u32, both big-endian.
@frozen package struct HistoryKey: Equatable {
    private static let length = 12

    @usableFromInline package let token: Int64
    /// 0 for the header, n for the n-th change.
    @usableFromInline package let sequence: UInt64

    package init(token: Int64, sequence: UInt64) {
        self.token = token
        self.sequence = sequence
    }

    /// - Throws: `.corrupt` if the bytes are not a valid key.
    package init(_ key: UnsafeRawBufferPointer, path: String) throws {
        guard key.count == Self.length,
            let token = Int64(exactly: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))),
            (1...HistoryToken.greatest.rawValue).contains(token)
        else { throw HabitStoreError.damage("the history holds a key that is none", at: .init(path: path)) }
        self.token = token
        sequence = UInt64(UInt32(bigEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
    }

    package var bytes: [UInt8] { withBytes { Array($0) } }

    /// Lends the key's bytes.
    @inlinable
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try withUnsafeTemporaryAllocation(byteCount: 12, alignment: 8) { key in
            key.storeBytes(of: UInt64(token).bigEndian, as: UInt64.self)
            key.storeBytes(of: UInt32(truncatingIfNeeded: sequence).bigEndian, toByteOffset: 8, as: UInt32.self)
            return try body(UnsafeRawBufferPointer(key))
        }
    }
}

/// The first record of a history transaction.
package struct HistoryHeader {
    package let token: Int64
    package let timestamp: Date
    package let author: String?
    /// The number of changes that follow.
    package let changes: Int
}

/// Assembles history transactions from the history's records, which arrive in key order.
package struct HistoryAssembler {
    /// Whether to leave out the changes, for callers that only need the last token.
    package let isOutline: Bool
    package let path: String
    package private(set) var transactions: [HistoryTransaction] = []
    private var header: HistoryHeader?
    private var changes: [HistoryChange] = []

    package init(path: String, isOutline: Bool) {
        self.path = path
        self.isOutline = isOutline
    }

    /// - Throws: `.corrupt` for a change without its transaction, and for a transaction with a missing change.
    package mutating func add(_ bytes: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        let key = try HistoryKey(bytes, path: path)
        guard key.sequence == 0 else {
            if isOutline { return }
            guard let header, key.token == header.token, key.sequence == UInt64(changes.count) + 1 else {
                throw damaged("has changes without their transaction")
            }
            changes.append(try HistoryCoder.change(value, path: path))
            return
        }
        try finish()
        let (timestamp, author, count) = try HistoryCoder.header(value, path: path)
        header = HistoryHeader(token: key.token, timestamp: timestamp, author: author, changes: count)
    }

    /// Returns the complete transactions, and removes them.
    package mutating func taken() -> [HistoryTransaction] {
        defer { transactions.removeAll() }
        return transactions
    }

    /// Completes the current transaction.
    package mutating func finish() throws {
        guard let header else { return }
        guard isOutline || header.changes == changes.count else {
            throw damaged("lacks a change of transaction \(header.token)")
        }
        if isOutline { transactions.removeAll() }
        transactions.append(
            HistoryTransaction(
                token: HistoryToken(rawValue: header.token),
                timestamp: header.timestamp,
                author: header.author,
                changes: changes
            )
        )
        self.header = nil
        changes.removeAll()
    }

    private func damaged(_ message: String) -> HabitStoreError {
        HabitStoreError.damage("the history \(message); run `\(OperatorCommand.name) check`", at: .init(path: path))
    }
}

/// Names as a JSON array. Names of ASCII letters that need no escape, which nearly all are, bypass the general coder, which would
/// cost more than the rest of the history's record.
enum NameList {
    private static let quote = UInt8(ascii: "\"")

    static func append(_ names: [String], to bytes: inout [UInt8]) throws {
        guard names.allSatisfy({ $0.utf8.allSatisfy(isPlain) }) else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .withoutEscapingSlashes
            return bytes.append(contentsOf: try encoder.encode(names))
        }
        bytes.append(UInt8(ascii: "["))
        for (place, name) in names.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(quote)
            bytes.append(contentsOf: name.utf8)
            bytes.append(quote)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// - Throws: `DecodingError` for anything but an array of texts.
    static func names(_ bytes: UnsafeRawBufferPointer) throws -> [String] {
        if let names = plainNames(bytes) { return names }
        return try JSONDecoder().decode([String].self, from: Data(bytes))
    }

    /// Nil for any form that needs the general decoder.
    private static func plainNames(_ bytes: UnsafeRawBufferPointer) -> [String]? {
        guard bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]"), bytes.count > 1 else { return nil }
        var names: [String] = []
        var rest = bytes[1..<bytes.count - 1]
        while !rest.isEmpty {
            guard rest.popFirst() == quote, let end = rest.firstIndex(where: { !isPlain($0) }), rest[end] == quote
            else { return nil }
            names.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[(end + 1)...]
            // A comma separates two names, and nothing follows the last one.
            if rest.isEmpty { return names }
            guard rest.popFirst() == UInt8(ascii: ","), !rest.isEmpty else { return nil }
        }
        return names
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20..<0x7f).contains(byte) && byte != quote && byte != UInt8(ascii: "\\")
    }
}

/// Codes the value of a stored digest: the depth (one byte), the number of records (8 bytes) and the sum (16 bytes), little-endian.
package enum DigestCoder {
    private static let length = 25

    /// Encodes a digest.
    package static func value(_ leaf: DigestLeaf) -> [UInt8] {
        var value = [UInt8(leaf.depth)]
        value.reserveCapacity(length)
        for word in [UInt64(bitPattern: leaf.digest.count), leaf.digest.low, leaf.digest.high] {
            withUnsafeBytes(of: word.littleEndian) { value.append(contentsOf: $0) }
        }
        return value
    }

    /// Decodes a digest.
    ///
    /// - Parameter first: the first identifier of its range.
    /// - Throws: `.corrupt` if the value is malformed.
    package static func leaf(_ value: UnsafeRawBufferPointer, first: UUID, path: String) throws -> DigestLeaf {
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: value.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        guard value.count == length,
            let leaf = DigestLeaf(
                stored: first,
                depth: Int64(value[0]),
                digest: RecordDigest(count: Int64(bitPattern: word(1)), low: word(9), high: word(17))
            )
        else { throw damaged(path) }
        return leaf
    }

    /// The error for a malformed digest.
    package static func damaged(_ path: String) -> HabitStoreError {
        HabitStoreError.damage("a kept digest is none; run `\(OperatorCommand.name) check`", at: .init(path: path))
    }
}
