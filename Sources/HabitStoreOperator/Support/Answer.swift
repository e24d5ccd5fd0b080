/// What a command answers, in the form that was asked for.
package enum Answer {
    /// For people.
    case text(String)
    /// For programs.
    case document(any Encodable)

    /// The text to be written.
    ///
    /// - Parameter asLine: whether a document is one of several, and stands on a line of its own.
    package func text(asLine: Bool) throws -> String {
        switch self {
        case .text(let text): text
        case .document(let document): asLine ? try JSON.line(document) : try JSON.text(document)
        }
    }
}
