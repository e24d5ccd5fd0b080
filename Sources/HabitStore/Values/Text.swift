import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension String {
    /// A text from bytes of a file, in NFC; nil if they are not UTF-8.
    package static func stored(_ utf8: UnsafeRawBufferPointer) -> String? {
        // ASCII is valid and in NFC as it stands, and most text is ASCII.
        if utf8.isASCII { return String(decoding: utf8, as: UTF8.self) }
        return String(validating: utf8.bindMemory(to: UInt8.self), as: UTF8.self)?.normalizedToNFC()
    }

    /// The text in Unicode normalization form C, in which every store keeps text.
    ///
    /// Text whose scalars all lie below U+0300 is in NFC as it stands (no combining mark and nothing that composes);
    /// only other text pays for the normalization.
    @_spi(Engines) public func normalizedToNFC() -> String {
        hasOnlyScalarsBelowCombiningMarks ? self : precomposedStringWithCanonicalMapping
    }

    /// Whether the text is in NFC, scalar for scalar.
    @_spi(Engines) public var isInNFC: Bool {
        hasOnlyScalarsBelowCombiningMarks
            || unicodeScalars.elementsEqual(precomposedStringWithCanonicalMapping.unicodeScalars)
    }

    /// U+0300, the first combining mark, is `CC 80` in UTF-8; a lower lead byte means a lower scalar.
    private var hasOnlyScalarsBelowCombiningMarks: Bool {
        utf8.withContiguousStorageIfAvailable { !$0.contains { $0 >= 0xCC } } ?? !utf8.contains { $0 >= 0xCC }
    }

    /// Order of the UTF-8 bytes: negative, 0 or positive like `memcmp`, a prefix first.
    ///
    /// Swift's own `<` is not transitive on decomposed text; this order is total, and both engines share it.
    @_spi(Engines) public func orderByBytes(comparedWith other: String) -> Int {
        let fast = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in Self.order(left, right) }
        }
        if let result = fast ?? nil { return result }
        return ContiguousArray(utf8).withUnsafeBufferPointer { left in
            ContiguousArray(other.utf8).withUnsafeBufferPointer { right in Self.order(left, right) }
        }
    }

    private static func order(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
        let shared = Swift.min(left.count, right.count)
        if shared > 0, let leftBase = left.baseAddress, let rightBase = right.baseAddress {
            let result = memcmp(leftBase, rightBase, shared)
            if result != 0 { return Int(result) }
        }
        return left.count - right.count
    }
}

extension Double {
    /// The number in its stored form: `-0.0` becomes `0.0`, which Swift calls equal.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for NaN and infinities, which have no place in a total order.
    @inlinable
    @_spi(Engines) public func storable() throws -> Double {
        guard isFinite else { throw HabitStoreError.notFinite }
        return self == 0 ? 0 : self
    }
}

extension Date {
    /// The instant in its stored form; see ``Swift/Double/storable()``.
    @inlinable
    @_spi(Engines) public func storable() throws -> Date {
        Date(timeIntervalSinceReferenceDate: try timeIntervalSinceReferenceDate.storable())
    }
}

extension HabitStoreError {
    /// NaN or an infinity was handed to a store.
    @usableFromInline static let notFinite = HabitStoreError(
        .invalidValue,
        "NaN and infinity cannot be stored, since they have no place in an order; store a finite number or nil"
    )
}
