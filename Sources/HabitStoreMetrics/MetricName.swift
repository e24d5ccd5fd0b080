/// Names as Prometheus takes them.
enum MetricName {
    /// A metric's name: letters, digits, underscores and colons, and no digit first. Other characters become underscores.
    static func metric(_ name: String) -> String { valid(name) { $0 == ":" } }

    /// A label's name: the same without colons. Two underscores at the beginning are Prometheus' own.
    static func label(_ name: String) -> String {
        let name = valid(name) { _ in false }
        return name.hasPrefix("__") ? "label" + name : name
    }

    private static func valid(_ name: String, _ others: (Unicode.Scalar) -> Bool) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            let isDigit = ("0"..."9").contains(scalar)
            let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
            if isDigit, result.isEmpty { result = "_" }
            result.unicodeScalars.append(isDigit || isLetter || others(scalar) ? scalar : "_")
        }
        return result.isEmpty ? "_" : result
    }

    /// A name that ends in a unit or in `_total`, as the rules want it.
    static func ending(_ name: String, in suffix: String) -> String { name.hasSuffix(suffix) ? name : name + suffix }
}
