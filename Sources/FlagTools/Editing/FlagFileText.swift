import DurableFiles
import FeatureFlags
import Foundation
import JSONText

/// The text of a flag file, with edits that preserve every other byte: the order of keys, whitespace, YAML comments, and unknown members.
///
/// An edit returns a new text; ``FlagFile/update(path:timeoutSeconds:_:)`` writes it to disk. JSON can be edited everywhere. In YAML, only a value on
/// one line can be replaced; other edits are refused.
public struct FlagFileText: Sendable {
    /// Whether a flag is evaluated at all.
    public enum State: String, Sendable, CaseIterable {
        /// The flag is evaluated.
        case enabled = "ENABLED"
        /// The flag is not evaluated; the caller's default applies.
        case disabled = "DISABLED"
    }

    /// The file's bytes.
    public let bytes: [UInt8]
    let document: FlagDocument

    /// Parses a file's bytes.
    ///
    /// - Throws: A ``FlagError`` with line and column if they cannot be parsed.
    public init(bytes: [UInt8], format: FlagFormat = .json, source: String) throws(FlagError) {
        document = try FlagDocument(bytes: bytes, format: format, name: source)
        self.bytes = bytes
    }

    /// The SHA-256 digest of the bytes in hexadecimal, as printed by `sha256sum`.
    public var digest: String { FileDigest.hexadecimal(of: bytes) }

    /// Compiles the text for the linter and for evaluations.
    public func snapshot(configuration: FlagConfiguration = FlagConfiguration()) throws(FlagError) -> FlagSnapshot {
        try FlagSnapshot(
            bytes: bytes,
            format: document.format,
            source: document.source.name,
            configuration: configuration
        )
    }

    /// Lints the text and, if an old text is given, the change from it.
    public func lint(_ linter: FlagLinter, against old: FlagFileText? = nil) -> LintReport {
        linter.lint(bytes, document.format, document.source.name, against: old?.document)
    }

    /// Whether the flag has a rule that is evaluated before its default.
    public func hasTargeting(_ key: String) -> Bool { document.flag(key).flatMap { rule(of: $0) } != nil }

    /// Makes a variant the default of a flag.
    ///
    /// - Throws: A ``FlagError`` for an unknown flag or variant, and for a file that cannot be edited in place.
    public func settingDefaultVariant(_ variant: String, of key: String) throws(FlagError) -> FlagFileText {
        let flag = try flag(key)
        try requireVariant(variant, flag)
        return try applying([set("defaultVariant", JSON.quoted(variant), of: flag)])
    }

    /// Enables or disables a flag.
    ///
    /// - Throws: As ``settingDefaultVariant(_:of:)``.
    public func settingState(_ state: State, of key: String) throws(FlagError) -> FlagFileText {
        let flag = try flag(key)
        return try applying([set("state", JSON.quoted(state.rawValue), of: flag)])
    }

    /// Removes a flag's rule, so that all users get its default.
    ///
    /// - Throws: As ``settingDefaultVariant(_:of:)``.
    public func removingTargeting(of key: String) throws(FlagError) -> FlagFileText {
        let flag = try flag(key)
        guard flag.node.member("targeting") != nil else { return self }
        return try applying([FlagFileEdit(flag.path + [.member("targeting")], .remove)])
    }

    // MARK: Edits

    func applying(_ edits: [FlagFileEdit]) throws(FlagError) -> FlagFileText {
        let bytes = try FlagFileRewriter(document: document).apply(edits)
        return try FlagFileText(bytes: bytes, format: document.format, source: document.source.name)
    }

    func flag(_ key: String) throws(FlagError) -> FlagDocument.Flag {
        guard let flag = document.flag(key) else {
            throw FlagError(
                .flagNotFound,
                "there is no flag \(quoted(key)) in the file"
                    + NearMiss.question(key, among: document.flags.map(\.key)),
                at: FlagError.Location(file: document.source.name)
            )
        }
        guard flag.node.isObject else {
            throw refusal("the flag \(quoted(key)) is not an object", flag.node.range)
        }
        return flag
    }

    /// The flag's rule; nil for `{}` and null.
    func rule(of flag: FlagDocument.Flag) -> JSONNode? {
        guard let node = flag.node.member("targeting")?.value else { return nil }
        switch node.value {
        case .null: return nil
        case .object(let members) where members.isEmpty: return nil
        default: return node
        }
    }

    /// Sets a member of a flag, or adds it.
    func set(_ name: String, _ text: String, of flag: FlagDocument.Flag) -> FlagFileEdit {
        guard flag.node.member(name) != nil else { return FlagFileEdit(flag.path, .insert(key: name, text)) }
        return FlagFileEdit(flag.path + [.member(name)], .replace(text))
    }

    func requireVariant(_ variant: String, _ flag: FlagDocument.Flag) throws(FlagError) {
        guard let variants = flag.node.member("variants")?.value, case .object(let members) = variants.value else {
            throw refusal("the flag \(quoted(flag.key)) has no \"variants\"", flag.keyRange)
        }
        guard members.contains(where: { $0.key == variant }) else {
            let names = members.map { quoted($0.key) }.joined(separator: ", ")
            throw refusal(
                "\(quoted(variant)) is not a variant of the flag \(quoted(flag.key)); there are \(names)",
                variants.range
            )
        }
    }

    func refusal(_ message: String, _ range: Range<Int>) -> FlagError {
        FlagError(.editRefused, message, at: document.source.location(at: range.lowerBound))
    }
}

/// Reads flag files and replaces them atomically.
public enum FlagFile {
    /// Reads a file's text.
    ///
    /// - Throws: A ``FlagError`` if the file cannot be read or parsed.
    public static func read(path: String) throws(FlagError) -> FlagFileText {
        try FlagFileText(bytes: FlagFileReader.read(path: path), format: FlagFormat(path: path), source: path)
    }

    /// Changes a file: locks its folder, writes and syncs a new file next to it, renames that over the old one, and syncs the folder. Readers see
    /// either the old text or the new one. The permissions stay, and if the path is a link, its target is changed. An unchanged text is not written.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - timeoutSeconds: How long to wait for the lock.
    ///   - change: Returns the new text.
    /// - Returns: The text before and after.
    /// - Throws: The error of `change`, or a ``FlagError`` if the file cannot be read, parsed or written; the file is then unchanged, unless the
    ///   error says otherwise.
    @discardableResult
    public static func update(
        path: String,
        timeoutSeconds: Double = 10,
        _ change: (FlagFileText) throws(FlagError) -> FlagFileText
    ) throws(FlagError) -> (old: FlagFileText, new: FlagFileText) {
        let target = try Self.target(of: path)
        let lock = try lock(DurableFile.folder(of: target), timeoutSeconds)
        // Hold the lock until the file is replaced.
        defer { withExtendedLifetime(lock) {} }
        let old = try read(path: path)
        let new = try change(old)
        if new.bytes != old.bytes { try replace(target, with: new.bytes) }
        return (old, new)
    }

    private static func lock(_ folder: String, _ timeoutSeconds: Double) throws(FlagError) -> LockedFile {
        do {
            return try LockedFile(folder: folder, timeoutSeconds: timeoutSeconds)
        } catch {
            guard error.isBusy else { throw FlagError(error, "the folder of the flag file \(error)") }
            throw FlagError(
                .fileBusy,
                "another process has been changing flag files in this folder for \(timeoutSeconds) s; try again",
                at: FlagError.Location(file: folder)
            )
        }
    }

    private static func replace(_ file: String, with bytes: [UInt8]) throws(FlagError) {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        let folder = DurableFile.folder(of: file)
        // Always the same name, so that a draft left by a crash is overwritten.
        let draft = (folder == "/" ? "" : folder) + "/.\(name).new"
        var status = stat()
        let isThere = stat(file, &status) == 0
        do {
            try DurableFile.replace(file, bytes, draft: draft, like: isThere ? status : nil)
        } catch {
            switch error.step {
            case .make: throw FlagError(error, "cannot create a file next to the flag file: \(error.reason)")
            case .synchronizeFolder:
                throw FlagError(error, "the flag file was replaced, but a power failure may undo it: \(error.reason)")
            default: throw FlagError(error, "the new flag file \(error)")
            }
        }
    }

    private static func target(of path: String) throws(FlagError) -> String {
        guard !path.utf8.contains(0), let resolved = realpath(path, nil) else {
            // Reading it reports the error.
            _ = try FlagFileReader.read(path: path)
            throw FlagError(.fileUnreadable, "the flag file cannot be found", at: FlagError.Location(file: path))
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
