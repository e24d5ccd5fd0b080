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

/// OpenFeature's error codes, from the types page of its specification.
extension FlagError.Code {
    /// No flags have been loaded yet.
    public static var providerNotReady: Self { Self(rawValue: "PROVIDER_NOT_READY") }
    /// The file has no flag of this key.
    public static var flagNotFound: Self { Self(rawValue: "FLAG_NOT_FOUND") }
    /// The file, or this flag in it, cannot be understood.
    public static var parseError: Self { Self(rawValue: "PARSE_ERROR") }
    /// The flag's value is of another type than the one asked for.
    public static var typeMismatch: Self { Self(rawValue: "TYPE_MISMATCH") }
    /// The evaluation needs a targeting key and the context has none.
    public static var targetingKeyMissing: Self { Self(rawValue: "TARGETING_KEY_MISSING") }
    /// The evaluation context cannot be used.
    public static var invalidContext: Self { Self(rawValue: "INVALID_CONTEXT") }
    /// The provider cannot recover.
    public static var providerFatal: Self { Self(rawValue: "PROVIDER_FATAL") }
    /// Anything else: the targeting gave a result that names no variant.
    public static var general: Self { Self(rawValue: "GENERAL") }
}

/// Codes of this module's own, for a file that was not even read. OpenFeature has none for them.
extension FlagError.Code {
    /// There is no file at the path.
    public static var fileNotFound: Self { Self(rawValue: "FILE_NOT_FOUND") }
    /// The path is a directory, a pipe or a device.
    public static var notAFile: Self { Self(rawValue: "NOT_A_FILE") }
    /// The operating system refused to open or to read the file.
    public static var fileUnreadable: Self { Self(rawValue: "FILE_UNREADABLE") }
    /// The file is larger than ``FlagLimits/fileSizeBytes``.
    public static var fileTooLarge: Self { Self(rawValue: "FILE_TOO_LARGE") }
}

/// Codes for changes of flag files. OpenFeature has none for them.
extension FlagError.Code {
    /// The change cannot be made to this file; the file is unchanged.
    public static var editRefused: Self { Self(rawValue: "EDIT_REFUSED") }
    /// The file cannot be written; it is unchanged.
    public static var fileUnwritable: Self { Self(rawValue: "FILE_UNWRITABLE") }
    /// Another process has been changing the file for too long.
    public static var fileBusy: Self { Self(rawValue: "FILE_BUSY") }
}

/// Something in a flag file that does not stop it from being used, and that its author would want to know.
public struct FlagWarning: Sendable, Hashable, CustomStringConvertible {
    /// The oddity, and how it was read.
    public let message: String
    /// Where it stands.
    public let location: FlagError.Location

    /// Makes a warning.
    public init(_ message: String, at location: FlagError.Location) {
        self.message = message
        self.location = location
    }

    /// `file:line:column: message`.
    public var description: String { "\(location): \(message)" }
}

/// The warnings of one file, at most ``FlagLimits/warnings`` of them.
package struct FlagWarningList: Sendable {
    package private(set) var warnings: [FlagWarning] = []

    package init() {}

    /// Adds a warning about the byte at `offset`. The place is worked out only for a warning that is kept.
    package mutating func add(_ message: String, _ source: SourceText, at offset: Int) {
        guard warnings.count < FlagLimits.warnings else { return }
        let isLast = warnings.count == FlagLimits.warnings - 1
        let text = isLast ? "further warnings of this file are left out" : message
        warnings.append(FlagWarning(text, at: source.location(at: offset)))
    }
}
