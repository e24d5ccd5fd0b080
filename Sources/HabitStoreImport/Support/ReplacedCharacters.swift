import Foundation
@_spi(Engines) import HabitStore

extension String {
    /// Whether NFC, in which stores keep text, replaces or reorders characters instead of only composing them.
    ///
    /// `e` and an accent become `é`, and decomposing that gives the text back. A compatibility ideograph, the ångström sign, a
    /// precomposed Hebrew letter or marks in another order cannot be recovered.
    package var isReplacedByNFC: Bool {
        if isInNFC { return false }
        var parts = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let alone = String(scalar)
            guard alone.isInNFC else { return true }
            parts.append(contentsOf: alone.decomposedStringWithCanonicalMapping.unicodeScalars)
        }
        return !parts.elementsEqual(decomposedStringWithCanonicalMapping.unicodeScalars)
    }
}
