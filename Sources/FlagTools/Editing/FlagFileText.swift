import FeatureFlags
import Foundation

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
        return try applying([set("defaultVariant", JSONText.string(variant), of: flag)])
    }

    /// Enables or disables a flag.
    ///
    /// - Throws: As ``settingDefaultVariant(_:of:)``.
    public func settingState(_ state: State, of key: String) throws(FlagError) -> FlagFileText {
        let flag = try flag(key)
        return try applying([set("state", JSONText.string(state.rawValue), of: flag)])
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
