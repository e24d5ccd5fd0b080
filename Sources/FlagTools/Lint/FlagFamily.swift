/// A rule of the caller's domain: flags whose keys consist of a name and an ending, which determines their values. Flags may exist under several
/// names.
package struct FlagFamily: Sendable {
    /// The values that the variants of a flag may have.
    package enum Values: Sendable, Hashable {
        /// True and false, as for a kill flag.
        case kill
        /// One of several texts.
        case texts(TextValues)
    }

    /// The texts that a flag may have.
    package struct TextValues: Sendable, Hashable {
        /// The noun for one of them, with its article.
        let noun: String
        let texts: [String]
        /// Whether there are no other texts. If there may be others, an unknown text is a warning, unless it is similar to one of these.
        let isComplete: Bool

        package init(_ noun: String, _ texts: [String], isComplete: Bool = true) {
            (self.noun, self.texts, self.isComplete) = (noun, texts, isComplete)
        }
    }

    /// Two endings whose flags must have different values: the engine that users leave and the one that they move to.
    package struct Pair: Sendable, Hashable {
        let from: String
        let to: String

        package init(from: String, to: String) { (self.from, self.to) = (from, to) }
    }

    /// A flag of the family, by its key.
    struct Member {
        let name: String
        let values: Values
    }

    /// The name that always exists.
    let first: String
    /// The endings of keys.
    let endings: [String: Values]
    let pair: Pair?
    private let canBeName: @Sendable (String) -> Bool

    package init(
        first: String,
        endings: [String: Values],
        pair: Pair? = nil,
        canBeName: @escaping @Sendable (String) -> Bool
    ) {
        (self.first, self.endings, self.pair, self.canBeName) = (first, endings, pair, canBeName)
    }

    /// The member of the family with a key; nil if the key does not belong to it.
    func member(_ key: String) -> Member? {
        for (ending, values) in endings where key.hasSuffix(ending) {
            let name = String(key.dropLast(ending.count))
            if name == first || canBeName(name) { return Member(name: name, values: values) }
        }
        return nil
    }
}
