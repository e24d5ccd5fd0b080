import Foundation

/// A record's values as bytes, different for different values, for comparing records and for digests.
///
/// For each attribute, in the order of the schema, a tag and its value; numbers are little-endian:
///
/// ```
/// 0 nil       nothing                          5 date    8 bytes, the Double's bits: seconds since 2001
/// 1 bool      1 byte                           6 uuid    16 bytes
/// 2 int       8 bytes                          7 data    length u32, the bytes
/// 3 double    8 bytes, the Double's bits       8 texts   count u32, for each: length u32, UTF-8
/// 4 text      length u32, UTF-8                9 links   count u32, for each 16 bytes
/// 255 what is no value of the attribute: length u32, the bytes as they were found
/// ```
/// Tags and lengths keep nil, "" and "<null>" apart, and ("a", "bc") from ("ab", "c"). Each engine's audit has its own code for
/// writing this form, as do the transactions that maintain a store's digests: the form is the only thing that they share.
@_spi(Engines) public final class CanonicalForm {
    /// The byte before a value.
    public enum Tag: UInt8, Sendable {
        case null, bool, int, double, text, date, uuid, data, texts, links
        /// A value that its attribute cannot have.
        case invalid = 255
    }

    // A form belongs to one cursor or ledger, which writes records one after the other: what Swift would check at each
    // access, that no other one is under way, takes as long as the writing.
    @exclusivity(unchecked) @usableFromInline var start: UnsafeMutableRawPointer
    @exclusivity(unchecked) @usableFromInline var capacity: Int
    @exclusivity(unchecked) @usableFromInline var count = 0

    /// An empty form, whose memory is used again for each record.
    public init() {
        capacity = 256
        start = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { start.deallocate() }

    /// The bytes written since ``begin()``, valid until the next write.
    @inlinable public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Begins a record.
    @inlinable public func begin() { count = 0 }

    /// Writes nil.
    @inlinable
    public func appendNull() {
        reserve(1)
        put(Tag.null.rawValue)
    }

    /// Writes a truth value.
    @inlinable
    public func append(bool: Bool) {
        reserve(2)
        put(Tag.bool.rawValue)
        put(bool ? 1 : 0 as UInt8)
    }

    /// Writes a whole number.
    @inlinable
    public func append(int: Int64) {
        reserve(9)
        put(Tag.int.rawValue)
        put(int.littleEndian)
    }

    /// Writes a double's bits, or those of a date's seconds since 2001.
    @inlinable
    public func append(bits: UInt64, tag: Tag) {
        reserve(9)
        put(tag.rawValue)
        put(bits.littleEndian)
    }

    /// Writes an identifier.
    @inlinable
    public func append(uuid: UUID) {
        reserve(17)
        put(Tag.uuid.rawValue)
        put(uuid.uuid)
    }

    /// Writes the identifier that lies at a place.
    @inlinable
    public func append(identifierAt bytes: UnsafeRawPointer) {
        reserve(17)
        put(Tag.uuid.rawValue)
        put(bytes.loadUnaligned(as: UInt64.self))
        put(bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// The identifier of the record that was written: its first attribute. nil when that is none.
    public var identifier: UUID? {
        guard count >= 17, start.load(as: UInt8.self) == Tag.uuid.rawValue else { return nil }
        return UUID(uuid: start.loadUnaligned(fromByteOffset: 1, as: uuid_t.self))
    }

    /// Writes text, data, or an invalid value.
    @inlinable
    public func append(bytes: UnsafeRawBufferPointer, tag: Tag) {
        reserve(5 + bytes.count)
        put(tag.rawValue)
        putItem(bytes)
    }

    /// Begins texts or links; `count` calls of ``appendItem(_:)`` or ``appendLink(_:)`` follow.
    @inlinable
    public func beginList(_ tag: Tag, count: Int) {
        reserve(5)
        put(tag.rawValue)
        put(UInt32(truncatingIfNeeded: count).littleEndian)
    }

    /// Writes one of the texts of a list.
    @inlinable
    public func appendItem(_ utf8: UnsafeRawBufferPointer) {
        reserve(4 + utf8.count)
        putItem(utf8)
    }

    /// Writes one of the links of a list.
    @inlinable
    public func appendLink(_ link: UUID) {
        reserve(16)
        put(link.uuid)
    }

    @inlinable
    @inline(__always)
    func putItem(_ bytes: UnsafeRawBufferPointer) {
        put(UInt32(truncatingIfNeeded: bytes.count).littleEndian)
        if let base = bytes.baseAddress { (start + count).copyMemory(from: base, byteCount: bytes.count) }
        count &+= bytes.count
    }

    @inlinable
    @inline(__always)
    func put<T: BitwiseCopyable>(_ value: T) {
        start.storeBytes(of: value, toByteOffset: count, as: T.self)
        count &+= MemoryLayout<T>.size
    }

    @inlinable
    @inline(__always)
    func reserve(_ more: Int) {
        if count &+ more > capacity { grow(more) }
    }

    @usableFromInline
    @inline(never)
    func grow(_ more: Int) {
        let larger = max(2 * capacity, count + more)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        moved.copyMemory(from: start, byteCount: count)
        start.deallocate()
        (start, capacity) = (moved, larger)
    }
}
