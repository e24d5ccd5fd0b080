import FeatureFlags

/// A list whose elements can change while its layout stays.
struct JSONListText {
    private var leading = ""
    private var separator = ", "
    private var trailing = ""
    /// The elements as text.
    var elements: [String] = []

    init(document: FlagDocument, node: JSONNode) {
        guard case .array(let nodes) = node.value else { return }
        elements = nodes.map { document.text(of: $0) }
        guard let first = nodes.first, let last = nodes.last else { return }
        func text(_ range: Range<Int>) -> String { String(decoding: document.source.bytes[range], as: UTF8.self) }
        leading = text((node.range.lowerBound + 1)..<first.range.lowerBound)
        trailing = text(last.range.upperBound..<(node.range.upperBound - 1))
        if nodes.count > 1 {
            separator = text(first.range.upperBound..<nodes[1].range.lowerBound)
        } else if leading.contains("\n") {
            separator = "," + leading
        }
    }

    var text: String { "[" + leading + elements.joined(separator: separator) + trailing + "]" }
}
