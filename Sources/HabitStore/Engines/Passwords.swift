import Foundation

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

    /// A setting of a URI.
    private nonisolated(unsafe) static let setting = /([?&])([^=&#\s?]*)(=)([^&#\s]*)/
    /// A setting of a connection string, or of the environment.
    private nonisolated(unsafe) static let keyword =
        /(?i)([0-9A-Za-z_]*password)(\s*=\s*)('(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])+)/

    private static func decoded(_ text: String) -> String? { text.contains("%") ? text.removingPercentEncoding : nil }
}
