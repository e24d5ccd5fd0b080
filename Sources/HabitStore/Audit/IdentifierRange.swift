import Foundation

/// The identifiers from one to another, both included, in the order of their bytes.
@_spi(Engines) public struct IdentifierRange: Sendable, Hashable {
    /// The first.
    public let first: UUID
    /// The last.
    public let last: UUID

    /// A range from its ends.
    public init(first: UUID, last: UUID) { (self.first, self.last) = (first, last) }

    /// Every identifier.
    public static let all = IdentifierRange(
        first: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        last: UUID(uuid: (255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255))
    )

    /// Whether the range holds an identifier.
    public func contains(_ id: UUID) -> Bool { !id.isBefore(first) && !last.isBefore(id) }
}

extension UUID {
    /// The next identifier in the order of the bytes; nil after the last.
    package var successor: UUID? {
        var next = uuid
        let isLast = withUnsafeMutableBytes(of: &next) { bytes in
            for place in bytes.indices.reversed() {
                bytes[place] &+= 1
                if bytes[place] != 0 { return false }
            }
            return true
        }
        return isLast ? nil : UUID(uuid: next)
    }
}
