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
