/// Memory of a fixed size that lives as long as its owner, so that compiled filters read it without counting references.
final class OwnedBuffer<Element: BitwiseCopyable> {
    /// The first element.
    let base: UnsafeMutablePointer<Element>
    /// The number of elements.
    let count: Int

    /// Uninitialised memory.
    init(count: Int) {
        self.count = count
        base = .allocate(capacity: max(1, count))
    }

    /// A copy.
    convenience init(_ elements: some Collection<Element>) {
        self.init(count: elements.count)
        for (place, element) in elements.enumerated() { (base + place).initialize(to: element) }
    }

    deinit { base.deallocate() }
}

extension OwnedBuffer where Element == UInt8 {
    /// The bytes.
    var bytes: UnsafeRawBufferPointer {
        @inline(__always) get { UnsafeRawBufferPointer(start: base, count: count) }
    }
}

/// Bytes of a value that had to be made, until the next one is made.
final class FilterScratch {
    private var memory: UnsafeMutableRawBufferPointer

    /// More than this is given back when less is needed again.
    private static let keptBytes = 16_384

    init() { memory = .allocate(byteCount: 64, alignment: 8) }

    /// Keeps a copy of bytes.
    func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        if bytes.count > memory.count || memory.count > max(Self.keptBytes, 4 * bytes.count) {
            memory.deallocate()
            memory = .allocate(byteCount: max(64, bytes.count), alignment: 8)
        }
        memory.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
    }

    /// Keeps the UTF-8 of a text.
    func keep(_ text: String) -> UnsafeRawBufferPointer {
        var text = text
        return text.withUTF8 { keep(UnsafeRawBufferPointer($0)) }
    }

    deinit { memory.deallocate() }
}
