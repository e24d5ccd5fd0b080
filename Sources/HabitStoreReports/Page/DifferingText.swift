/// Two texts, each in three parts: their common beginning, the difference, and their common end.
struct DifferingText {
    /// One of the two texts.
    struct Part: Equatable {
        var before: String
        var differing: String
        var after: String
        /// The differing scalars, if both parts look the same.
        var scalars: String?
    }

    /// How many common scalars to show at each end.
    private static let margin = 60
    /// How many differing scalars to show.
    private static let maximumDiffering = 1_000
    /// How many scalars to name.
    private static let namedScalars = 8

    let a: Part
    let b: Part

    init(_ a: String, _ b: String) {
        let (left, right) = (Array(a.unicodeScalars), Array(b.unicodeScalars))
        let shorter = min(left.count, right.count)
        var prefix = 0
        while prefix < shorter, left[prefix] == right[prefix] { prefix += 1 }
        var suffix = 0
        while suffix < shorter - prefix, left[left.count - 1 - suffix] == right[right.count - 1 - suffix] {
            suffix += 1
        }
        let middles = (left[prefix..<left.count - suffix], right[prefix..<right.count - suffix])
        // Swift considers texts equal that differ only in their Unicode form, and readers see no difference.
        let looksEqual = a == b && left != right
        func part(_ all: [Unicode.Scalar], _ middle: ArraySlice<Unicode.Scalar>) -> Part {
            Part(
                before: Self.end(of: all[..<prefix]),
                differing: Self.beginning(of: middle, Self.maximumDiffering),
                after: Self.beginning(of: all[(all.count - suffix)...], Self.margin),
                scalars: looksEqual ? Self.names(middle) : nil
            )
        }
        self.a = part(left, middles.0)
        self.b = part(right, middles.1)
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    private static func beginning(of scalars: ArraySlice<Unicode.Scalar>, _ length: Int) -> String {
        text(scalars.prefix(length)) + (scalars.count > length ? "…" : "")
    }

    private static func end(of scalars: ArraySlice<Unicode.Scalar>) -> String {
        (scalars.count > margin ? "…" : "") + text(scalars.suffix(margin))
    }

    private static func names(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        let names = scalars.prefix(namedScalars).map { scalar in
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
        return names.joined(separator: " ") + (scalars.count > namedScalars ? " …" : "")
    }
}
