/// The number of terminal columns that a text occupies.
///
/// The rules are those of most terminals: 2 columns for East Asian wide and fullwidth characters, for flags and for emoji (a sequence with joiners,
/// skin tones, a variation selector, or a keycap is one emoji); none for combining marks, invisible format characters, and the vowels and final
/// consonants of a decomposed Korean syllable; and 1 for everything else, including characters of ambiguous width. Right-to-left text is as wide as
/// any other. Control characters have no width, so escape them first (``TerminalText/escaped(_:)``).
public func displayWidth(of text: String) -> Int {
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text.utf8.count }
    return text.reduce(0) { $0 + displayWidth(of: $1) }
}

/// The number of terminal columns that a character occupies; see ``displayWidth(of:)-(String)``.
public func displayWidth(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    if scalars.count > 1, isEmojiSequence(first, scalars.dropFirst()) { return 2 }
    return scalars.reduce(0) { $0 + $1.terminalWidth }
}

/// Whether a character of several scalars is drawn as one emoji.
private func isEmojiSequence(_ first: Unicode.Scalar, _ rest: Substring.UnicodeScalarView) -> Bool {
    guard first.properties.isEmoji, !first.isRegionalIndicator else { return false }
    // Selector 16 requests the emoji form; the digits of keycaps have it, too.
    if rest.contains(where: { $0.value == 0xFE0F }) { return true }
    guard !first.isASCII else { return false }
    return first.properties.isEmojiPresentation || rest.contains { $0.properties.isEmojiPresentation }
}
