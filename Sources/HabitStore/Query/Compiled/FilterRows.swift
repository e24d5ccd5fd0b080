/// The records that a compiled filter reads: each variable has a slot with a borrowed reader.
struct FilterRows {
    private let slots: UnsafeMutablePointer<UnsafePointer<AttributeReader>>

    init(_ slots: UnsafeMutablePointer<UnsafePointer<AttributeReader>>) { self.slots = slots }

    /// The reader in a slot. A slot is filled before anything that reads it runs.
    subscript(slot: Int) -> UnsafePointer<AttributeReader> {
        @inline(__always) get { slots[slot] }
        @inline(__always) nonmutating set { slots[slot] = newValue }
    }
}

/// A compiled condition. Closures, since calling one takes fewer loads than calling a method of a node's class does, and
/// neither counts a reference.
typealias FilterTest = (FilterRows) throws -> Bool
/// A compiled whole number or truth value (1 and 0); nil for nil.
typealias FilterInt = (FilterRows) throws -> Int64?
/// A compiled double, or the seconds of a date; nil for nil.
typealias FilterDouble = (FilterRows) throws -> Double?
/// A compiled identifier; nil for nil.
typealias FilterIdentifier = (FilterRows) throws -> IdentifierKey?
/// Compiled text in UTF-8, or data; nil for nil. The bytes are valid until the same closure runs again.
typealias FilterBytes = (FilterRows) throws -> UnsafeRawBufferPointer?
/// A compiled value of any kind.
typealias FilterValue = (FilterRows) throws -> Value
