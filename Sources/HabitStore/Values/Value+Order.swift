import Foundation

extension Value {
    /// The declared total order: null first, then by the value; text by its UTF-8 bytes, identifiers and data by their
    /// bytes, lists element by element. Values of different kinds are ordered by kind, which no typed query meets.
    ///
    /// - Returns: negative when `self` is first, 0 when both are equal, positive when `other` is first.
    public func order(comparedWith other: Value) -> Int {
        switch (self, other) {
        case (.null, .null): return 0
        case (.int(let a), .int(let b)): return a == b ? 0 : (a < b ? -1 : 1)
        case (.double(let a), .double(let b)): return a == b ? 0 : (a < b ? -1 : 1)
        case (.date(let a), .date(let b)): return a == b ? 0 : (a < b ? -1 : 1)
        case (.string(let a), .string(let b)): return a.orderByBytes(comparedWith: b)
        case (.bool(let a), .bool(let b)): return a == b ? 0 : (b ? -1 : 1)
        case (.uuid(let a), .uuid(let b)): return a.order(comparedWith: b)
        case (.data(let a), .data(let b)): return Self.orderOfElements(a, b) { $0 == $1 ? 0 : ($0 < $1 ? -1 : 1) }
        case (.strings(let a), .strings(let b)): return Self.orderOfElements(a, b) { $0.orderByBytes(comparedWith: $1) }
        case (.links(let a), .links(let b)): return Self.orderOfElements(a, b) { $0.order(comparedWith: $1) }
        default: return kindRank - other.kindRank
        }
    }

    private var kindRank: Int {
        switch self {
        case .null: return 0
        case .bool: return 1
        case .int: return 2
        case .double: return 3
        case .date: return 4
        case .string: return 5
        case .uuid: return 6
        case .data: return 7
        case .strings: return 8
        case .links: return 9
        }
    }

    private static func orderOfElements<C: Collection>(
        _ left: C,
        _ right: C,
        _ order: (C.Element, C.Element) -> Int
    ) -> Int {
        var rightIndex = right.startIndex
        for element in left {
            guard rightIndex != right.endIndex else { return 1 }
            let result = order(element, right[rightIndex])
            if result != 0 { return result }
            rightIndex = right.index(after: rightIndex)
        }
        return rightIndex == right.endIndex ? 0 : -1
    }
}

extension UUID {
    /// Byte order: negative, 0 or positive like `memcmp`.
    func order(comparedWith other: UUID) -> Int {
        let (a, b) = (words, other.words)
        if a.0 != b.0 { return a.0 < b.0 ? -1 : 1 }
        return a.1 == b.1 ? 0 : (a.1 < b.1 ? -1 : 1)
    }

    /// Whether the receiver stands before `other` in byte order.
    @_spi(Engines) public func isBefore(_ other: UUID) -> Bool { order(comparedWith: other) < 0 }

    /// The sixteen bytes as two big-endian words, whose order is the order of the bytes.
    var words: (UInt64, UInt64) {
        withUnsafeBytes(of: uuid) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }
}
