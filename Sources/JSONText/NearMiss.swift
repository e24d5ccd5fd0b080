/// Finds the name that was probably meant by one that does not exist.
package enum NearMiss {
    /// How many candidates of a like length are compared, so that asking for a name that does not exist stays cheap.
    private static let maximumCompared = 500
    private static let maximumLength = 64

    /// The candidate that is nearest to a name; nil where none is near. A name that differs in case and separators
    /// only is nearest of all.
    package static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
        let length = name.utf8.count
        guard length > 0, length <= maximumLength else { return nil }
        let wanted = Array(name.unicodeScalars)
        let limit = max(1, min(3, wanted.count / 4))
        var best: (name: String, distance: Int)?
        var compared = 0
        for candidate in candidates where candidate != name && compared < maximumCompared {
            // Separators aside, which may be many, only a name of a like length can be near.
            guard abs(candidate.utf8.count - length) <= 2 * limit + 2 else { continue }
            compared += 1
            let found =
                isSameWord(name, candidate)
                ? 0 : distance(wanted, Array(candidate.unicodeScalars), limit: best?.distance ?? limit)
            guard let found else { continue }
            // Of two that are equally near the first by its name, so that the answer is always the same.
            if let best, (best.distance, best.name) <= (found, candidate) { continue }
            best = (candidate, found)
        }
        return best?.name
    }

    /// The end of a message about a name that does not exist: the question whether the nearest one was meant, or nothing.
    package static func question(_ name: String, among candidates: some Sequence<String>) -> String {
        nearest(to: name, among: candidates).map { "; did you mean \(JSON.quoted($0))?" } ?? ""
    }

    /// Whether two names are the same but for case, and for hyphens, underscores and spaces.
    package static func isSameWord(_ first: String, _ second: String) -> Bool {
        func letters(_ name: String) -> String { name.lowercased().filter { !"-_ ".contains($0) } }
        return letters(first) == letters(second)
    }

    /// How many insertions, removals, replacements and exchanges of neighbours lead from one name to the other; nil for
    /// more than the limit. (Optimal string alignment.)
    package static func distance(_ first: [Unicode.Scalar], _ second: [Unicode.Scalar], limit: Int) -> Int? {
        guard limit >= 0, abs(first.count - second.count) <= limit else { return nil }
        var beforeLast = [Int](repeating: 0, count: second.count + 1)
        var last = Array(0...second.count)
        for row in 1..<(first.count + 1) {
            var current = [row] + [Int](repeating: 0, count: second.count)
            for column in 1..<(second.count + 1) {
                let isSame = first[row - 1] == second[column - 1]
                var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, first[row - 1] == second[column - 2], first[row - 2] == second[column - 1] {
                    cost = min(cost, beforeLast[column - 2] + 1)
                }
                current[column] = cost
            }
            guard let least = current.min(), least <= limit else { return nil }
            (beforeLast, last) = (last, current)
        }
        return last[second.count] <= limit ? last[second.count] : nil
    }
}
