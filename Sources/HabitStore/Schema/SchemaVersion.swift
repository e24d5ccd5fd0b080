extension Schema {
    /// The version of a schema: major, minor, patch. `Schema.Version(3, 0, 0)` reads and is written as `3.0.0`.
    public struct Version: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
        /// The first number.
        public let major: Int
        /// The second number.
        public let minor: Int
        /// The third number.
        public let patch: Int

        /// Makes a version.
        public init(_ major: Int, _ minor: Int, _ patch: Int) {
            (self.major, self.minor, self.patch) = (major, minor, patch)
        }

        /// Reads `3.0.0`; missing parts count as 0. Nil for anything else.
        public init?(parsing text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            let numbers = parts.compactMap { part in part.allSatisfy(\.isWholeNumber) ? Int(part) : nil }
            guard (1...3).contains(parts.count), numbers.count == parts.count else { return nil }
            self.init(numbers[0], numbers.count > 1 ? numbers[1] : 0, numbers.count > 2 ? numbers[2] : 0)
        }

        /// `3.0.0`.
        public var description: String { "\(major).\(minor).\(patch)" }

        /// Earlier versions first.
        public static func < (left: Self, right: Self) -> Bool {
            (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
        }

        /// Reads the text.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let version = Self(parsing: try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "a version is like 3.0.0")
            }
            self = version
        }

        /// Writes the text.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
}
