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

/// A 128-bit hash of a row, to compare rows within this process: two lanes of folded 64-bit products, mixed as in XXH3 and wyhash, with keys that
/// each process draws at random, so that no one can construct two records with the same hash.
///
/// It takes a few nanoseconds where SHA-256 takes hundreds, on the path of every reader.
struct RowHash: Sendable, Equatable {
    private(set) var high: UInt64
    private(set) var low: UInt64

    private static let keys: SIMD4<UInt64> = SIMD4.random(in: .min ... .max)

    /// The hash of bytes and their number.
    init(_ bytes: UnsafeRawBufferPointer) {
        let keys = Self.keys
        high = keys[0] ^ UInt64(bytes.count)
        low = keys[1] &+ UInt64(bytes.count)
        var place = 0
        while bytes.count &- place >= 16 {
            mix(
                bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: place &+ 8, as: UInt64.self),
                keys
            )
            place &+= 16
        }
        guard place < bytes.count else { return }
        var rest: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &rest) { $0.copyMemory(from: .init(rebasing: bytes[place...])) }
        mix(rest.0, rest.1, keys)
    }

    /// The initial value of a hash over hashes.
    static let start = RowHash(UnsafeRawBufferPointer(start: nil, count: 0))

    /// Adds a hash in order.
    mutating func append(_ other: RowHash) { mix(other.high, other.low, Self.keys) }

    /// Adds a hash regardless of order; equal pairs do not cancel each other.
    mutating func add(_ other: RowHash) {
        high &+= other.high
        low &+= other.low
    }

    @inline(__always)
    private mutating func mix(_ first: UInt64, _ second: UInt64, _ keys: SIMD4<UInt64>) {
        let left = (high ^ first).multipliedFullWidth(by: keys[2] ^ second)
        let right = (low ^ second).multipliedFullWidth(by: keys[3] &+ first)
        high = (left.high ^ left.low) &+ low
        low = (right.high ^ right.low) ^ left.high
    }
}

/// Digests rows while they are passed on to the caller.
struct RowTrace {
    private let projection: [Int]?
    private(set) var digest = RowDigest()
    /// Whether the caller stopped after the last row, or threw an error.
    var isCut = false
    /// Whether the caller is reading the row.
    private var isCallersTurn = false
    /// The store's error, if it has no answer.
    private(set) var failure: (any Error)?

    init(_ projection: [Int]?) { self.projection = projection }

    /// Digests a row and passes it on to the caller. If the row cannot be read completely, the caller may still be able to read a part of it.
    mutating func take<R>(_ row: inout AttributeReader, _ body: (inout AttributeReader) throws -> R) throws -> R {
        do {
            if projection == nil {
                // The caller reads the digested bytes, so that an engine's columns are not read twice.
                return try row.withEncodedReader { bytes, reader in
                    digest.add(RowHash(bytes))
                    return try hand(&reader, body)
                }
            }
            try digest.add(row, projection)
        } catch  where !isCallersTurn {
            failure = error
        }
        return try hand(&row, body)
    }

    private mutating func hand<R>(
        _ row: inout AttributeReader,
        _ body: (inout AttributeReader) throws -> R
    ) throws -> R {
        isCallersTurn = true
        let result = try body(&row)
        isCallersTurn = false
        return result
    }

    /// Notes the error that ended the rows. The caller's own errors say nothing about the store.
    mutating func fail(_ error: any Error) {
        if isCallersTurn { isCut = true } else { failure = error }
    }
}
