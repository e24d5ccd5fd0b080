/// The room in the keys of an index, by the engine whose keys are the shortest: LMDB's end at 511 bytes.
///
/// A schema is refused on every engine for what this one cannot keep; *On-disk formats* has the layout of a key.
package enum IndexKeyRoom {
    /// The longest key, in bytes.
    package static let longestKey = 511
    /// The length of the identifier that ends each key, in bytes.
    package static let identifierLength = 16
    /// The most attributes, by what each takes: for errors.
    package static let most = "55 numbers and dates, 29 identifiers or 26 texts"
    /// A shorter text in a key would make an index useless.
    private static let leastText = 16

    /// How many bytes of a key a value takes that is not nil; of a text or data, what stands around it.
    package static func fixedLength(_ kind: AttributeKind) -> Int {
        switch kind {
        case .bool: 2
        case .int, .double, .date: 9
        case .uuid, .links: 17
        // The presence byte and the end.
        case .string, .data, .strings: 3
        }
    }

    package static func isVariable(_ kind: AttributeKind) -> Bool { kind == .string || kind == .data }

    /// How many bytes each text and each data may take, what stands around it not counted, and 0 without any; nil where the
    /// attributes are too many for a key.
    package static func textBudget(_ kinds: [AttributeKind]) -> Int? {
        let variable = kinds.count { isVariable($0) }
        let room = longestKey - kinds.reduce(identifierLength) { $0 + fixedLength($1) }
        guard room >= variable * leastText else { return nil }
        return variable == 0 ? 0 : room / variable
    }
}
