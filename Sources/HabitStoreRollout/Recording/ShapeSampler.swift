@_spi(Engines) import HabitStore
import Synchronization

/// Decides which queries to compare: see ``ShadowReadOptions``.
///
/// Each of ``shapeLimit`` shapes has its own count; further shapes share one.
final class ShapeSampler: @unchecked Sendable {
    /// The number of shapes with their own count.
    static let shapeLimit = 256
    /// How many slots to probe for a shape.
    private static let probeLimit = 32

    private struct Slot: ~Copyable {
        /// The shape; 0 for an empty slot.
        let shape = Atomic<UInt64>(0)
        let questions = Atomic<UInt64>(0)
    }

    private let oneIn: UInt64
    private let salt: UInt64
    // One more slot than shapes: the last one is shared by shapes that found no other. The numbers are atomic, and the memory lives as long as this
    // object.
    private let slots: UnsafeMutablePointer<Slot>

    init(oneIn: Int, seed: UInt64, user: String) {
        self.oneIn = UInt64(max(1, oneIn))
        salt = seed ^ Array(user.utf8).withUnsafeBytes { XXHash64.hash($0, seed: 0) }
        slots = .allocate(capacity: Self.shapeLimit + 1)
        for place in 0...Self.shapeLimit { (slots + place).initialize(to: Slot()) }
    }

    deinit {
        slots.deinitialize(count: Self.shapeLimit + 1)
        slots.deallocate()
    }

    /// Whether to compare the next query of a shape. Does not compute the shape if all are compared.
    @inline(__always)
    func samples(_ shape: @autoclosure () -> QueryShape) -> Bool { oneIn == 1 || counts(shape().key) }

    private func counts(_ shape: UInt64) -> Bool {
        let number = (slots + place(of: shape)).pointee.questions.add(1, ordering: .relaxed).oldValue
        let (block, place) = number.quotientAndRemainder(dividingBy: oneIn)
        return place == Self.mixed(salt &+ Self.mixed(shape &+ Self.mixed(block))) % oneIn
    }

    private func place(of shape: UInt64) -> Int {
        var place = Int(truncatingIfNeeded: shape &>> 32) & (Self.shapeLimit - 1)
        for _ in 0..<Self.probeLimit {
            var found = (slots + place).pointee.shape.load(ordering: .relaxed)
            if found == 0 {
                found =
                    (slots + place).pointee.shape
                    .compareExchange(expected: 0, desired: shape, ordering: .relaxed).original
                if found == 0 { return place }
            }
            if found == shape { return place }
            place = (place + 1) & (Self.shapeLimit - 1)
        }
        return Self.shapeLimit
    }

    /// SplitMix64's last step (Steele, Lea and Flood, OOPSLA 2014).
    private static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed &>> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed &>> 31)
    }
}
