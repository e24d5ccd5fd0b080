import HabitStore

/// The name of one of several stores that each user has.
package struct StoreName: Sendable, Hashable {
    private static let mostBytes = 32
    /// The prefix of the flags of stores without a name.
    private static let taken = "habit"

    /// The name's text.
    package let text: String

    /// Checks a name: 1 to 32 of `a` to `z`, `0` to `9` and `-`, with a letter first and no `-` last. Folders, flags and, on servers, stores are
    /// named after it.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for any other name.
    package init(_ text: String) throws {
        let bytes = Array(text.utf8)
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let dash = UInt8(ascii: "-")
        guard (1...Self.mostBytes).contains(bytes.count), letters.contains(bytes[0]), bytes.last != dash,
            bytes.allSatisfy({ letters.contains($0) || digits.contains($0) || $0 == dash })
        else {
            throw HabitStoreError(
                .invalidValue,
                "a store cannot have this name; write 1 to \(Self.mostBytes) of a-z, 0-9 and -, with a letter first and no - last",
                detail: text
            )
        }
        guard text != Self.taken else {
            throw HabitStoreError(
                .invalidValue,
                "a store cannot have this name: its flags would be those of the stores without one; write another",
                detail: text
            )
        }
        self.text = text
    }
}
