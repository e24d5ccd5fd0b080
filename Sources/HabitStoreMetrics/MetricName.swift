/// Makes names valid for Prometheus.
enum MetricName {
    /// A metric's name: letters, digits, underscores and colons, not beginning with a digit. Other characters become underscores.
    static func metric(_ name: String) -> String { valid(name) { $0 == ":" } }

    /// A label's name: the same without colons. Prometheus reserves names that begin with two underscores.
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

    /// A name with the suffix of a unit or `_total`, as Prometheus' rules ask for.
    static func ending(_ name: String, in suffix: String) -> String { name.hasSuffix(suffix) ? name : name + suffix }
}
