extension Unicode.Scalar {
    /// Half of a flag.
    var isRegionalIndicator: Bool { (0x1F1E6...0x1F1FF).contains(value) }

    /// The columns that the scalar occupies alone.
    var terminalWidth: Int {
        if (0x20...0x7E).contains(value) { return 1 }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark:
            return 0
        case .format:
            return isVisibleFormat ? 1 : 0
        default:
            if isMedialOrFinalJamo { return 0 }
            return isWide ? 2 : 1
        }
    }

    /// The soft hyphen, which terminals draw, and the Arabic and Syriac signs that enclose or precede numbers.
    private var isVisibleFormat: Bool {
        switch value {
        case 0xAD, 0x600...0x605, 0x6DD, 0x70F, 0x890...0x891, 0x8E2: true
        default: false
        }
    }

    /// The parts of a decomposed Korean syllable that are drawn into the first part's two columns.
    private var isMedialOrFinalJamo: Bool {
        (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value)
    }

    /// Whether East_Asian_Width is Wide or Fullwidth.
    ///
    /// The ranges are those of Unicode 14, with the unassigned gaps within them filled. Emoji are wide as well; the standard library knows them, so
    /// that new ones need no change here.
    private var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4C6,
            0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60,
            0xFFE0...0xFFE6, 0x16FE0...0x1B2FB, 0x1F200...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD:
            true
        default:
            properties.isEmojiPresentation && !isRegionalIndicator
        }
    }
}
