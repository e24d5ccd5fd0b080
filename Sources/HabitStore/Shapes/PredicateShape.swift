import Foundation

/// What predicates have in common that are written the same way and differ in captured constants only: the expression that
/// they are lowered and bound to, with places for the constants.
///
/// Engines may keep by a shape's identity what depends on nothing else of a filter.
package final class PredicateShape: Sendable {
    /// The key paths, kept so that no other can take their place in memory.
    // They come from `any KeyPath & Sendable`; only the type here forgets it.
    private nonisolated(unsafe) let keyPaths: [AnyKeyPath]
    /// The operators and truth values.
    private let bytes: [UInt8]
    private let template: FilterTemplate
    /// Constants that are different from each other and from all else in ``markedFilter``.
    package let marks: [Value]
    /// The filter with ``marks``: what is made of it tells where each constant goes.
    package let markedFilter: BoundExpression
    /// Whether each constant is one side of a comparison with an attribute of the record asked for, and all of those hold.
    package let comparesDirectly: Bool

    /// - Parameter template: of an expression at `base`.
    init(
        _ layout: ShapeLayout,
        at base: UnsafeRawPointer,
        template: FilterTemplate,
        marks: [Value]
    ) {
        keyPaths = layout.keyPaths.map { (base + $0).assumingMemoryBound(to: AnyKeyPath.self).pointee }
        bytes = layout.bytes.map { base.load(fromByteOffset: $0, as: UInt8.self) }
        self.template = template
        self.marks = marks
        markedFilter = template.filled(marks)
        comparesDirectly = template.conjuncts.allSatisfy { part in
            part.isFixed || part.filled(marks).rootComparison != nil
        }
    }

    /// Whether an expression, whose type is that of the shape's own, differs from it in nothing but constants.
    func matches(_ layout: ShapeLayout, at base: UnsafeRawPointer) -> Bool {
        for (index, place) in layout.keyPaths.enumerated() {
            // The same object; an equal one only means that the longer way is taken.
            let object = base.load(fromByteOffset: place, as: UnsafeRawPointer.self)
            guard object == UnsafeRawPointer(Unmanaged.passUnretained(keyPaths[index]).toOpaque()) else { return false }
        }
        for (index, place) in layout.bytes.enumerated() {
            guard base.load(fromByteOffset: place, as: UInt8.self) == bytes[index] else { return false }
        }
        return true
    }

    /// The filter with these constants.
    func filter(_ values: [Value]) -> BoundExpression { template.filled(values) }
}

extension FilterTemplate {
    fileprivate var conjuncts: [FilterTemplate] {
        if case .and(let parts) = self { return parts.flatMap(\.conjuncts) }
        return [self]
    }
}
