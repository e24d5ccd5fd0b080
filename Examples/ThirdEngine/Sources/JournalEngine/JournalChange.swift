import Foundation
@_spi(Engines) import HabitStore

/// A change of a commit, as stored in a frame: a byte that identifies it, and its contents. Numbers are little-endian; texts and bytes are preceded
/// by
/// their length (`u32`).
enum JournalChange: Sendable {
    /// Stores a record under an identifier, and replaces any record there.
    case put(entity: String, id: UUID, EncodedRecord)
    /// Removes a record.
    case remove(entity: String, id: UUID)
    /// Sets a value of the store's bookkeeping, or removes it.
    case setMetadata(key: String, value: String?)
    /// Appends the next transaction of the history, as JSON.
    case append(HistoryTransaction)
    /// Removes the history up to and including a number.
    case prune(through: Int64)
    /// Stores a digest, and replaces one with the same first identifier.
    case setDigest(entity: String, DigestLeaf)
    /// Removes an entity's digests.
    case removeDigests(entity: String)
    /// Removes an entity's records and digests, before a migration rewrites them.
    case empty(entity: String)

    private var tag: UInt8 {
        switch self {
        case .put: 1
        case .remove: 2
        case .setMetadata: 3
        case .append: 4
        case .prune: 5
        case .setDigest: 6
        case .removeDigests: 7
        case .empty: 8
        }
    }

    /// Appends the encoded change.
    func encode(into bytes: inout [UInt8]) throws {
        bytes.append(tag)
        switch self {
        case .put(let entity, let id, let record):
            bytes.append(text: entity)
            bytes.append(id: id)
            bytes.append(counted: record.bytes)
        case .remove(let entity, let id):
            bytes.append(text: entity)
            bytes.append(id: id)
        case .setMetadata(let key, let value):
            bytes.append(text: key)
            bytes.append(value == nil ? 0 : 1)
            if let value { bytes.append(text: value) }
        case .append(let transaction): bytes.append(counted: Array(try JSONEncoder().encode(transaction)))
        case .prune(let token): bytes.append(number: token)
        case .setDigest(let entity, let leaf):
            bytes.append(text: entity)
            bytes.append(id: leaf.first)
            for number in [Int64(leaf.depth), leaf.digest.count] { bytes.append(number: number) }
            for number in [leaf.digest.low, leaf.digest.high] { bytes.append(number: number) }
        case .removeDigests(let entity), .empty(let entity): bytes.append(text: entity)
        }
    }

    /// Reads the next change of a frame.
    ///
    /// - Throws: `corrupt` for bytes that no commit has written.
    init(_ reader: inout ByteReader) throws {
        let tag: UInt8 = try reader.number()
        switch tag {
        case 1:
            let (entity, id) = (try reader.text(), try reader.id())
            let record = try reader.counted().withUnsafeBytes { EncodedRecord(copying: $0) }
            self = .put(entity: entity, id: id, record)
        case 2: self = .remove(entity: try reader.text(), id: try reader.id())
        case 3:
            let (key, hasValue): (String, UInt8) = (try reader.text(), try reader.number())
            self = .setMetadata(key: key, value: hasValue == 0 ? nil : try reader.text())
        case 4:
            let json = Data(try reader.counted())
            do {
                self = .append(try JSONDecoder().decode(HistoryTransaction.self, from: json))
            } catch {
                throw HabitStoreError.damage("a history transaction cannot be read", underlying: error)
            }
        case 5: self = .prune(through: try reader.number())
        case 6:
            let (entity, first) = (try reader.text(), try reader.id())
            let (depth, count): (Int64, Int64) = (try reader.number(), try reader.number())
            let digest = RecordDigest(count: count, low: try reader.number(), high: try reader.number())
            guard let leaf = DigestLeaf(stored: first, depth: depth, digest: digest) else {
                throw HabitStoreError.damage("a kept digest is impossible")
            }
            self = .setDigest(entity: entity, leaf)
        case 7: self = .removeDigests(entity: try reader.text())
        case 8: self = .empty(entity: try reader.text())
        default: throw HabitStoreError.damage("a commit has a change of the unknown kind \(tag)")
        }
    }
}
