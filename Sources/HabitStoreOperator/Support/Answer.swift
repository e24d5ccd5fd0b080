/// A command's answer in the requested format.
package enum Answer {
    /// For people.
    case text(String)
    /// For programs.
    case document(any Encodable)

    /// The text to write.
    ///
    /// - Parameter asLine: whether the document is one of several, each on its own line.
    package func text(asLine: Bool) throws -> String {
        switch self {
        case .text(let text): text
        case .document(let document): asLine ? try JSON.line(document) : try JSON.text(document)
        }
    }
}
