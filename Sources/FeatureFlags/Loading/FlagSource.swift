/// A file that flags are read from.
public struct FlagSource: Sendable, Hashable {
    /// The file; symbolic links are followed, also when they change.
    public var path: String
    /// The file's format.
    public var format: FlagFormat

    /// Names a file; without a format its extension decides.
    public init(path: String, format: FlagFormat? = nil) {
        self.path = path
        self.format = format ?? FlagFormat(path: path)
    }
}
