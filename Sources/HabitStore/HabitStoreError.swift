import DurableFiles
import Foundation
import Synchronization

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

extension HabitStoreError {
    /// The error for damage that an engine sees in its file: ``Code/corrupt``, and ``isDamage`` is true. A rollout takes the
    /// user to the store that is sound; only engines throw it.
    @_spi(Engines) public static func damage(
        _ message: String,
        at location: Location = Location(),
        detail: String? = nil,
        underlying: (any Error)? = nil
    ) -> HabitStoreError {
        HabitStoreError(.corrupt, message, at: location, detail: detail, underlying: underlying, isDamage: true)
    }

    /// The same error, at another place.
    func moved(to location: Location) -> HabitStoreError {
        HabitStoreError(code, message, at: location, detail: detail, underlying: underlying, isDamage: isDamage)
    }

    /// The same error, with the store's path if it is damage seen in that store.
    ///
    /// Code deep below knows no path, or another name of the same file. Damage of another store, which a closure may also have read, keeps its path.
    func located(inStore path: String?) -> HabitStoreError {
        guard isDamage, let path, location.path != path else { return self }
        if let own = location.path, Self.resolved(own) != Self.resolved(path) { return self }
        var place = location
        place.path = path
        return moved(to: place)
    }

    private static func resolved(_ path: String) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }
}

extension HabitStoreError {
    /// The error of a system call on a file.
    package static func system(_ number: Int32, _ message: String, _ path: String) -> HabitStoreError {
        let code: Code
        switch number {
        case ENOENT, ENOTDIR, ELOOP: code = .notFound
        case EACCES, EPERM, EROFS: code = .permissionDenied
        case ENOSPC, EDQUOT: code = .full
        default: code = .inputOutput
        }
        return HabitStoreError(code, "\(message): \(String(cString: strerror(number)))", at: .init(path: path))
    }

    /// The error of a failed operation on a file, which the message calls `name`.
    package static func system(_ failure: FileFailure, _ name: String = "the file") -> HabitStoreError {
        system(failure.number, "\(name) \(failure.step.rawValue)", failure.path)
    }
}

extension FileFailure {
    /// What `body` gives; what the system refuses is a ``HabitStoreError``.
    package static func mappingErrors<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let failure as FileFailure {
            throw HabitStoreError.system(failure)
        }
    }
}

/// Passwords in addresses and connection strings, as typed. No output repeats one: errors and notes go through ``redacted(_:)``, and an address
/// that has a password is refused.
///
/// A password is what libpq takes for one, and what looks like one in a malformed address: `USER:PASSWORD@`, a setting `password=` or
/// `sslpassword=` of a URI, even with percent-encoded letters, and the same in a connection string.
package enum Passwords {
    /// The replacement for a password.
    package static let mask = "***"

    /// Whether a text has a password in it.
    package static func isIn(_ text: String) -> Bool { redacted(text) != text }

    /// The text without its passwords.
    package static func redacted(_ text: String) -> String {
        guard mayBeIn(text) else { return text }
        return withoutSettings(withoutUserInfo(text))
    }

    /// Most texts have no byte that a password could follow.
    private static func mayBeIn(_ text: String) -> Bool {
        var last: UInt8 = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: "="), last != 0 { return true }
            if byte == UInt8(ascii: "/"), last == byte { return true }
            last = byte
        }
        return false
    }

    /// The error of an address that has a password.
    package static func refusal(of address: String) -> HabitStoreError {
        HabitStoreError(
            .invalidValue,
            "the address holds a password, which would stand in logs; give it in PGPASSWORD, a PGPASSFILE or a service file",
            at: .init(path: address)
        )
    }

    // MARK: USER:PASSWORD@HOST

    private static func withoutUserInfo(_ text: String) -> String {
        var shown = ""
        var rest = text[...]
        while let mark = rest.firstRange(of: "//") {
            let before = rest[..<mark.lowerBound].last ?? shown.last
            shown += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            guard before.map({ ":=('\"`,;<".contains($0) || $0.isWhitespace }) ?? true,
                let password = password(in: rest)
            else { continue }
            shown += rest[..<password.lowerBound] + mask
            rest = rest[password.upperBound...]
        }
        return shown + rest
    }

    /// Where the password is in what follows `//`.
    private static func password(in rest: Substring) -> Range<String.Index>? {
        let line = rest.prefix { !$0.isNewline }
        let token = line.prefix { !$0.isWhitespace && !"\"'`".contains($0) }
        let authority = token.prefix { !"/?#".contains($0) }
        // A colon in brackets is one of an IPv6 address.
        let name = authority.prefix { $0 != "[" }
        guard let colon = name.firstIndex(of: ":") else { return nil }
        let start = token.index(after: colon)
        if let at = authority.lastIndex(of: "@") {
            // In `USER@HOST:PORT` nothing is secret.
            return at > colon ? start..<end(of: token, from: at) : nil
        }
        let value = token[start...]
        guard !isPort(value) else { return nil }
        // Signs that would have to be written as numbers: the password ends where a host begins.
        if let at = value.lastIndex(of: "@") { return start..<end(of: token, from: value.firstIndex(of: "@") ?? at) }
        return start..<(line[start...].lastIndex(of: "@") ?? token.endIndex)
    }

    /// The last `@` that may end a password which has one at `first`: what follows the last `#` is a store's name.
    private static func end(of token: Substring, from first: String.Index) -> String.Index {
        let name = token.lastIndex(of: "#") ?? token.endIndex
        return name > first ? token[first..<name].lastIndex(of: "@") ?? first : first
    }

    private static func isPort(_ text: Substring) -> Bool {
        if text.hasPrefix("PORT") { return true }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard digits.count <= 5, let next = text.dropFirst(digits.count).first else { return digits.count <= 5 }
        return !(next.isLetter || next.isNumber || "@%-_!$&*+~".contains(next))
    }

    // MARK: password=

    private static func withoutSettings(_ text: String) -> String {
        guard text.contains("=") else { return text }
        return text.replacing(setting) { found in
            let (name, sign, value) = (String(found.output.2), found.output.3, found.output.4)
            let isPassword = (decoded(name) ?? name).lowercased().hasSuffix("password")
            return isPassword && !value.isEmpty ? "\(found.output.1)\(name)\(sign)\(mask)" : String(found.output.0)
        }.replacing(keyword) { found in
            let isMasked = found.output.3.hasPrefix(mask)
            return isMasked ? String(found.output.0) : "\(found.output.1)\(found.output.2)\(mask)"
        }
    }

    // `Regex` is not `Sendable`, but these have no state and no custom components.
    /// A setting of a URI.
    private nonisolated(unsafe) static let setting = /([?&])([^=&#\s?]*)(=)([^&#\s]*)/
    /// A setting of a connection string, or of the environment.
    private nonisolated(unsafe) static let keyword =
        /(?i)([0-9A-Za-z_]*password)(\s*=\s*)('(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])+)/

    private static func decoded(_ text: String) -> String? { text.contains("%") ? text.removingPercentEncoding : nil }
}

/// The command that messages name where they say what to run.
///
/// Errors, the gate's reasons and the runbook name commands, as in "run `habitstore check`". An app whose operators have a command of its
/// own says here what that is called, in its servers too; that command itself does so at its start.
public enum OperatorCommand {
    private static let current = Mutex("habitstore")

    /// The name, for all of the process; `habitstore` unless it is set. Texts that were made before keep the one that they have.
    public static var name: String {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}

/// Words of a command that a message tells people to run.
package enum ShellWord {
    private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")

    /// A word as typed into a shell, quoted if necessary.
    package static func quoted(_ word: String) -> String {
        guard word.isEmpty || !word.allSatisfy(plain.contains) else { return word }
        return "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}

/// Something that is not the file which belongs at a path, and keeps a store from being opened. The error's cause, so that a report need not find
/// the remedy in its message.
package struct FileInTheWay: Error {
    /// The path.
    package let path: String
    /// The problem, in one sentence without the remedy.
    package let problem: String

    package init(path: String, problem: String) { (self.path, self.problem) = (path, problem) }

    /// What helps: the command that moves it away.
    package var remedy: String { Self.remedy(at: path) }

    /// The error that is thrown for it.
    package var error: HabitStoreError {
        HabitStoreError(.inputOutput, "\(problem); \(remedy)", at: .init(path: path), underlying: self)
    }

    /// The same remedy where a report has its own sentence.
    package static func remedy(at path: String) -> String {
        "move it away: `mv \(ShellWord.quoted(path)) \(ShellWord.quoted(path + ".aside"))`"
    }
}

extension Int {
    /// The number with what it counts: "1 user", "2 users", "2 entries".
    ///
    /// - Parameters:
    ///   - noun: the word for one.
    ///   - plural: the word for any other number; nil where that has an `s` at its end.
    package func counted(_ noun: String, plural: String? = nil) -> String {
        "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
    }
}
