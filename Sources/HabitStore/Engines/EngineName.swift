/// The name of an engine, as flag files, addresses and users' stores have it: `sqlite`, `lmdb`, or whatever an engine calls
/// itself.
///
/// A name is 1 to 32 bytes of lower-case letters, digits and hyphens, and begins with a letter: it stands in file names, in
/// front of the colon of an address, and in metrics.
public struct EngineName: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// A name; nil for a text that can be none.
    public init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard (1...32).contains(bytes.count), let first = bytes.first, Self.isLetter(first),
            bytes.allSatisfy({ Self.isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") })
        else { return nil }
        self.rawValue = rawValue
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    /// The name.
    public var description: String { rawValue }
}

extension EngineName: ExpressibleByStringLiteral {
    /// A name that stands in a program; one that can be none is the program's mistake.
    public init(stringLiteral text: StaticString) {
        guard let name = Self(rawValue: text.description) else {
            preconditionFailure(
                "\(text) is not a valid engine name: use 1 to 32 of a-z, 0-9 and -, with a letter first"
            )
        }
        self = name
    }
}
