import Foundation

/// An encoded record that owns its bytes.
@_spi(Engines) public struct EncodedRecord: Sendable, Equatable {
    /// The bytes, as ``RecordLayout`` describes them.
    public let bytes: [UInt8]

    /// Keeps a copy of encoded bytes.
    public init(copying bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

    /// Encodes values that are given in the order of the layout.
    public init(_ values: [Value], layout: RecordLayout) throws {
        var writer = AttributeWriter(layout: layout)
        for value in values { try writer.append(value: value) }
        self = try writer.finish { EncodedRecord(copying: $0) }
    }

    /// Lends a view of the record.
    public func withView<R>(_ layout: RecordLayout, _ body: (RecordView) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes { try body(RecordView(trusting: $0, layout: layout)) }
    }

    /// The record with its texts in NFC; the record itself where they are.
    func inNFC(_ layout: RecordLayout) throws -> EncodedRecord {
        let isInNFC = try withView(layout) { view in
            try layout.kinds.indices.allSatisfy { try view.isTextInNFC(at: $0) }
        }
        return isInNFC ? self : try EncodedRecord(values(layout), layout: layout)
    }

    /// All values, in the order of the layout.
    public func values(_ layout: RecordLayout) throws -> [Value] {
        try withView(layout) { view in
            try layout.kinds.indices.map { try view.value(at: $0) }
        }
    }
}
