/// A rule of the caller's domain: flags whose keys are a name with one of some endings, which says what values they have. There may be
/// several of each, under several names.
package struct FlagFamily: Sendable {
    /// What the variants of a flag can be.
    package enum Values: Sendable, Hashable {
        /// True and false, as a kill flag has them.
        case kill
        /// One of some texts.
        case texts(TextValues)
    }

    /// Texts that a flag can have.
    package struct TextValues: Sendable, Hashable {
        /// What one of them is, with its article.
        let noun: String
        let texts: [String]
        /// Whether there are no others; another one is a warning where there may be, unless it is nearly one of these.
        let isComplete: Bool

        package init(_ noun: String, _ texts: [String], isComplete: Bool = true) {
            (self.noun, self.texts, self.isComplete) = (noun, texts, isComplete)
        }
    }

    /// Two endings whose flags must give different values: where users come from, and where they go.
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

    /// The name that is always one.
    let first: String
    /// What keys end with.
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

    /// What a key says; nil for one that is not of the family.
    func member(_ key: String) -> Member? {
        for (ending, values) in endings where key.hasSuffix(ending) {
            let name = String(key.dropLast(ending.count))
            if name == first || canBeName(name) { return Member(name: name, values: values) }
        }
        return nil
    }
}
