import DurableFiles
import Foundation

/// An error in a flag file, a flag or an evaluation, with its place.
///
/// The message names flags, operators and variants, which the file's author wrote. It never contains a value from an evaluation context, so it is
/// safe to log.
public struct FlagError: Error, Sendable, Equatable {
    /// The kind of an error. Open: a later version may add codes, so a `switch` over it needs a default.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The stable name, as OpenFeature spells it.
        public let rawValue: String

        /// Makes a code from its stable name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }
    }

    /// A place in a flag file. Every part is optional.
    public struct Location: Sendable, Hashable {
        /// The file, or the name that the caller gave to the source.
        public var file: String?
        /// The line, counted from 1. A line ends with LF, CR LF or CR.
        public var line: Int?
        /// The column, counted in Unicode scalars from 1.
        public var column: Int?

        /// Names a place; leave out what is not known.
        public init(file: String? = nil, line: Int? = nil, column: Int? = nil) {
            self.file = file
            self.line = line
            self.column = column
        }
    }

    /// The kind of the error.
    public let code: Code
    /// One sentence or two: what is wrong and what to do.
    public let message: String
    /// Where it is wrong.
    public let location: Location

    /// Makes an error.
    public init(_ code: Code, _ message: String, at location: Location = Location()) {
        self.code = code
        self.message = message
        self.location = location
    }
}

extension FlagError.Location: CustomStringConvertible {
    /// `file:line:column`, as compilers write it; what is not known is left out.
    public var description: String {
        var parts = [file ?? "<flags>"]
        if let line { parts.append(String(line)) }
        if line != nil, let column { parts.append(String(column)) }
        return parts.joined(separator: ":")
    }
}

extension FlagError: CustomStringConvertible {
    /// One line: the place, where there is one, the code and the message.
    public var description: String {
        let text = "\(message) [\(code)]"
        return location == Location() ? text : "\(location): \(text)"
    }
}

extension FlagError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }
}

extension FlagError {
    /// The error of a failed operation on a file; `message` names the operation.
    package init(_ failure: FileFailure, _ message: String) {
        self.init(.fileUnwritable, message, at: FlagError.Location(file: failure.path))
    }
}
