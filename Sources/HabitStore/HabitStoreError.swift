import Foundation

/// What went wrong, where, and what to do about it.
///
/// `message` never holds a user's values (names, notes): it is safe to log. The values, where they help, are in
/// ``detail``, which is shown only when it is asked for.
public struct HabitStoreError: Error, Sendable {
    /// The kind of an error. Open: a later version may add codes, so a `switch` over it needs a default.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name, as it stands in logs and in JSON.
        public let rawValue: String

        /// Makes a code from its stable name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }
    }

    /// The place an error speaks of. Every part is optional.
    public struct Location: Sendable, Equatable {
        /// The file or folder.
        public var path: String?
        /// The entity's name, as the schema has it.
        public var entity: String?
        /// The attribute's or relationship's name.
        public var attribute: String?
        /// The identifier of the record.
        public var id: UUID?
        /// The column in a query text, counted in characters from 1.
        public var column: Int?

        /// Names a place; leave out what is not known.
        public init(
            path: String? = nil,
            entity: String? = nil,
            attribute: String? = nil,
            id: UUID? = nil,
            column: Int? = nil
        ) {
            self.path = path
            self.entity = entity
            self.attribute = attribute
            self.id = id
            self.column = column
        }

        /// The place without the passwords of its path.
        fileprivate var redacted: Location {
            guard let path, Passwords.isIn(path) else { return self }
            var place = self
            place.path = Passwords.redacted(path)
            return place
        }
    }

    /// The kind of the error.
    public let code: Code
    /// One sentence: what is wrong and what to do. Holds no user's values.
    public let message: String
    /// Where it is wrong.
    public let location: Location
    /// The user's values that make the error understood; shown only when asked for.
    public let detail: String?
    /// The error that caused this one.
    public let underlying: (any Error)?
    /// Whether a store's engine saw damage in its own file. No error that an app makes says so, whatever its code: what a
    /// user's store is judged by is what the engine saw.
    public let isDamage: Bool

    /// Makes an error that is not damage.
    public init(
        _ code: Code,
        _ message: String,
        at location: Location = Location(),
        detail: String? = nil,
        underlying: (any Error)? = nil
    ) {
        self.init(code, message, at: location, detail: detail, underlying: underlying, isDamage: false)
    }

    /// Makes an error of an engine, which says whether it saw damage in its file.
    package init(
        _ code: Code,
        _ message: String,
        at location: Location = Location(),
        detail: String? = nil,
        underlying: (any Error)? = nil,
        isDamage: Bool
    ) {
        // Whatever was typed for an address may be repeated in an error, and errors stand in logs.
        self.code = code
        self.message = Passwords.redacted(message)
        self.location = location.redacted
        self.detail = detail.map(Passwords.redacted)
        self.underlying = underlying
        self.isDamage = isDamage
    }
}

extension HabitStoreError: CustomStringConvertible {
    /// One line: the place, where there is one, and the message.
    public var description: String {
        guard let path = location.path else { return message }
        return "\(path.isEmpty ? "\"\"" : path): \(message)"
    }
}

extension HabitStoreError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }
}

extension HabitStoreError.Code {
    /// There is nothing at the path.
    public static let notFound = Self(rawValue: "notFound")
    /// The file exists but is not a store of this kind, or it is a directory.
    public static let notAStore = Self(rawValue: "notAStore")
    /// The store was written by a newer version than this one.
    public static let newerVersion = Self(rawValue: "newerVersion")
    /// The store's shape is not the one that the program declares.
    public static let schemaMismatch = Self(rawValue: "schemaMismatch")
    /// The store is of an older version of the schema and has to be migrated first.
    public static let migrationRequired = Self(rawValue: "migrationRequired")
    /// The file is damaged: truncated, bit-flipped, or its parts contradict each other.
    public static let corrupt = Self(rawValue: "corrupt")
    /// The operating system refused: permissions, or a read-only disk.
    public static let permissionDenied = Self(rawValue: "permissionDenied")
    /// No space is left.
    public static let full = Self(rawValue: "full")
    /// Reading or writing the file failed.
    public static let inputOutput = Self(rawValue: "inputOutput")
    /// Another process holds the store longer than the stated wait.
    public static let busy = Self(rawValue: "busy")
    /// A commit returned an error and its outcome is unknown until the store was reopened and read again.
    public static let outcomeUnknown = Self(rawValue: "outcomeUnknown")
    /// A second record with the same unique value.
    public static let uniqueViolation = Self(rawValue: "uniqueViolation")
    /// A reference to a record that does not exist.
    public static let danglingReference = Self(rawValue: "danglingReference")
    /// A delete rule forbids the deletion.
    public static let deleteDenied = Self(rawValue: "deleteDenied")
    /// A value that no store can keep: NaN, infinity.
    public static let invalidValue = Self(rawValue: "invalidValue")
    /// The schema has no entity of this name.
    public static let unknownEntity = Self(rawValue: "unknownEntity")
    /// The entity has no attribute or relationship of this name.
    public static let unknownAttribute = Self(rawValue: "unknownAttribute")
    /// A query that cannot be parsed, or whose types do not fit.
    public static let invalidQuery = Self(rawValue: "invalidQuery")
    /// Evaluating a predicate failed where Swift would trap or throw.
    public static let evaluationFailed = Self(rawValue: "evaluationFailed")
    /// A transaction was used after its closure had ended.
    public static let transactionEnded = Self(rawValue: "transactionEnded")
    /// The store was closed.
    public static let closed = Self(rawValue: "closed")
    /// A write to a store that is not the authoritative one of its user.
    public static let notAuthoritative = Self(rawValue: "notAuthoritative")
    /// The file was moved, deleted or replaced while it was open; nothing was written to what became of it.
    public static let fileMoved = Self(rawValue: "fileMoved")
    /// A store that is older than what was acknowledged, or another user's: restored from a backup, swapped or moved.
    public static let staleStore = Self(rawValue: "staleStore")
    /// The engine's library refuses a file that is sound: it is of another version, most likely.
    public static let engineUnavailable = Self(rawValue: "engineUnavailable")
    /// A value that this version of the app cannot read, such as an enum case of a newer one; the store is sound.
    public static let unreadableValue = Self(rawValue: "unreadableValue")
    /// The history asked for was pruned.
    public static let historyExpired = Self(rawValue: "historyExpired")
    /// A stated limit was exceeded.
    public static let limitExceeded = Self(rawValue: "limitExceeded")
    /// The backend cannot do this.
    public static let unsupported = Self(rawValue: "unsupported")
    /// An assumption of the store's own code does not hold.
    public static let internalInconsistency = Self(rawValue: "internalInconsistency")
}
