/// Buffers short texts and writes them in larger pieces.
final class TextPiece {
    private static let limit = 1 << 16

    private var text = ""
    private let write: (String) throws -> Void

    init(_ write: @escaping (String) throws -> Void) { self.write = write }

    func add(_ part: String) throws {
        text += part
        if text.utf8.count >= Self.limit { try finish() }
    }

    /// Writes the rest.
    func finish() throws {
        guard !text.isEmpty else { return }
        try write(text)
        text = ""
    }
}
